"""The trigger of a query, inferred from when its batches start and end, as Spark does not log it."""

from collections import deque
from itertools import pairwise
from statistics import median

from penstock.core.domain.trigger import Trigger

KEPT = 400
WAITED_S = 0.1
"""A batch that starts more than this after the end of the one before has waited; one that starts as soon as possible takes a hundredth of it."""
LEAST_WAITS = 5
QUICK = 0.2
"""The quantile of cycles that is the interval: longer ones have skipped a trigger."""
NEAR = 0.05
REGULAR = 0.7
"""A trigger has an interval if at least this share of the cycles is a multiple of it; else batches waited for rows."""
SHORTEST_STEADY_S = 5.0
STEADY = 0.02
ALL_THE_TIME = 0.9
MOST = 0.9
"""A query is in Real-Time Mode if at least this share of its batches are as long as each other, within `STEADY`, and their tasks run all the time."""


class Rhythm:
    """The start, end and longest task of the last batches of a query."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, float]] = deque(maxlen=KEPT)

    def batch(self, started_s: float, committed_s: float, longest_task_s: float) -> None:
        self._batches.append((started_s, committed_s, longest_task_s))

    @property
    def trigger(self) -> Trigger:
        """With an interval if batches that waited started on a grid, else as soon as possible.

        The interval of a job that never keeps up cannot be seen, as its batches start without waiting.

        >>> steady = Rhythm()
        >>> for number in range(10):
        ...     steady.batch(10.0 * number + 0.003 * (number % 2), 10.0 * number + 4.0, 3.0)
        >>> str(steady.trigger), str(Rhythm().trigger)
        ('10s', 'asap')
        """
        cycles = sorted(start_s - before_s for (before_s, ended_s, _), (start_s, _, _) in pairwise(self._batches) if start_s - ended_s > WAITED_S)
        if len(cycles) < LEAST_WAITS:
            return Trigger()
        interval_s = rounded_s(cycles[int(QUICK * len(cycles))])
        whole = sum(abs(cycle / interval_s - max(1, round(cycle / interval_s))) <= NEAR for cycle in cycles)
        return Trigger(interval_s=interval_s) if whole >= REGULAR * len(cycles) else Trigger()

    @property
    def usual_s(self) -> float:
        """The median duration of its batches; 0 without any."""
        return median(ended_s - start_s for start_s, ended_s, _ in self._batches) if self._batches else 0.0

    @property
    def is_real_time(self) -> bool:
        """Whether the query is in Real-Time Mode: most batches have the same duration, and their tasks run all of it."""
        if len(self._batches) < LEAST_WAITS:
            return False
        known, usual_s = [(ended_s - start_s, task_s) for start_s, ended_s, task_s in self._batches], self.usual_s
        alike = sum(abs(length_s - usual_s) <= STEADY / 2 * usual_s and task_s >= ALL_THE_TIME * length_s for length_s, task_s in known)
        return usual_s >= SHORTEST_STEADY_S and alike >= MOST * len(known)


def rounded_s(seconds: float) -> float:
    """Round an interval to what a user would have written.

    >>> rounded_s(9.997), rounded_s(0.251), rounded_s(0.4999)
    (10.0, 0.25, 0.5)
    """
    return next((near for digits in (0, 1, 2) if (near := round(seconds, digits)) > 0 and abs(near - seconds) <= 0.02 * seconds), round(seconds, 3))
