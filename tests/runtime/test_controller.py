import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from changes import scaled_to, scaling
from histories import events_in, opened

from penstock.core.config import Config
from penstock.core.domain.command import Release, SetKnob
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import MemoryLost
from penstock.core.domain.events.query_events import QueryEnded
from penstock.core.domain.events.run_events import NothingToDo, SideWorkFailed, TurnFailed
from penstock.core.domain.events.steering_events import CommandRefused, CommandTaken, InstructionDone, InstructionFailed, InstructionGiven
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Turn
from penstock.ports import Fitter
from penstock.runtime import controller
from penstock.runtime.controller import Controller, Memory
from penstock.runtime.fakes import FakeClock, FakePlant
from penstock.runtime.fitter import InlineFitter
from penstock.runtime.steady_clock import SteadyClock
from penstock.stores.in_memory import MemoryStore

TERMS = Terms(limits=Limits(min_executors=1, max_executors=4), config=Config(reading_interval_s=0.2))
DECLARED = scaled_to(2, a="0s")


class Ears:
    """An event sink."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.deaf = False

    def emit(self, events: Sequence[Event]) -> None:
        if self.deaf:
            raise BrokenPipeError("nobody listens")
        self.heard.extend(events)

    def of(self, *kinds: type[Event]) -> list[Any]:
        return [event for event in self.heard if isinstance(event, kinds)]


class Stage:
    """A controller with everything it needs, all of it fake."""

    def __init__(
        self, memory: Memory | None = None, clock: Any = None, declared: Configuration = DECLARED, on_reading: Callable[[Reading], None] | None = None,
        fitter: Fitter | None = None,
    ) -> None:  # fmt: skip
        self.clock = clock or FakeClock()
        self.plant = FakePlant(self.clock, executors=2, triggers={"a": Trigger()})
        self.store = MemoryStore()
        self.ears = Ears()
        self.controller = Controller(
            source=self.plant, actuator=self.plant, memory=memory or self.store, clock=self.clock, terms=TERMS, declared=declared, sinks=[self.ears],
            on_reading=on_reading or (lambda _: None), fitter=fitter,
        )  # fmt: skip

    def step(self) -> list[Event]:
        """One turn, and what was heard of it."""
        before = len(self.ears.heard)
        self.controller.step()
        return self.ears.heard[before:]


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def live() -> Iterator[Stage]:
    """A controller whose loop turns in its own thread."""
    running = Stage(clock=SteadyClock())
    running.controller.start()
    yield running
    running.controller.close()


def scale(executors: int) -> SetKnob:
    return SetKnob(at_s=0.0, who="ann", knob="executors", value=str(executors))


def something(words: str) -> QueryEnded:
    return QueryEnded(at_s=1.0, query="a", reason=words)


def kinds(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_a_turn_is_read_decided_carried_out_stored_and_sent_to_the_sinks(stage: Stage) -> None:
    answer = stage.controller.submit(scale(3))
    assert kinds(stage.step()) == ["CommandTaken", "InstructionGiven"]
    assert answer.result(0) == stage.ears.heard
    assert stage.plant.performed == [scaling(1, 2, 3)] and kinds(stage.step()) == ["InstructionDone"]
    assert kinds(stage.step()) == ["NothingToDo"] and stage.store.events == stage.ears.heard
    assert len(stage.store.readings) == 3 and stage.controller.last_reading == stage.store.readings[-1]
    assert [instruction for instruction, _ in stage.store.instructions] == stage.plant.performed
    assert [outcome.number for outcome, _ in stage.store.outcomes] == [1]
    assert stage.store.load() == stage.controller.knowledge


def test_the_end_of_an_instruction_can_be_looked_up_by_its_number(stage: Stage) -> None:
    stage.controller.submit(scale(3))
    stage.step()
    assert isinstance(stage.controller.recent[1], InstructionGiven)
    stage.step()
    assert isinstance(stage.controller.recent[1], InstructionDone)
    stage.plant.arriving = False
    stage.controller.submit(scale(4))
    stage.step()
    stage.step()
    assert stage.controller.recent[2].words() == "4 executors were asked for, 3 run after 0s: going on with those"


def test_a_source_that_fails_is_an_event_and_the_loop_goes_on(stage: Stage) -> None:
    stage.plant.broken = ConnectionError("Spark is silent")
    stage.controller.note([something("x")])
    assert stage.step() == [something("x"), TurnFailed(at_s=stage.clock.now_s(), error="ConnectionError: Spark is silent")]
    assert stage.controller.last_reading is None and stage.controller.last_turn_s is None, "health can tell"
    stage.plant.broken = None
    assert kinds(stage.step()) == ["NothingToDo"] and stage.store.events == stage.ears.heard


def test_operators_are_heard_while_the_source_fails(stage: Stage) -> None:
    stage.step()
    stage.plant.broken = ConnectionError("Spark is silent")
    answer = stage.controller.submit(scale(3))
    assert kinds(stage.step()) == ["ReadingFailed", "CommandTaken", "InstructionGiven"]
    assert kinds(answer.result(0)) == ["CommandTaken", "InstructionGiven"] and stage.plant.performed == [scaling(1, 2, 3)]
    assert stage.ears.heard[-3].words() == "no reading came, and the turn went on without one: ConnectionError: Spark is silent"


def test_an_outcome_that_came_when_the_source_failed_is_not_lost(stage: Stage) -> None:
    stage.plant.slow = True
    stage.controller.submit(scale(3))
    stage.step()
    stage.plant.finish()
    stage.plant.broken = ConnectionError("silent")
    assert kinds(stage.step()) == ["TurnFailed"]
    stage.plant.broken = None
    assert kinds(stage.step()) == ["InstructionDone"] and stage.controller.knowledge.pending == ()
    assert len(stage.store.outcomes) == 1


def test_an_actuator_that_cannot_even_begin_has_failed_and_its_knob_is_free(stage: Stage) -> None:
    def break_down(instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        raise RuntimeError("can't start new thread")

    working, stage.plant.perform = stage.plant.perform, break_down  # type: ignore[method-assign]
    stage.controller.submit(scale(3))
    assert kinds(stage.step()) == ["CommandTaken", "InstructionGiven"]
    assert [event.reason for event in stage.step() if isinstance(event, InstructionFailed)] == ["RuntimeError: can't start new thread"]
    stage.plant.perform = working  # type: ignore[method-assign]
    stage.controller.submit(scale(4))
    stage.step()
    assert stage.plant.executors == 4


def test_a_listener_that_fails_is_remembered_once_and_everything_else_goes_on(stage: Stage) -> None:
    stage.ears.deaf = True
    answer = stage.controller.submit(scale(3))
    stage.controller.note([something("x")])
    for _ in range(3):
        stage.controller.step()
    assert kinds(answer.result(0)) == ["CommandTaken", "InstructionGiven"]
    assert stage.plant.executors == 3
    assert kinds(stage.store.events) == ["QueryEnded", "CommandTaken", "InstructionGiven", "SideWorkFailed", "InstructionDone", "NothingToDo"]
    stage.ears.deaf = False
    assert kinds(stage.step()) == ["NothingToDo"]


def test_a_view_that_cannot_draw_does_not_stop_the_loop() -> None:
    def cannot(reading: Reading) -> None:
        raise ValueError("no room")

    stage = Stage(on_reading=cannot)
    stage.controller.submit(scale(3))
    stage.step()
    stage.step()
    assert stage.plant.executors == 3
    assert [event.words() for event in stage.store.events if isinstance(event, SideWorkFailed)] == [
        "showing a reading failed, the loop goes on: ValueError: no room"
    ]
    assert not [event for event in stage.store.events if isinstance(event, TurnFailed)], "the turns themselves succeeded"


def test_a_memory_that_breaks_is_said_and_the_job_is_still_steered(stage: Stage) -> None:
    def forget(at_s: float, **entry: Any) -> tuple[Event, ...]:
        raise TypeError("the history cannot hold a set")

    stage.store.append = forget  # type: ignore[method-assign]
    stage.controller.submit(scale(3))
    assert stage.step()[-1] == MemoryLost(at_s=stage.clock.now_s(), reason="TypeError: the history cannot hold a set")
    assert stage.plant.executors == 3


def test_operators_get_the_answers_of_the_turn_that_heard_them(live: Stage) -> None:
    assert [event.value for event in live.controller.submit(scale(3)).result(30) if isinstance(event, CommandTaken)] == ["3"]
    refused = live.controller.submit(scale(9)).result(30)
    assert [event.reason for event in refused if isinstance(event, CommandRefused)] == ["the job's limits allow 1 to 4 executors"]
    live.controller.submit(Release(at_s=0.0, who="ann")).result(30)
    assert live.controller.knowledge.holds == ()


def test_events_from_many_threads_are_remembered_once_each(live: Stage) -> None:
    def speak(speaker: int) -> None:
        for word in range(25):
            live.controller.note([something(f"{speaker}.{word}")])

    speakers = [threading.Thread(target=speak, args=(each,)) for each in range(8)]
    for each in speakers:
        each.start()
    for each in speakers:
        each.join(5)
    live.controller.close()
    said = [event.reason for event in live.store.events if isinstance(event, QueryEnded)]
    assert sorted(said) == sorted(f"{speaker}.{word}" for speaker in range(8) for word in range(25))
    assert [event.reason for event in live.ears.of(QueryEnded)] == said


def test_the_loop_turns_by_itself_and_does_not_spin_on_what_a_failed_turn_left(live: Stage) -> None:
    live.plant.slow = True
    live.controller.submit(scale(3)).result(30)
    live.plant.broken = ConnectionError("silent")
    live.plant.finish()
    threading.Event().wait(3 * TERMS.config.reading_interval_s)
    live.controller.close()
    assert 2 <= len(live.ears.of(TurnFailed)) <= 10


def test_closing_writes_what_is_left_and_answers_those_who_wait(stage: Stage) -> None:
    stage.plant.slow = True
    stage.controller.submit(scale(3))
    stage.step()
    stage.plant.finish()
    stage.controller.note([something("last words")])
    waiting = stage.controller.submit(scale(4))
    stage.controller.close()
    assert stage.store.events[-1] == something("last words") == stage.ears.heard[-1]
    assert [outcome.number for outcome, _ in stage.store.outcomes] == [1]
    assert stage.store.load() == replace(stage.controller.knowledge, pending=())
    for late in (waiting, stage.controller.submit(scale(4))):
        with pytest.raises(Refused, match="the job is ending"):
            late.result(0)
    stage.controller.close()
    assert stage.store.events.count(something("last words")) == 1


def test_a_controller_that_was_dropped_in_the_middle_is_resumed_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    first = Stage(opened(path))
    assert not first.controller.resumed
    first.plant.slow = True
    first.controller.submit(scale(4))
    first.step()

    second = Stage(opened(path))
    assert second.controller.resumed and second.controller.knowledge.desired.executors == 4 and second.controller.knowledge.pending == ()
    assert [(hold.knob, hold.who) for hold in second.controller.knowledge.holds] == [("executors", "ann")]
    assert kinds(second.step()) == ["InstructionGiven"]
    assert second.plant.performed == [scaling(2, 2, 4)], "asked again, under a new number"
    assert kinds(second.step()) == ["InstructionDone"] and second.step() == [NothingToDo(at_s=second.clock.now_s())]
    assert kinds(events_in(path)) == ["CommandTaken", "InstructionGiven", "InstructionGiven", "InstructionDone", "NothingToDo"]


def test_a_query_that_joins_later_is_steered_too_and_finds_its_earlier_wish() -> None:
    store = MemoryStore()
    first = Stage(store)
    first.controller.declare("b", QueryConfiguration())
    knowledge = first.controller.knowledge
    assert set(knowledge.desired.queries) == {"a", "b"}
    store.save(replace(knowledge, desired=knowledge.desired.having("rate-limit:b", 50.0)))

    second = Stage(store)
    second.controller.declare("b", QueryConfiguration())
    assert [second.controller.knowledge.desired.of(f"rate-limit:{name}") for name in "ab"] == [None, 50.0]
    second.plant.queries["b"] = replace(second.plant.queries["a"], name="b")
    second.step()
    assert second.plant.queries["b"].rate_limit_rows_per_s == 50.0


class Fitting:
    """A fitter whose results come when a test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[FitAsked, Callable[[FitDone], None]]] = []
        self.broken: Exception | None = None

    def ask(self, asked: FitAsked, report: Callable[[FitDone], None]) -> None:
        if self.broken is not None:
            raise self.broken
        self.asked.append((asked, report))

    def close(self) -> None:
        self.asked.clear()

    def finish(self) -> None:
        for asked, report in self.asked:
            report(FitDone(number=asked.number, took_s=1.0))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[tuple[FitDone, ...]]:
    """What turns were given as fits; the first one asks for one."""
    given: list[tuple[FitDone, ...]] = []

    def asking(knowledge: Knowledge, inputs: Inputs, terms: Terms, policy: object = None) -> Turn:
        given.append(inputs.fits)
        asked = FitAsked(number=7) if len(given) == 1 else None
        return Turn(knowledge=knowledge, instructions=(), events=(NothingToDo(at_s=inputs.at_s),), fit=asked)

    monkeypatch.setattr(controller, "turn", asking)
    return given


