"""The executors that run the tasks of a micro-batch: those it starts with, and those that join while it runs."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from penstock.core.models.capacity.batch_law import waves

HAIR = 1e-9
"""Tolerance for rounding, in waves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """An executor that joins when the batch has run for `from_wave` waves."""

    executor_id: str
    from_wave: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Crew:
    """The next free slot gets the next task, as with Spark's scheduler. All tasks take equally long, so time is counted in waves.

    >>> Crew(tasks=12, slots_each=1, executors=("1", "2")).waves
    6.0
    >>> Crew(tasks=12, slots_each=1, executors=("1", "2"), newcomers=(Newcomer(executor_id="3", from_wave=2.5),)).waves
    5.0
    """

    tasks: int
    slots_each: int
    executors: tuple[str, ...]
    newcomers: tuple[Newcomer, ...] = ()

    @property
    def everyone(self) -> tuple[str, ...]:
        return (*self.executors, *(each.executor_id for each in self.newcomers))

    @property
    def waves(self) -> float:
        """The time at which the last task is done."""
        slots = len(self.executors) * self.slots_each
        alone = waves(self.tasks, slots)
        if not self.newcomers:
            return float(alone)
        last = bisect_left(range(alone), self.tasks, key=self._done)
        ends = [begun + math.floor(last - begun + HAIR) for begun in (0.0, *(each.from_wave for each in self.newcomers)) if begun <= last]
        return min(end for end in ends if self._done(end) >= self.tasks)

    def _done(self, wave: float) -> int:
        """Return the number of tasks that can be done by then."""
        return self.slots_each * (len(self.executors) * whole(wave) + sum(whole(wave - each.from_wave) for each in self.newcomers))

    def has_waiting(self, wave: float) -> bool:
        """Return whether a task has not started by then."""
        begun = len(self.executors) * (whole(wave) + 1) + sum(whole(wave - each.from_wave) + 1 for each in self.newcomers if each.from_wave <= wave)
        return begun * self.slots_each < self.tasks

    def joined(self, newcomer: Newcomer) -> Self:
        """Return the crew with the newcomer, or as it is if all tasks have started by then."""
        return replace(self, newcomers=(*self.newcomers, newcomer)) if self.has_waiting(newcomer.from_wave) else self

    def tasks_of_each(self, turn: int) -> list[int]:
        """Return the tasks of each of `everyone`: newcomers run those they have time for, the others share the rest evenly.

        >>> Crew(tasks=12, slots_each=1, executors=("1", "2"), newcomers=(Newcomer(executor_id="3", from_wave=2.5),)).tasks_of_each(0)
        [5, 5, 2]
        """
        end, left, late = self.waves if self.newcomers else 0.0, self.tasks, list[int]()
        for each in self.newcomers:
            late.append(min(left, self.slots_each * whole(end - each.from_wave)))
            left -= late[-1]
        return [*shared_evenly(left, len(self.executors), turn), *late]


def whole(waves: float) -> int:
    """
    >>> whole(2.5), whole(-0.3)
    (2, 0)
    """
    return max(0, math.floor(waves + HAIR))


def shared_evenly(tasks: int, executors: int, turn: int) -> Sequence[int]:
    """Return an even distribution of tasks to executors; the remainder goes round with `turn`.

    >>> shared_evenly(7, 3, turn=0), shared_evenly(7, 3, turn=1)
    ([3, 2, 2], [2, 3, 2])
    """
    each, odd = divmod(tasks, executors)
    return [each + ((number - turn) % executors < odd) for number in range(executors)]
