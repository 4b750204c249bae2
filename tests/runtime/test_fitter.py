import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest
from waiting import wait_until

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Turn
from penstock.runtime import controller
from penstock.runtime.controller import Controller
from penstock.runtime.fakes import FakeClock, FakePlant
from penstock.runtime.fitter import ProcessFitter
from penstock.stores.in_memory import MemoryStore

PATIENCE_S = 60.0
TALKER = """
import json, os, sys, time
for line in sys.stdin:
    number, error = json.loads(line)["number"], ""
    {body}
    print(json.dumps(dict(number=number, took_s=0.0, error=error)), flush=True)
"""
FITTING = """
import os, resource, sys, time
from penstock.core.knowledge.fitting import FitDone
from penstock.runtime.fitter import main
def fit(asked):
    {body}
main(*map(int, sys.argv[1:3]), fit)
"""


def talker(body: str) -> tuple[str, ...]:
    """A child that speaks as one that fits, and does this in between; it is up in no time."""
    return (sys.executable, "-S", "-c", TALKER.format(body=body))


@dataclass
class Asking:
    """Fitters that are closed at the end, and their reports."""

    fitters: list[ProcessFitter] = field(default_factory=list)
    reports: queue.Queue[FitDone] = field(default_factory=queue.Queue)

    def fitter(self, body: str = "pass", **more: Any) -> ProcessFitter:
        self.fitters.append(ProcessFitter(**{"memory_mb": 2048, "timeout_s": PATIENCE_S, "command": talker(body), **more}))
        return self.fitters[-1]

    def ask(self, fitter: ProcessFitter, number: int = 1) -> FitDone:
        fitter.ask(FitAsked(number=number), self.reports.put)
        return self.reports.get(timeout=PATIENCE_S)


@pytest.fixture
def asking() -> Iterator[Asking]:
    made = Asking()
    yield made
    for fitter in made.fitters:
        fitter.close()
    assert children() == []


def children() -> list[psutil.Process]:
    """Children of this process, without those that other tests left to themselves (multiprocessing's fork server)."""
    alive = [each for each in psutil.Process().children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]
    return [each for each in alive if not any("multiprocessing" in part for part in each.cmdline())]


def the_child() -> psutil.Process:
    (only,) = children()
    return only


def test_one_child_is_started_at_the_first_fit_and_serves_them_all(asking: Asking) -> None:
    fitter = asking.fitter("error = str(os.getpid())")
    assert children() == [], "no fit was requested yet"
    first, second = asking.ask(fitter, 1), asking.ask(fitter, 2)
    assert first.error == second.error == str(the_child().pid)


FACTS = """
    if asked.number == 1:
        held = len(os.listdir("/proc/self/fd"))
        facts = [os.nice(0), resource.getrlimit(resource.RLIMIT_DATA)[0], os.environ["OMP_NUM_THREADS"], held, sys.modules["pyspark"]]
        return FitDone(number=1, took_s=0.0, error=repr(facts))
    if asked.number == 2:
        bytearray(3_000_000_000)
    print("I am a library", flush=True)
    os.system("echo me too")
    return FitDone(number=asked.number, took_s=0.0)
"""


def test_the_child_is_polite_bounded_inherits_nothing_and_keeps_to_itself_what_libraries_print(asking: Asking) -> None:
    fitter = asking.fitter(command=(sys.executable, "-c", FITTING.replace("{body}", FACTS)), memory_mb=2000)
    with open(__file__) as held:
        os.set_inheritable(held.fileno(), True)
        facts = asking.ask(fitter, 1).error
    assert facts == repr([min(19, os.nice(0) + 10), 2_000_000_000, "1", 5, None]), "0, 1, 2, its answers, and the folder that is listed"
    assert asking.ask(fitter, 2).error == "it needs more than the 2000 MB that settings.fit_memory_mb allows"
    assert asking.ask(fitter, 3).error == ""