def test_a_fit_comes_back_with_a_later_turn_and_once(taken: list[tuple[FitDone, ...]]) -> None:
    fitting = Fitting()
    stage = Stage(fitter=fitting)
    stage.step()
    stage.step()
    assert [asked.number for asked, _ in fitting.asked] == [7] and taken == [(), ()]
    fitting.finish()
    stage.step()
    stage.step()
    assert taken[2:] == [(FitDone(number=7, took_s=1.0),), ()]


def test_a_failed_turn_keeps_fits_for_the_next(taken: list[tuple[FitDone, ...]]) -> None:
    fitting = Fitting()
    stage = Stage(fitter=fitting)
    stage.step()
    fitting.finish()
    stage.plant.broken = ConnectionError("silent")
    assert kinds(stage.step()) == ["TurnFailed"]
    stage.plant.broken = None
    stage.step()
    assert [fit.number for fits in taken for fit in fits] == [7]


def test_a_fitter_that_cannot_even_begin_is_a_fit_that_failed(taken: list[tuple[FitDone, ...]]) -> None:
    fitting = Fitting()
    fitting.broken = OSError("no more processes")
    stage = Stage(fitter=fitting)
    assert kinds(stage.step()) == ["NothingToDo"]
    stage.step()
    assert taken[1] == (FitDone(number=7, took_s=0.0, error="OSError: no more processes"),)


@pytest.mark.parametrize(("fitter", "fitted"), [(None, []), (InlineFitter(), [(7, "")])], ids=["none", "in line"])
def test_a_fit_in_line_is_there_for_the_next_turn_and_none_without_a_fitter(
    taken: list[tuple[FitDone, ...]], fitter: Fitter | None, fitted: list[tuple[int, str]]
) -> None:
    stage = Stage(fitter=fitter)
    stage.step()
    stage.step()
    assert [(fit.number, fit.error) for fit in taken[1]] == fitted
