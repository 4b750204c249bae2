"""What is held out together: one row, or all rows of a checkpoint interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt

from penstock.core.models.surrogate.points import Floats, Mask

LeaveOut = Literal["one", "interval"]
Groups = npt.NDArray[np.int64]

SAME_INTERVAL = 0.05
"""Intervals within this share of each other are one interval."""


def interval_groups(interval_s: Floats, *, most: int | None = None) -> Groups:
    """The number of the interval of each row, shortest first; neighbours are joined while there are more than `most`.

    >>> interval_groups(np.array([10.0, 30.0, 10.2, 60.0])).tolist()
    [0, 1, 0, 2]
    >>> interval_groups(np.array([10.0, 30.0, 10.2, 60.0]), most=2).tolist()
    [0, 0, 0, 1]
    """
    groups = np.zeros(len(interval_s), dtype=np.int64)
    number, start = -1, -np.inf
    for row in np.argsort(interval_s, kind="stable"):
        if interval_s[row] > start * (1 + SAME_INTERVAL):
            number, start = number + 1, interval_s[row]
        groups[row] = number
    if most is not None and number + 1 > most:
        groups = groups * most // (number + 1)
    return groups


def row_groups(rows: int, *, most: int) -> Groups:
    """Each row by itself, or, of more than `most` rows, every `most`-th together.

    >>> row_groups(5, most=2).tolist()
    [0, 1, 0, 1, 0]
    """
    return np.arange(rows, dtype=np.int64) % max(1, min(rows, most))


def folds(groups: Groups) -> Iterator[Mask]:
    """For each group, which rows are held out.

    >>> [held.tolist() for held in folds(np.array([0, 1, 0]))]
    [[True, False, True], [False, True, False]]
    """
    for group in np.unique(groups):
        yield groups == group
