"""The shell around `loop.turn`: gathers its inputs, performs its instructions, and records its events."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Protocol

from penstock.core.domain.command import Command
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import MemoryLost
from penstock.core.domain.events.run_events import ReadingFailed, SideWorkFailed, TurnFailed
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge, begin, join
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Keyframe, Recorded, turn
from penstock.core.plan.trust import watch_trust
from penstock.ports import Actuator, Clock, EventSink, Fitter, KnowledgeStore, Source
from penstock.runtime.attempts import Attempts
from penstock.runtime.inbox import Inbox, Reread, too_late

_REMEMBERED = 200


class Memory(KnowledgeStore, Protocol):
    """A knowledge store that also records every turn; `recorded` is what a replay needs."""

    def append(
        self, at_s: float, *, reading: Reading | None = None, events: Sequence[Event] = (), instructions: Sequence[tuple[Instruction, float]] = (),
        outcomes: Sequence[tuple[Outcome, float]] = (), knowledge: Knowledge | None = None, recorded: Recorded | None = None,
    ) -> tuple[Event, ...]: ...  # fmt: skip


class Controller:
    """Turns the loop every reading interval, and at once when a command comes. A turn that fails is an event, and the loop goes on.

    `fitter` does slow fits; without one they are not done. `policy` replaces the one that the terms name. `reread` is called once a turn and returns
    what the owner has changed in the job file.
    """

    def __init__(
        self, *, source: Source, actuator: Actuator, memory: Memory, clock: Clock, terms: Terms, declared: Configuration,
        sinks: Sequence[EventSink] = (), on_reading: Callable[[Reading], None] = lambda _: None, fitter: Fitter | None = None, policy: Policy | None = None,
        reread: Callable[[], Reread | None] = lambda: None,
    ) -> None:  # fmt: skip
        self._source = source
        self._actuator = actuator
        self._memory = memory
        self._clock = clock
        self._sinks = list(sinks)
        self._on_reading = on_reading
        self._fitter = fitter
        self._policy = policy
        self._reread = reread
        self._inbox = Inbox()
        self._turning = threading.Lock()
        self._side_work = Attempts()
        self._thread = threading.Thread(target=self._run, name="penstock-controller", daemon=True)
        self._remembered = memory.load()
        self.terms = terms
        self.resumed = self._remembered is not None
        self.knowledge = begin(declared, self._remembered, terms.limits, clock.now_s())
        self.last_reading: Reading | None = None
        self.last_turn_s: float | None = None
        self.recent: dict[int, Event] = {}

    def start(self) -> None:
        self._thread.start()

    def submit(self, command: Command) -> Future[list[Event]]:
        """Hand in an operator's command; the result is the events of the turn that takes it."""
        return self._inbox.submit(command)

    def note(self, events: Sequence[Event]) -> None:
        """Record events that happened elsewhere; from any thread."""
        self._inbox.note(events)

    def declare(self, query: str, declared: QueryConfiguration) -> None:
        """Add a query that joins: as its owner declares it, unless an earlier controller left another desired value."""
        with self._turning:
            self.knowledge = join(self.knowledge, query, declared, self._remembered)

    def close(self) -> None:
        """End the loop after the current turn, and write what is left, including all that was learnt."""
        self._inbox.close()
        if self._thread.is_alive():
            self._thread.join(timeout=60)
        now_s = self._clock.now_s()
        waiting = self._inbox.look()
        waiting.refuse(too_late())
        self._inbox.taken_in(waiting)
        self._remember(now_s, self._inbox.noted(), outcomes=[(outcome, now_s) for outcome in waiting.outcomes])
        self._aside("saving what was learnt", self._memory.save, self.knowledge)

    def step(self) -> None:
        """Do one turn now. If it fails, its outcomes and fits wait for the next one."""
        waiting = self._inbox.look()
        now_s = self._clock.now_s()
        self._aside("looking at the job file", self._look_again, self._reread)
        try:
            reading, missed = self._read(now_s, urgent=bool(waiting.commands))
            commands = tuple(command for command, _ in waiting.commands)
            recorded = self._turn(Inputs(at_s=now_s, reading=reading, outcomes=waiting.outcomes, commands=commands, fits=waiting.fits))
        except Exception as error:
            self._inbox.left(waiting)
            waiting.refuse(error)
            self._remember(now_s, [*self._inbox.noted(), TurnFailed(at_s=now_s, error=in_words(error))])
            return
        self._inbox.taken_in(waiting)
        done = recorded.done
        if reading is not None:
            self.last_reading, self.last_turn_s = reading, now_s
        self._remember(
            now_s,
            [*self._inbox.noted(), *missed, *done.events],
            reading=reading,
            instructions=[(instruction, now_s) for instruction in done.instructions],
            outcomes=[(outcome, now_s) for outcome in waiting.outcomes],
            knowledge=done.knowledge,
            recorded=recorded,
        )
        if reading is not None:
            self._aside("showing a reading", self._on_reading, reading)
        for instruction in done.instructions:
            self._perform(instruction)
        if self._fitter is not None and done.fit is not None:
            self._ask(self._fitter, done.fit)
        waiting.answer(done.events)

    def _look_again(self, reread: Callable[[], Reread | None]) -> None:
        """Follow the job file's autopilot and profile, if they have changed."""
        found = reread()
        if found is None:
            return
        if found.autopilot is not None:
            self.terms = replace(self.terms, autopilot=found.autopilot)
        if found.profile is not None:
            self.terms = replace(self.terms, profile=found.profile)
        self._inbox.note([found.event])

    def _read(self, now_s: float, *, urgent: bool) -> tuple[Reading | None, list[Event]]:
        """Return a reading. If that fails and a command waits or a roll-back is due, return None and the failure as an event; else raise."""
        try:
            return self._source.read(), []
        except Exception as error:
            if not urgent and not watch_trust(self.knowledge, now_s, self.terms)[1]:
                raise
            return None, [ReadingFailed(at_s=now_s, error=in_words(error))]

    def _turn(self, inputs: Inputs) -> Recorded:
        with self._turning:
            before = Keyframe(knowledge=self.knowledge, terms=self.terms)
            done = turn(before.knowledge, inputs, before.terms, self._policy)
            self.knowledge = done.knowledge
            return Recorded(before=before, inputs=inputs, done=done)

    def _perform(self, instruction: Instruction) -> None:
        """Hand an instruction to the actuator; an error there is a failed outcome."""
        try:
            self._actuator.perform(instruction, self._inbox.report)
        except Exception as error:
            self._inbox.report(Outcome(number=instruction.number, done=False, took_s=0.0, reason=in_words(error)))

    def _ask(self, fitter: Fitter, asked: FitAsked) -> None:
        """Hand a fit to the fitter; an error there is a failed fit."""
        try:
            fitter.ask(asked, self._inbox.take_fit)
        except Exception as error:
            self._inbox.take_fit(FitDone(number=asked.number, took_s=0.0, error=in_words(error)))

    def _remember(self, at_s: float, events: Sequence[Event], **more: Any) -> None:
        written = [*events, *self._write(at_s, events=events, **more)]
        for event in written:
            number = getattr(event, "number", None)
            if number is not None:
                self.recent[number] = event
                self.recent.pop(number - _REMEMBERED, None)
        for sink in self._sinks:
            self._aside("telling what happened", sink.emit, written)

    def _write(self, at_s: float, **entry: Any) -> Sequence[Event]:
        try:
            return self._memory.append(at_s, **entry)
        except Exception as error:
            return [MemoryLost(at_s=at_s, reason=in_words(error))]

    def _aside(self, what: str, work: Callable[[Any], None], given: Any) -> None:
        """Do work that the turn does not depend on; a failure is recorded once, until it succeeds again."""

        def report(error: Exception) -> None:
            now_s = self._clock.now_s()
            self._write(now_s, events=[SideWorkFailed(at_s=now_s, what=what, error=in_words(error))])

        self._side_work.attempt(work, lambda: work(given), report)

    def _run(self) -> None:
        due_s = self._clock.now_s()
        while self._inbox.wait(max(0.0, due_s - self._clock.now_s())):
            self.step()
            now_s = self._clock.now_s()
            if now_s >= due_s:
                due_s = max(due_s + self.terms.config.reading_interval_s, now_s)


def in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
