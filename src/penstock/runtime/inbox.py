"""Inputs that wait for the next turn: commands, outcomes, fits and events, from any thread; and changes of the job file."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.command import Command
from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.profile import ProfileSeen
from penstock.core.errors import Refused
from penstock.core.knowledge.fitting import FitDone

MOST_FAILED = 10
"""Fits are dropped after this many failed turns in a row, as one of them may be the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The inputs of a turn; each command with the future of its answer."""

    commands: tuple[tuple[Command, Future[list[Event]]], ...]
    outcomes: tuple[Outcome, ...]
    fits: tuple[FitDone, ...]

    def answer(self, events: Sequence[Event]) -> None:
        for _, answer in self.commands:
            answer.set_result(list(events))

    def refuse(self, error: Exception) -> None:
        for _, answer in self.commands:
            answer.set_exception(error)


class Inbox:
    """A turn looks at what waits and confirms what it has taken in; what a failed turn leaves waits for the next regular one."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._commands: list[tuple[Command, Future[list[Event]]]] = []
        self._outcomes: list[Outcome] = []
        self._fits: list[FitDone] = []
        self._noted: list[Event] = []
        self._held_over = 0
        self._failed = 0
        self._closed = False

    def submit(self, command: Command) -> Future[list[Event]]:
        answer: Future[list[Event]] = Future()
        with self._news:
            if self._closed:
                answer.set_exception(too_late())
            else:
                self._commands.append((command, answer))
                self._news.notify_all()
        return answer

    def note(self, events: Sequence[Event]) -> None:
        if events:
            with self._news:
                self._noted.extend(events)
                self._news.notify_all()

    def report(self, outcome: Outcome) -> None:
        with self._news:
            self._outcomes.append(outcome)
            self._news.notify_all()

    def take_fit(self, fit: FitDone) -> None:
        """Keep a fit for the next turn, without waking the loop."""
        with self._news:
            self._fits.append(fit)

    def look(self) -> Waiting:
        """Return what waits; commands are handed out once, even if the turn fails."""
        with self._news:
            commands, self._commands = self._commands, []
            return Waiting(commands=tuple(commands), outcomes=tuple(self._outcomes), fits=tuple(self._fits))

    def taken_in(self, waiting: Waiting) -> None:
        """Drop the outcomes and fits that a turn has taken in."""
        with self._news:
            del self._outcomes[: len(waiting.outcomes)]
            del self._fits[: len(waiting.fits)]
            self._held_over = self._failed = 0

    def left(self, waiting: Waiting) -> None:
        with self._news:
            self._held_over = len(waiting.outcomes)
            self._failed += 1
            if self._failed >= MOST_FAILED:
                self._fits.clear()

    def noted(self) -> list[Event]:
        """Return the events noted since the last call."""
        with self._news:
            noted, self._noted = self._noted, []
            return noted

    def wait(self, seconds: float) -> bool:
        """Wait until something needs a turn or the time is over; return whether the loop goes on."""
        with self._news:
            self._news.wait_for(self._has_news, seconds)
            return not self._closed

    def close(self) -> None:
        """Take no more commands."""
        with self._news:
            self._closed = True
            self._news.notify_all()

    def _has_news(self) -> bool:
        return bool(self._closed or self._commands or self._noted or len(self._outcomes) > self._held_over)


def too_late() -> Refused:
    return Refused("the job is ending and takes no more commands")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reread:
    """A change of the job file: the autopilot and the profile to follow from now on, None for an unchanged one, and the event to record."""

    event: Event
    autopilot: Autopilot | None = None
    profile: tuple[ProfileSeen, ...] | None = None
