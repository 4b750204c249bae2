"""The shell around `loop.turn`: gathers its inputs, performs what it decides, remembers what it says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Protocol

from penstock.core.domain.command import Command
from penstock.core.domain.event import Event, TurnFailed
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge import Desired, Knowledge, begin
from penstock.core.loop import Inputs, turn
from penstock.core.terms import Terms
from penstock.ports import Actuator, Clock, EventSink, KnowledgeStore, Source

_REMEMBERED = 200


class Memory(KnowledgeStore, Protocol):
    """A knowledge store that also remembers every turn."""

    def append(
        self, at_s: float, *, reading: Reading | None = None, events: Sequence[Event] = (), instructions: Sequence[tuple[Instruction, float]] = (),
        outcomes: Sequence[tuple[Outcome, float]] = (), knowledge: Knowledge | None = None,
    ) -> tuple[Event, ...]: ...  # fmt: skip


class Controller:
    """Turns the loop every reading interval, and at once when an operator speaks. A turn that fails is an event; the loop lives."""

    def __init__(
        self, *, source: Source, actuator: Actuator, memory: Memory, clock: Clock, terms: Terms, declared: Desired,
        sinks: Sequence[EventSink] = (), on_reading: Callable[[Reading], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._source = source
        self._actuator = actuator
        self._memory = memory
        self._clock = clock
        self._terms = terms
        self._sinks = list(sinks)
        self._on_reading = on_reading
        self._inbox = threading.Condition()
        self._commands: list[tuple[Command, Future[list[Event]]]] = []
        self._outcomes: list[Outcome] = []
        self._noted: list[Event] = []
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="penstock-controller", daemon=True)
        remembered = memory.load()
        self.resumed = remembered is not None
        self.knowledge = begin(declared, remembered)
        self.last_reading: Reading | None = None
        self.last_turn_s: float | None = None
        self.recent: dict[int, Event] = {}

    def start(self) -> None:
        self._thread.start()

    def submit(self, command: Command) -> Future[list[Event]]:
        """Let an operator speak; the answer is what the turn that heard him said."""
        answer: Future[list[Event]] = Future()
        with self._inbox:
            self._commands.append((command, answer))
            self._inbox.notify_all()
        return answer

    def note(self, events: Sequence[Event]) -> None:
        """Take in events that happened elsewhere; from any thread."""
        if events:
            with self._inbox:
                self._noted.extend(events)
                self._inbox.notify_all()

    def declare(self, query: str, trigger: Trigger, rate_limit_rows_per_s: float | None) -> None:
        """A query that joined: what its owner declares, unless an earlier controller left another wish for it."""
        with self._inbox:
            declared = self.knowledge.declared
            grown = replace(
                declared,
                triggers={**declared.triggers, query: trigger},
                rate_limits_rows_per_s={**declared.rate_limits_rows_per_s, query: rate_limit_rows_per_s},
                partitions={**declared.partitions, query: None},
            )
            self.knowledge = replace(begin(grown, self.knowledge), pending=self.knowledge.pending, last=self.knowledge.last)

    def close(self) -> None:
        """End the loop after the turn under way, and write down what is left."""
        with self._inbox:
            self._stopping = True
            self._inbox.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=60)
        with self._inbox:
            noted, self._noted = self._noted, []
        self._tell(noted, self._memory.append(self._clock.now_s(), events=noted, knowledge=self.knowledge))

    def step(self) -> None:
        """One turn, now."""
        with self._inbox:
            commands, self._commands = self._commands, []
            outcomes, self._outcomes = self._outcomes, []
            noted, self._noted = self._noted, []
        now_s = self._clock.now_s()
        try:
            self._turn(now_s, commands, tuple(outcomes), noted)
        except Exception as error:
            failed = TurnFailed(at_s=now_s, error=f"{type(error).__name__}: {error}")
            for _, answer in commands:
                answer.set_exception(error)
            said = [*noted, failed]
            self._tell(said, self._memory.append(now_s, events=said))

    def _turn(self, now_s: float, commands: list[tuple[Command, Future[list[Event]]]], outcomes: tuple[Outcome, ...], noted: list[Event]) -> None:
        reading = self._source.read()
        with self._inbox:
            noted += self._noted
            self._noted = []
            inputs = Inputs(at_s=now_s, reading=reading, outcomes=outcomes, commands=tuple(command for command, _ in commands))
            done = turn(self.knowledge, inputs, self._terms)
            self.knowledge = done.knowledge
        self.last_reading, self.last_turn_s = reading, now_s
        events = [*noted, *done.events]
        said = self._memory.append(
            now_s,
            reading=reading,
            events=events,
            instructions=[(instruction, now_s) for instruction in done.instructions],
            outcomes=[(outcome, now_s) for outcome in outcomes],
            knowledge=done.knowledge,
        )
        self._on_reading(reading)
        self._tell(events, said)
        for instruction in done.instructions:
            self._actuator.perform(instruction, self._report)
        for _, answer in commands:
            answer.set_result(list(done.events))

    def _report(self, outcome: Outcome) -> None:
        with self._inbox:
            self._outcomes.append(outcome)
            self._inbox.notify_all()

    def _tell(self, events: Sequence[Event], more: Sequence[Event]) -> None:
        for event in (*events, *more):
            number = getattr(event, "number", None)
            if number is not None:
                self.recent[number] = event
                self.recent.pop(number - _REMEMBERED, None)
        for sink in self._sinks:
            sink.emit([*events, *more])

    def _run(self) -> None:
        due_s = self._clock.now_s()
        while True:
            with self._inbox:
                wait_s = max(0.0, due_s - self._clock.now_s())
                self._inbox.wait_for(lambda: bool(self._stopping or self._commands or self._outcomes or self._noted), wait_s)
                if self._stopping:
                    return
            self.step()
            now_s = self._clock.now_s()
            if now_s >= due_s:
                due_s = max(due_s + self._terms.config.reading_interval_s, now_s)
