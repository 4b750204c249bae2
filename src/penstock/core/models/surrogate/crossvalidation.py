"""What is held out together: one row, or all rows of a checkpoint interval."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.surrogate.points import Points

Groups = npt.NDArray[np.int64]

SAME_INTERVAL = 0.05
"""Intervals within this share of each other are one interval."""


class LeaveOut(StrEnum):
    """What an error is measured on: each row by itself, or all rows of an interval."""

    ONE = "one"
    INTERVAL = "interval"


def interval_groups(interval_s: Floats, *, most: int | None = None) -> Groups:
    """The number of the interval of each row, shortest first; neighbours are joined while there are more than `most`.

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
    """Each row by itself, or, of more than `most` rows, every `most`-th together.

    >>> row_groups(5, most=2).tolist()
    [0, 1, 0, 1, 0]
    """
    return np.arange(rows, dtype=np.int64) % max(1, min(rows, most))


def different_rows(points: Points, seen: Floats) -> Groups:
    """The number of each row, by interval, rate and so on; a row that is there twice has the same number twice: else it would be predicted from itself.

    >>> points = Points(interval_s=np.array([60.0, 10.0, 60.0]), rate=np.array([5.0, 5.0, 5.0]))
    >>> different_rows(points, np.array([80.0, 70.0, 80.0])).tolist()
    [1, 0, 1]
    """
    sizes = np.zeros(len(seen)) if points.scaleout is None else points.scaleout
    rows = np.column_stack([points.interval_s, points.rate, sizes, seen])
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1])


def folds(groups: Groups) -> Iterator[Flags]:
    """For each group, which rows are held out.

    >>> [held.tolist() for held in folds(np.array([0, 1, 0]))]
    [[True, False, True], [False, True, False]]
    """
    for group in np.unique(groups):
        yield groups == group
