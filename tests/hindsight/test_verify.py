import math
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asking_job import Busy
from changes import scaled_to
from histories import events_in, opened, turns_in
from jobfiles import HALF_FULL
from planned import DECLARED, Thumb, terms

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.command import Approve, Command, Pause, Resume, SetKnob
from penstock.core.domain.configuration import QueryConfiguration
from penstock.core.domain.events.autopilot_events import AutopilotChanged, Decided, FitFailed, FitTaken, Graded, RolledBack
from penstock.core.domain.events.run_events import TurnFailed
from penstock.core.domain.events.steering_events import CommandTaken
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.redaction import Redactor
from penstock.hindsight.verify import Verified, verify
from penstock.runtime.controller import Controller
from penstock.runtime.fakes import FakeClock
from penstock.runtime.fitter import InlineFitter
from penstock.runtime.inbox import Reread
from penstock.runtime.jobfile import own_policy
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import Recorder

THUMB = Thumb()
FORECASTING = Thumb(needs=frozenset({"load", "forecast"}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


class HopelessFitter(InlineFitter):
    def ask(self, asked: FitAsked, report: Callable[[FitDone], None]) -> None:
        report(FitDone(number=asked.number, took_s=0.5, error="no time"))


class Run:
    """A controller with the rule of thumb that writes a history."""

    def __init__(
        self, path: Path, terms: Terms, *, config: Config = Config(), redactor: Redactor = Redactor(), policy: Policy | None = THUMB,
        recorder: Recorder | None = None,
    ) -> None:  # fmt: skip
        self.clock = FakeClock()
        self.plant = Busy(self.clock, executors=3)
        self.plant.rate = 300  # an int, as some counters are, in the place of a float
        self.history = History.open(path, config=config, redactor=redactor, recorder=recorder)
        self.found: Reread | None = None
        self.controller = Controller(
            source=self.plant, actuator=self.plant, memory=self.history, clock=self.clock, terms=terms, declared=DECLARED, policy=policy, reread=self.reread,
            fitter=HopelessFitter(),
        )  # fmt: skip

    def reread(self) -> Reread | None:
        found, self.found = self.found, None
        return found

    def say(self, command: Command) -> None:
        self.controller.submit(command)
        self.pass_s(5.0)

    def pass_s(self, seconds: float) -> None:
        for _ in range(round(seconds / 5.0)):
            self.clock.wait(5.0)
            self.controller.step()

    def close(self) -> None:
        self.controller.close()
        self.history.close()


def verified(path: Path, policy: Policy | None = THUMB) -> Verified:
    with HistoryReader.open(path) as reader:
        return verify(reader, policy=policy)


def recorded(path: Path, *rates: int, seconds: float = 60.0, **more: Any) -> None:
    run = Run(path, terms("active"), **more)
    for rate in rates:
        run.plant.rate = rate
        run.pass_s(seconds)
    run.close()


def eventful(path: Path, **more: object) -> Run:
    """A run in which everything happens that can happen between and in turns."""
    run = Run(path, terms("ask", blind_s=60.0), policy=FORECASTING, **more)  # type: ignore[arg-type]
    run.pass_s(60.0)
    run.plant.rate = 500
    run.pass_s(60.0)
    run.say(Approve(at_s=run.clock.now_s(), who="ann"))
    run.controller.declare("late", QueryConfiguration(trigger=Trigger(interval_s=2)))
    run.pass_s(20.0)
    run.say(SetKnob(at_s=run.clock.now_s(), who="ann", knob="trigger", value="1s", query="late"))
    run.say(SetKnob(at_s=run.clock.now_s(), who="bob", knob="executors", value="2", hold_s=40))
    run.pass_s(60.0)
    run.found = Reread(event=AutopilotChanged(at_s=run.clock.now_s(), changes=(("mode", "ask", "active"),)), autopilot=Autopilot(mode="active", blind_s=60.0))
    run.plant.rate = 700
    run.pass_s(90.0)
    run.say(Pause(at_s=run.clock.now_s(), who="ann", reason="lunch"))
    run.pass_s(30.0)
    run.say(Resume(at_s=run.clock.now_s(), who="ann"))
    run.plant.slow, run.plant.rate = True, 100
    run.pass_s(40.0)
    run.plant.broken = ConnectionError("silent")
    run.pass_s(120.0)
    run.plant.broken, run.plant.slow = None, False
    run.plant.finish()
    run.pass_s(30.0)
    return run


def test_a_recorded_run_replays_byte_for_byte(path: Path) -> None:
    run = eventful(path)
    run.close()
    happened = {type(event) for event in events_in(path)}
    assert {Decided, CommandTaken, AutopilotChanged, RolledBack, TurnFailed, FitFailed} <= happened and len(run.plant.performed) > 3
    found = verified(path, FORECASTING)
    assert found == Verified(turns=found.turns, keyframes=3), "at the start, after the declaration and after the change of terms"
    with HistoryReader.open(path) as reader:
        assert found.turns == reader.count_turns() == len(turns_in(path)) > 80


def test_a_history_that_masks_secrets_replays_too(path: Path) -> None:
    """The replay sees the masks where the run saw the secrets; one of them is even a word of ours."""
    eventful(path, redactor=Redactor(frozenset({"bob", "late", "active", "daedalus"}))).close()
    assert verified(path, FORECASTING).first_difference is None


def test_several_runs_in_one_history_are_each_replayed_from_their_start(path: Path) -> None:
    for _ in range(3):
        recorded(path, 600)
    assert verified(path) == Verified(turns=36, keyframes=3)


def test_another_policy_than_the_one_that_ran_differs_at_its_first_decision(path: Path) -> None:
    recorded(path, 300)
    found = verified(path, Thumb(name="rule")).first_difference
    assert found is not None and found.turn == 1
    assert found.recorded is not None and found.recorded.startswith('Decided {"at_s":1700000005.0,"policy":"thumb","id":1,"mode":"active"')
    assert found.replayed == found.recorded.replace('"thumb"', '"rule"')


def test_a_policy_of_the_owners_own_is_looked_up_and_one_that_is_gone_is_one_line(tmp_path: Path) -> None:
    path, file = tmp_path / "history.db", tmp_path / f"policy_{tmp_path.name}.py"
    file.write_text(HALF_FULL)
    agreed = terms("active", policy=f"{file}:HalfFull")
    run = Run(path, agreed, policy=own_policy(agreed.autopilot))
    run.pass_s(60.0)
    run.close()
    assert any(isinstance(event, Decided) and event.policy == "half_full" for event in events_in(path))
    assert verified(path, None) == Verified(turns=12, keyframes=1)
    file.unlink()
    sys.modules.pop(file.stem)
    with pytest.raises(UserMistake, match=r"^autopilot.policy: .*policy_") as caught:
        verified(path, None)
    assert "\n" not in str(caught.value)


def tamper(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount > 0


def calm(path: Path) -> None:
    recorded(path, 300, 400, 400, seconds=30.0)


def test_a_tampered_reading_is_found(path: Path) -> None:
    calm(path)
    tamper(path, "UPDATE readings SET json = json_set(json, '$.arrival_rows_per_s', 500.0) WHERE id = 7")
    found = verified(path).first_difference
    assert found is not None and found.turn == 7 and found.recorded is not None and found.replayed is not None
    assert '"executors":4,' in found.recorded and '"executors":5,' in found.replayed


@pytest.mark.parametrize(
    ("statement", "turn"),
    [
        ("UPDATE turns SET marks = replace(marks, '0', '1') WHERE id = 9", 9),
        ('UPDATE turns SET json = \'{"outcomes":[{"number":1,"done":false,"took_s":1.0}]}\' WHERE id = 8', 8),
        ("UPDATE turns SET at_s = at_s + 0.001 WHERE id = 3", 3),
        ("DELETE FROM turns WHERE id = 7", 8),
        ("UPDATE keyframes SET json = json_set(json, '$.terms.limits.max_executors', 3)", 7),
    ],
)
def test_whatever_was_changed_since_is_found_where_it_first_matters(path: Path, statement: str, turn: int) -> None:
    calm(path)
    assert verified(path).first_difference is None
    tamper(path, statement)
    found = verified(path).first_difference
    assert found is not None and found.turn == turn


def test_a_turn_that_cannot_be_turned_any_more_is_a_difference(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no rows")

    calm(path)
    monkeypatch.setattr("penstock.hindsight.verify.turn", broken)
    found = verified(path).first_difference
    assert found is not None and found.replayed == "TurnFailed ZeroDivisionError: no rows" and found.recorded is not None


def test_a_difference_comes_with_who_recorded_the_run_that_it_is_in(path: Path) -> None:
    first, second = Recorder(version="0.1.0", core="5f2a90c1b7de"), Recorder(version="0.2.0")
    for recorder in (second, first, second, first):
        recorded(path, 600, seconds=30.0, recorder=recorder)
    assert verified(path) == Verified(turns=24, keyframes=4), "whoever recorded it"
    tamper(path, "UPDATE turns SET marks = replace(marks, '0', '1') WHERE id = 9")
    assert verified(path).recorder == first
    tamper(path, "UPDATE turns SET marks = replace(marks, '0', '1') WHERE id = 3")
    assert verified(path).recorder == second


def test_verify_starts_at_the_first_keyframe_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.stores.history.KEYFRAME_S", 300.0)
    recorded(path, 600, seconds=1800.0, config=Config(history_days=0.01))
    found = verified(path)
    assert found.first_difference is None and 2 <= found.keyframes <= 4
    rows = turns_in(path)
    first = next(row for row in rows if row.keyframe)
    assert rows[0] is not first and found.turns == rows[-1].number - first.number + 1


def test_a_reading_that_is_gone_is_passed_over_until_the_next_keyframe(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.stores.history.KEYFRAME_S", 30.0)
    recorded(path, 300)
    tamper(path, "DELETE FROM readings WHERE id = 4")
    assert verified(path) == Verified(turns=3 + 6, keyframes=2)


def test_progress_is_reported_and_an_empty_history_is_in_order(path: Path) -> None:
    reported: list[tuple[int, int]] = []
    opened(path).close()
    assert verified(path) == Verified(turns=0, keyframes=0)
    calm(path)
    with HistoryReader.open(path) as reader:
        verify(reader, policy=THUMB, progress=lambda done, total: reported.append((done, total)))
    assert reported == [(done, 18) for done in range(1, 19)]


def hour() -> Arrivals:
    time_s = np.arange(0.0, 3601.0, 10.0)
    return Arrivals.through(time_s, 27_500 - 17_500 * np.cos(2 * math.pi * time_s / 3600.0))


def continuous(load: Load) -> Engine:
    return ContinuousEngine(ContinuousSettings(capacity_rows_per_s=5000.0), load, executors=12, seed=1, faults=[Fault(at_s=2400.0)])


def micro_batches(load: Load) -> Engine:
    return MicroBatchEngine(MicroBatchSettings(partitions=48), load, executors=12, seed=1, faults=[Fault(at_s=2400.0)])


@pytest.mark.slow
@pytest.mark.parametrize("engine_of", [continuous, micro_batches])
def test_a_simulated_hour_under_daedalus_is_verified_byte_for_byte(path: Path, engine_of: Callable[[Load], Engine]) -> None:
    config = Config(reading_interval_s=15.0, reading_window_s=15.0)
    autopilot = Autopilot(mode="active", policy="daedalus", downtime_s=30.0, rollback=False)
    agreed = Terms(limits=Limits(min_executors=1, max_executors=12), promises=Promises(recovery_s=600.0), config=config, autopilot=autopilot)
    clock = SimulatedClock(0.0)
    plant = SimulatedPlant(engine_of(Load.of(hour(), 0.0)), clock, config)
    with History.open(path, config=config, redactor=Redactor()) as history:
        controller = Controller(source=plant, actuator=plant, memory=history, clock=clock, terms=agreed, declared=scaled_to(12), fitter=InlineFitter())
        while clock.now_s() < 3600.0:
            clock.wait(15.0)
            plant.advance()
            controller.step()
        controller.close()
        assert history.load() == replace(controller.knowledge, pending=())
    with HistoryReader.open(path) as reader:
        assert sum(given.change.executors is not None for given, _ in reader.instructions()) >= 3
    happened = [type(event) for event in events_in(path)]
    assert {Decided, Graded, FitTaken} <= {*happened} and TurnFailed not in happened
    assert verified(path, None) == Verified(turns=240, keyframes=4)
    print(f"{path.stat().st_size / 1e6:.1f} MB for {len(happened)} events of 240 turns")
