import os
import signal
import threading
from collections.abc import Iterator

import pytest
from hearing import hearing
from waiting import wait_until

from penstock.cli import signals as module
from penstock.cli.signals import StopSignals


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    with hearing():
        yield


def test_a_terminal_that_goes_away_stops_a_job_but_not_under_nohup() -> None:
    signals = StopSignals()
    signals.install()
    os.kill(os.getpid(), signal.SIGHUP)
    wait_until(signals.asked.is_set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    under_nohup = StopSignals()
    under_nohup.install()
    os.kill(os.getpid(), signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGTERM)
    wait_until(under_nohup.asked.is_set)
    assert (under_nohup.count, under_nohup.name) == (1, "SIGTERM")


def test_what_is_said_to_sparks_jvm_alone_is_heard_and_what_is_said_to_both_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BOTH_S", 0.2)
    alone, both = StopSignals(), StopSignals()
    alone.install()
    threading.Thread(target=alone.pass_on, args=(signal.SIGTERM,)).start()
    wait_until(alone.asked.is_set)
    assert (alone.count, alone.name) == (1, "SIGTERM")
    both.install()
    passing = threading.Thread(target=both.pass_on, args=(signal.SIGINT,))
    passing.start()
    os.kill(os.getpid(), signal.SIGINT)
    passing.join()
    wait_until(both.asked.is_set)
    assert both.count == 1
