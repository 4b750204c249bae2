"""Cross-validation: which rows are held out together, fits to the other rows, and bounds from the held-out errors."""

import math
from collections.abc import Iterator
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, student_estimate_by_ratio
from penstock.core.models.surrogate.points import Derived, Fitted, Form, Points

Groups = npt.NDArray[np.int64]

SAME_INTERVAL = 0.05
"""Intervals within this share of each other count as one."""


class LeaveOut(StrEnum):
    """What is held out together: one row, or all rows of an interval."""

    ONE = "one"
    INTERVAL = "interval"


def interval_groups(interval_s: Floats, *, most: int | None = None) -> Groups:
    """Return the number of the interval of each row, shortest first; neighbours are joined where there are more than `most`.

    >>> interval_groups(np.array([10.0, 30.0, 10.2, 60.0])).tolist()
    [0, 1, 0, 2]
    >>> interval_groups(np.array([10.0, 30.0, 10.2, 60.0]), most=2).tolist()
    [0, 0, 0, 1]
    """
    different, places = np.unique(interval_s, return_inverse=True)
    numbers = np.zeros(len(different), dtype=np.int64)
    number, start = -1, -np.inf
    for place, interval in enumerate(different.tolist()):
        if interval > start * (1 + SAME_INTERVAL):
            number, start = number + 1, interval
        numbers[place] = number
    if most is not None and number + 1 > most:
        numbers = numbers * most // (number + 1)
    return np.asarray(numbers[places])


def row_groups(rows: int, *, most: int) -> Groups:
    """Return one group for each row, or for every `most`-th row where there are more than `most` rows.

    >>> row_groups(5, most=2).tolist()
    [0, 1, 0, 1, 0]
    """
    return np.arange(rows, dtype=np.int64) % max(1, min(rows, most))


def different_rows(points: Points, seen: Floats) -> Groups:
    """Return a number for each row; identical rows have the same number, so that none is predicted from itself.

    >>> points = Points(interval_s=np.array([60.0, 10.0, 60.0]), rate=np.array([5.0, 5.0, 5.0]))
    >>> different_rows(points, np.array([80.0, 70.0, 80.0])).tolist()
    [1, 0, 1]
    """
    executors = np.zeros(len(seen)) if points.executors is None else points.executors
    rows = np.column_stack([points.interval_s, points.rate, executors, seen])
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1])


def folds(groups: Groups) -> Iterator[Flags]:
    """Yield the rows held out, group by group.

    >>> [held.tolist() for held in folds(np.array([0, 1, 0]))]
    [[True, False, True], [False, True, False]]
    """
    for group in np.unique(groups):
        yield groups == group


class Trials:
    """Fits of forms to parts of the rows, each made once: nested loops need the same parts again."""

    def __init__(self, points: Points, seen: Floats) -> None:
        self.points = points
        self.seen = seen
        self._fits: dict[tuple[str, bytes], Fitted] = {}
        self._parts: dict[bytes, Points] = {}

    def fit(self, form: Form, rows: Flags) -> Fitted:
        """Return the form fitted to these rows alone."""
        part_key = rows.tobytes()
        key = (form.name, part_key)
        if key not in self._fits:
            part, seen = self._parts.setdefault(part_key, self.points.where(rows)), self.seen[rows]
            self._fits[key] = form.derive(self.fit(form.base, rows), part, seen) if isinstance(form, Derived) else form.fit(part, seen)
        return self._fits[key]

    def held_out(self, form: Form, rows: Flags, groups: Groups) -> Floats:
        """Return the predictions of the form for these rows, each from a fit to the rows of the other groups."""
        predicted = np.full(len(self.seen), np.nan)
        for held in (held & rows for held in folds(groups) if np.any(held & rows)):
            predicted[held] = self.fit(form, rows & ~held).at(self.points.where(held))
        return predicted[rows]


LEAST_RANKED = 9
"""With fewer errors than this, ranks cannot bound four in five of the next ones: Student's distribution is used."""


def within_errors(value: float, log_errors: Floats) -> Estimate:
    """Return a value with 80 % bounds from the ranks of held-out log errors (truth over answer).

    >>> within_errors(100.0, np.log([0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.1, 1.1, 1.25])).high.__round__(6)
    125.0
    """
    count = len(log_errors)
    if not count:
        return Estimate(value=value, low=0.0, high=math.inf)
    if count < LEAST_RANKED:
        return student_estimate_by_ratio(value, math.sqrt(float(np.mean(log_errors**2))), count)
    low, high = np.interp([LOW_LEVEL * (count + 1), HIGH_LEVEL * (count + 1)], np.arange(1.0, count + 1), np.sort(log_errors))
    return Estimate(value=value, low=value * math.exp(min(low, 0.0)), high=value * math.exp(max(high, 0.0)))
