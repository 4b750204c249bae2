from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking_job import Busy
from changes import scaling
from histories import knowledge_in, opened, turns_in
from planned import DECLARED, Thumb, terms

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot_events import AutopilotChanged, AutopilotRefused, Decided, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import ReadingFailed, TurnFailed
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.domain.profile import ProfileSeen
from penstock.core.knowledge.terms import Terms
from penstock.core.redaction import Redactor
from penstock.runtime.controller import Controller, Memory
from penstock.runtime.fakes import FakeClock
from penstock.runtime.inbox import Reread
from penstock.stores.history import History
from penstock.stores.in_memory import MemoryStore


class Stage:
    """A controller with the rule of thumb on a plant with a load; `found` is what a second look at the job file finds."""

    def __init__(self, terms: Terms, memory: Memory | None = None, clock: FakeClock | None = None, executors: int = 3) -> None:
        self.clock = clock or FakeClock()
        self.plant = Busy(self.clock, executors=executors)
        self.store = MemoryStore()
        self.found: Reread | Exception | None = None
        self.controller = Controller(
            source=self.plant, actuator=self.plant, memory=memory or self.store, clock=self.clock, terms=terms, declared=DECLARED, policy=Thumb(),
            reread=self.reread,
        )  # fmt: skip

    def reread(self) -> Reread | None:
        found, self.found = self.found, None
        if isinstance(found, Exception):
            raise found
        return found

    def pass_s(self, seconds: float) -> list[Event]:
        before = len(self.store.events)
        for _ in range(round(seconds / 5.0)):
            self.clock.wait(5.0)
            self.controller.step()
        return self.store.events[before:]


def of(kind: type[Event], events: Sequence[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def changed(at_s: float, **autopilot: Any) -> Reread:
    event = AutopilotChanged(at_s=at_s, changes=(("mode", "observe", str(autopilot.get("mode", "observe"))),))
    return Reread(event=event, autopilot=Autopilot(**autopilot))


def test_terms_that_change_are_followed_from_that_turn_on_and_said() -> None:
    stage = Stage(terms("observe"))
    stage.plant.rate = 500.0
    stage.pass_s(30.0)
    assert stage.plant.performed == []
    stage.found = changed(1.0, mode="active")
    said = stage.pass_s(5.0)
    assert [type(event) for event in said] == [AutopilotChanged, Decided, InstructionGiven]
    assert stage.plant.executors == 5 and stage.controller.terms.autopilot.mode == "active"
    assert of(AutopilotChanged, stage.pass_s(30.0)) == [], "said once"


def test_a_file_with_a_mistake_changes_nothing_and_a_new_profile_is_followed() -> None:
    stage = Stage(terms("shadow"))
    stage.found = Reread(event=AutopilotRefused(at_s=1.0, reason="autopilot.mode: found 'on'"))
    before = stage.controller.terms
    assert isinstance(stage.pass_s(5.0)[0], AutopilotRefused) and stage.controller.terms is before
    rows = (ProfileSeen(executors=2, rate_rows_per_s=100.0, latency_s=1.0),)
    stage.found = replace(changed(1.0, mode="shadow"), autopilot=None, profile=rows)
    stage.pass_s(5.0)
    assert stage.controller.terms.profile == rows and stage.controller.terms.autopilot.mode == "shadow"


def test_a_second_look_that_fails_is_said_once_and_the_loop_turns() -> None:
    stage = Stage(terms("observe"))
    said: list[Event] = []
    for _ in range(3):
        stage.found = OSError("the file is gone")
        said += stage.pass_s(5.0)
    assert [type(event).__name__ for event in said] == ["SideWorkFailed", "NothingToDo", "NothingToDo", "NothingToDo"]


def test_a_source_that_is_broken_from_the_start_rolls_back_too() -> None:
    stage = Stage(terms("active", blind_s=60.0))
    stage.plant.broken = ConnectionError("silent")
    assert of(RolledBack, stage.pass_s(55.0)) == []
    assert [event.reason for event in of(RolledBack, stage.pass_s(300.0))] == ["blind"]


def test_without_readings_the_executors_are_rolled_back_once() -> None:
    stage = Stage(terms("active", blind_s=60.0))
    stage.plant.rate = 100.0
    stage.pass_s(30.0)
    assert stage.plant.executors == 1
    stage.plant.broken = ConnectionError("silent")
    said = stage.pass_s(300.0)
    assert [(event.reason, event.configuration.executors) for event in of(RolledBack, said)] == [("blind", 3)]
    assert [each.change.executors for each in stage.plant.performed] == [(3, 1), (1, 3)]
    assert len(of(TurnFailed, said)) + len(of(ReadingFailed, said)) == 60, "every turn that had no reading says why"
    assert len(of(ReadingFailed, said)) == 1, "that which rolled back"
    stage.plant.broken = None
    assert of(TurnFailed, stage.pass_s(30.0)) == [] and stage.plant.executors == 3
    assert stage.controller.knowledge.pending == ()


@pytest.mark.parametrize("mode", ["observe", "shadow"])
def test_where_nothing_was_steered_a_missing_reading_is_a_failed_turn(mode: Any) -> None:
    stage = Stage(terms(mode, blind_s=60.0))
    stage.pass_s(30.0)
    stage.plant.broken = ConnectionError("silent")
    assert {type(event) for event in stage.pass_s(120.0)} == {TurnFailed}


class Dying(History):
    """A memory whose process is killed before it has written the turn in which the kill comes."""

    last_words = False

    def append(self, at_s: float, **entry: Any) -> tuple[Event, ...]:
        if self.last_words and entry.get("instructions"):
            raise SystemExit("killed")
        return super().append(at_s, **entry)


def test_a_controller_that_dies_between_deciding_and_remembering_resumes_with_its_knowledge(tmp_path: Path) -> None:
    path, clock = tmp_path / "history.db", FakeClock()
    dying = Dying.open(path, config=Config(), redactor=Redactor())
    assert isinstance(dying, Dying)
    first = Stage(terms("active"), dying, clock)
    first.pass_s(60.0)
    before = first.controller.knowledge
    dying.last_words, first.plant.rate = True, 500.0
    with pytest.raises(SystemExit):
        first.pass_s(60.0)
    assert first.plant.performed == [], "nothing is done that is not written down"

    with opened(path) as memory:
        second = Stage(terms("active"), memory, clock)
        second.plant.rate = 500.0
        resumed = second.controller.knowledge
        assert second.controller.resumed and resumed.learnt == before.learnt
        assert resumed.schedule.decided_s is not None and isinstance(resumed.schedule.memory, OwnMemory) and resumed.schedule.memory.numbers["decisions"] >= 2.0
        second.pass_s(60.0)
        assert second.plant.performed == [scaling(1, 3, 5, decision=resumed.schedule.next_id)]
    rows = turns_in(path)
    assert [row.number for row in rows if row.keyframe] == [1, rows[-12].number], "one keyframe a run"


def test_closing_saves_what_was_learnt(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with opened(path) as memory:
        stage = Stage(terms("active"), memory)
        stage.pass_s(10.0)
        stage.controller.knowledge = replace(stage.controller.knowledge, learnt=replace(stage.controller.knowledge.learnt, failures=7))
        stage.controller.close()
        knowledge = knowledge_in(path)
    assert knowledge is not None and knowledge.learnt.failures == 7
