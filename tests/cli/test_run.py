import threading
from types import SimpleNamespace

from penstock.cli import EXIT_AT_ONCE, EXIT_DRIVER_LOST, EXIT_GIVEN_UP, EXIT_LEASE_LOST, EXIT_OK
from penstock.cli.run import exit_code, wait_for_end
from penstock.runtime.fakes import FakeClock


def test_each_end_has_an_exit_code_of_its_own() -> None:
    signals = SimpleNamespace(asked=threading.Event(), at_once=lambda: False, name="SIGTERM")
    host = SimpleNamespace(lost=threading.Event(), clock=FakeClock())
    job = SimpleNamespace(host=host, engine=SimpleNamespace(living=lambda: ["q"], lives=lambda: False), given_up=list)

    def code() -> int:
        return exit_code(job, signals, wait_for_end(job, signals, None))  # type: ignore[arg-type]

    assert code() == EXIT_DRIVER_LOST
    job.engine.living = list
    assert code() == EXIT_OK
    job.given_up = lambda: ["q"]
    assert code() == EXIT_GIVEN_UP
    signals.asked.set()
    host.lost.set()
    assert code() == EXIT_LEASE_LOST
    signals.at_once = lambda: True
    assert code() == EXIT_AT_ONCE
