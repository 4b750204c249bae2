"""The shell around `loop.turn`: gathers its inputs, performs what it decides, remembers what it says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from penstock.core.domain.command import Command
from penstock.core.domain.event import Event, MemoryLost, TurnFailed
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused
from penstock.core.fitting import FitAsked, FitDone
from penstock.core.inputs import Inputs
from penstock.core.knowledge import Desired, Knowledge, begin, join
from penstock.core.loop import Turn, turn
from penstock.core.policies.policy import Policy
from penstock.core.terms import Terms
from penstock.ports import Actuator, Clock, EventSink, Fitter, KnowledgeStore, Source

_REMEMBERED = 200


class Memory(KnowledgeStore, Protocol):
    """A knowledge store that also remembers every turn."""

    def append(
        self, at_s: float, *, reading: Reading | None = None, events: Sequence[Event] = (), instructions: Sequence[tuple[Instruction, float]] = (),
        outcomes: Sequence[tuple[Outcome, float]] = (), knowledge: Knowledge | None = None,
    ) -> tuple[Event, ...]: ...  # fmt: skip


class Controller:
    """Turns the loop every reading interval, and at once when an operator speaks. A turn that fails is an event; the loop lives.

    Slow fits are done by `fitter`; without one they are not done. `policy` takes the place of the one that the terms name.
    """

    def __init__(
        self, *, source: Source, actuator: Actuator, memory: Memory, clock: Clock, terms: Terms, declared: Desired,
        sinks: Sequence[EventSink] = (), on_reading: Callable[[Reading], None] = lambda _: None, fitter: Fitter | None = None, policy: Policy | None = None,
    ) -> None:  # fmt: skip
        self._source = source
        self._actuator = actuator
        self._memory = memory
        self._clock = clock
        self._terms = terms
        self._sinks = list(sinks)
        self._on_reading = on_reading
        self._fitter = fitter
        self._policy = policy
        self._inbox = threading.Condition()
        self._commands: list[tuple[Command, Future[list[Event]]]] = []
        self._outcomes: list[Outcome] = []
        self._fits: list[FitDone] = []
        self._noted: list[Event] = []
        self._stopping = False
        self._held_over = 0
        self._blind: set[Callable[[Any], None]] = set()
        self._thread = threading.Thread(target=self._run, name="penstock-controller", daemon=True)
        self._remembered = memory.load()
        self.resumed = self._remembered is not None
        self.knowledge = begin(declared, self._remembered, terms.limits)
        self.last_reading: Reading | None = None
        self.last_turn_s: float | None = None
        self.recent: dict[int, Event] = {}

    def start(self) -> None:
        self._thread.start()

    def submit(self, command: Command) -> Future[list[Event]]:
        """Let an operator speak; the answer is what the turn that heard him said."""
        answer: Future[list[Event]] = Future()
        with self._inbox:
            if self._stopping:
                answer.set_exception(_too_late())
            else:
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
            self.knowledge = join(self.knowledge, query, trigger, rate_limit_rows_per_s, self._remembered)

    def close(self) -> None:
        """End the loop after the turn under way, and write down what is left."""
        with self._inbox:
            self._stopping = True
            self._inbox.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout=60)
        now_s = self._clock.now_s()
        with self._inbox:
            commands, self._commands = self._commands, []
            outcomes, self._outcomes = self._outcomes, []
        for _, answer in commands:
            answer.set_exception(_too_late())
        self._remember(now_s, self._take_noted(), outcomes=[(outcome, now_s) for outcome in outcomes], knowledge=self.knowledge)

    def step(self) -> None:
        """One turn, now. If it fails, the outcomes and the fits it was given wait for the next one."""
        with self._inbox:
            commands, self._commands = self._commands, []
            outcomes, fits = tuple(self._outcomes), tuple(self._fits)
        now_s = self._clock.now_s()
        try:
            reading = self._source.read()
            done = self._decide(Inputs(at_s=now_s, reading=reading, outcomes=outcomes, commands=tuple(command for command, _ in commands), fits=fits))
        except Exception as error:
            self._held_over = len(outcomes)
            for _, answer in commands:
                answer.set_exception(error)
            self._remember(now_s, [*self._take_noted(), TurnFailed(at_s=now_s, error=in_words(error))])
            return
        self.last_reading, self.last_turn_s = reading, now_s
        self._remember(
            now_s,
            [*self._take_noted(), *done.events],
            reading=reading,
            instructions=[(instruction, now_s) for instruction in done.instructions],
            outcomes=[(outcome, now_s) for outcome in outcomes],
            knowledge=done.knowledge,
        )
        self._show(self._on_reading, reading)
        for instruction in done.instructions:
            self._perform(instruction)
        if self._fitter is not None and done.fit is not None:
            self._ask(self._fitter, done.fit)
        for _, answer in commands:
            answer.set_result(list(done.events))

    def _decide(self, inputs: Inputs) -> Turn:
        """Turn the loop, and let go of what it has taken in."""
        with self._inbox:
            done = turn(self.knowledge, inputs, self._terms, self._policy)
            self.knowledge = done.knowledge
            del self._outcomes[: len(inputs.outcomes)]
            del self._fits[: len(inputs.fits)]
            self._held_over = 0
            return done

    def _take_noted(self) -> list[Event]:
        with self._inbox:
            noted, self._noted = self._noted, []
            return noted

    def _perform(self, instruction: Instruction) -> None:
        """Hand it over; an actuator that cannot even begin has failed, and its knob is free again."""
        try:
            self._actuator.perform(instruction, self._report)
        except Exception as error:
            self._report(Outcome(number=instruction.number, done=False, took_s=0.0, reason=in_words(error)))

    def _ask(self, fitter: Fitter, asked: FitAsked) -> None:
        """Hand a fit over; a fitter that cannot even begin has failed."""
        try:
            fitter.ask(asked, self._take_fit)
        except Exception as error:
            self._take_fit(FitDone(number=asked.number, took_s=0.0, error=in_words(error)))

    def _take_fit(self, fit: FitDone) -> None:
        """Keep it for the next turn, which is not made earlier for it."""
        with self._inbox:
            self._fits.append(fit)

    def _report(self, outcome: Outcome) -> None:
        with self._inbox:
            self._outcomes.append(outcome)
            self._inbox.notify_all()

    def _remember(self, at_s: float, events: Sequence[Event], **more: Any) -> None:
        """Write a turn down, and tell everybody."""
        said = [*events, *self._write(at_s, events=events, **more)]
        for event in said:
            number = getattr(event, "number", None)
            if number is not None:
                self.recent[number] = event
                self.recent.pop(number - _REMEMBERED, None)
        for sink in self._sinks:
            self._show(sink.emit, said)

    def _write(self, at_s: float, **entry: Any) -> Sequence[Event]:
        try:
            return self._memory.append(at_s, **entry)
        except Exception as error:
            return [MemoryLost(at_s=at_s, reason=in_words(error))]

    def _show(self, look: Callable[[Any], None], what: Any) -> None:
        """Let somebody look. One who cannot is no reason to stop: that is remembered once, until he can again."""
        try:
            look(what)
            self._blind.discard(look)
        except Exception as error:
            if look not in self._blind:
                self._blind.add(look)
                now_s = self._clock.now_s()
                self._write(now_s, events=[TurnFailed(at_s=now_s, error=in_words(error))])

    def _has_news(self) -> bool:
        """Whether there is a reason to turn before the time; what a failed turn left is none."""
        return bool(self._stopping or self._commands or self._noted or len(self._outcomes) > self._held_over)

    def _run(self) -> None:
        due_s = self._clock.now_s()
        while True:
            with self._inbox:
                wait_s = max(0.0, due_s - self._clock.now_s())
                self._inbox.wait_for(self._has_news, wait_s)
                if self._stopping:
                    return
            self.step()
            now_s = self._clock.now_s()
            if now_s >= due_s:
                due_s = max(due_s + self._terms.config.reading_interval_s, now_s)


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _too_late() -> Refused:
    return Refused("the job is ending and takes no more commands")
