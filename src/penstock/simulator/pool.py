"""The executors of a simulated job: those that run, those on their way, those that were lost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """`cold_since_s` is None for one that was warm when the simulation began."""

    executor_id: str
    added_s: float
    cold_since_s: float | None = None

    def age_s(self, at_s: float) -> float:
        """How long it has warmed up."""
        return math.inf if self.cold_since_s is None else at_s - self.cold_since_s


@dataclass(slots=True, kw_only=True)
class Pool:
    """Numbered from 1, oldest first; `coming` are the numbers of those on their way, `changed_s` is when executors last came or went.

    `came` are those that have just come, until somebody has work for them; `leaving` is how many were dismissed and are not gone yet.
    """

    requested: int
    changed_s: float
    running: list[Executor] = field(default_factory=list)
    coming: set[int] = field(default_factory=set)
    came: list[Executor] = field(default_factory=list)
    leaving: int = 0
    lost: int = 0
    numbers: int = 0

    @classmethod
    def warm(cls, executors: int, at_s: float) -> Pool:
        """A job that has been running with so many for a while."""
        running = [Executor(executor_id=str(number), added_s=at_s) for number in range(1, executors + 1)]
        return cls(requested=executors, changed_s=at_s, running=running, numbers=executors)

    @property
    def expected(self) -> int:
        """Those that run and those on their way."""
        return len(self.running) + len(self.coming)

    @property
    def paid(self) -> int:
        """Those that are expected, and those that are not gone yet."""
        return self.expected + self.leaving

    def ask(self) -> int:
        """One more is on its way; its number."""
        self.numbers += 1
        self.coming.add(self.numbers)
        return self.numbers

    def arrive(self, number: int, at_s: float) -> bool:
        """It is ready, unless nobody waits for it any more."""
        if number not in self.coming:
            return False
        self.coming.remove(number)
        self.running.append(Executor(executor_id=str(number), added_s=at_s, cold_since_s=at_s))
        self.came.append(self.running[-1])
        self.changed_s = at_s
        return True

    def take_came(self) -> list[Executor]:
        """Those that have just come, once."""
        came, self.came = self.came, []
        return came

    def call_off(self, most: int) -> None:
        """Those on their way beyond `most` in all, newest first."""
        while self.coming and self.expected > most:
            self.coming.remove(max(self.coming))

    def dismiss(self, most: int, at_s: float) -> int:
        """Let the newest go until `most` run; how many are leaving."""
        dismissed = max(0, len(self.running) - most)
        if dismissed:
            del self.running[most:]
            self.leaving += dismissed
            self.changed_s = at_s
        return dismissed

    def gone(self, executors: int) -> None:
        """So many of those that were leaving have left."""
        self.leaving -= executors

    def lose(self, executor_id: str, at_s: float) -> bool:
        """It is gone without being asked to, unless it has gone already."""
        left = [each for each in self.running if each.executor_id != executor_id]
        found = len(left) < len(self.running)
        if found:
            self.running, self.lost, self.changed_s = left, self.lost + 1, at_s
        return found