def test_a_child_that_dies_or_cannot_start_is_a_failed_fit_and_the_next_one_lives(asking: Asking) -> None:
    fitter = asking.fitter("number == 1 and os.abort()")
    assert asking.ask(fitter, 1).error == "the fitting process ended: SIGABRT" and asking.ask(fitter, 2).error == ""
    assert "No such file" in asking.ask(asking.fitter(command=("/nowhere/python",))).error
    assert asking.ask(asking.fitter(command=(sys.executable, "-c", "raise SystemExit(3)"))).error == "the fitting process ended: exit code 3"


def test_a_child_that_was_killed_between_two_fits_is_replaced(asking: Asking) -> None:
    fitter = asking.fitter()
    asking.ask(fitter)
    gone = the_child()
    gone.send_signal(signal.SIGKILL)
    wait_until(lambda: not gone.is_running() or gone.status() == psutil.STATUS_ZOMBIE)
    assert asking.ask(fitter, 2).error == ""


def test_a_fit_beyond_its_time_is_killed_and_reported(asking: Asking) -> None:
    done = asking.ask(asking.fitter("time.sleep(600)", timeout_s=0.5))
    assert (done.number, done.error) == (1, "no result within 0.5 s") and children() == []


def test_an_answer_that_is_none_is_a_failed_fit_and_the_next_one_lives(asking: Asking) -> None:
    assert "it holds a FitDone that this Penstock cannot read" in asking.ask(asking.fitter("print('hello', flush=True)")).error
    fitter = asking.fitter("number == 1 and os.write(1, bytes([255, 10]))")
    assert "can't decode" in asking.ask(fitter, 1).error
    assert asking.ask(fitter, 2).error == ""


def test_a_child_without_work_is_ended_and_started_again_when_there_is_some(asking: Asking) -> None:
    fitter = asking.fitter(idle_s=0.05)
    asking.ask(fitter)
    wait_until(lambda: children() == [])
    assert asking.ask(fitter, 2).error == ""


def test_closing_gives_up_what_is_under_way_and_reports_it(asking: Asking) -> None:
    fitter = asking.fitter("time.sleep(600)")
    for number in (1, 2):
        fitter.ask(FitAsked(number=number), asking.reports.put)
    wait_until(children)
    fitter.close()
    reports = [asking.reports.get(timeout=PATIENCE_S) for _ in range(2)]
    assert [(done.number, done.error) for done in reports] == [(1, "the fitter was closed"), (2, "the fitter was closed")]
    assert children() == []


PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {child!r}, str(os.getpid()), "2000"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
child.stdin.write(b'{{"number":1}}\\n')
child.stdin.flush()
assert child.stderr.read(5) == b"begun"
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_the_child_dies_with_its_parent_in_the_middle_of_a_fit() -> None:
    script = PARENT.format(child=FITTING.format(body="os.write(2, b'begun'); time.sleep(600)"))
    with subprocess.Popen([sys.executable, "-S", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        orphan = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    wait_until(lambda: not orphan.is_running() or orphan.status() == psutil.STATUS_ZOMBIE)


def test_a_fit_runs_in_a_child_and_never_blocks_a_turn(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child waits for a word of the test before it answers: however many turns come meanwhile, they are turned."""
    taken: list[tuple[FitDone, ...]] = []

    def asks_once(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: object = None) -> Turn:
        taken.append(inputs.fits)
        asked = FitAsked(number=7) if len(taken) == 1 else None
        return Turn(knowledge=knowledge, instructions=(), events=(NothingToDo(at_s=inputs.at_s),), fit=asked)

    monkeypatch.setattr(controller, "turn", asks_once)
    reading, writing = os.pipe()
    body = f"open('/proc/{os.getpid()}/fd/{reading}').read(1)"
    clock = FakeClock()
    plant = FakePlant(clock, executors=1)
    shell = Controller(
        source=plant, actuator=plant, memory=MemoryStore(), clock=clock, terms=Terms(), declared=Configuration(executors=1), fitter=asking.fitter(body)
    )
    for _ in range(50):
        shell.step()
    assert taken == [()] * 50
    os.write(writing, b"x")

    def turned_and_taken() -> bool:
        shell.step()
        return any(taken)

    wait_until(turned_and_taken)
    assert [done.number for fits in taken for done in fits] == [7]
    os.close(reading)
    os.close(writing)
