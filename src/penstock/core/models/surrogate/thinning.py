"""Which rows to keep of too many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.core.models.arrays import Flags, Floats


def spread_out(groups: npt.NDArray[np.int64], rates: Floats, most: int) -> Flags:
    """At most so many rows, as many of each group and of each part of its range of rates as there are, and evenly through those that are alike.

    Rare intervals (groups) and rates keep all of their rows before frequent ones keep more.

    >>> groups, rates = np.array([0] * 97 + [1, 1, 2]), np.array([5.0] * 97 + [5.0, 9.0, 5.0])
    >>> spread_out(groups, rates, 6).nonzero()[0].tolist()
    [32, 64, 96, 97, 98, 99]
    """
    if len(rates) <= most:
        return np.ones(len(rates), dtype=bool)
    lowest, highest = np.full(groups.max() + 1, np.inf), np.full(groups.max() + 1, -np.inf)
    np.minimum.at(lowest, groups, rates)
    np.maximum.at(highest, groups, rates)
    places, width = max(1, most // len(lowest)), np.where(highest > lowest, highest - lowest, 1.0)
    place = np.minimum((places * (rates - lowest[groups]) / width[groups]).astype(np.int64), places - 1)
    _, cells, sizes = np.unique(groups * places + place, return_inverse=True, return_counts=True)
    quota = next(each for each in range(most, 0, -1) if each == 1 or np.minimum(sizes, each).sum() <= most)
    order = np.argsort(cells, kind="stable")
    size = np.repeat(sizes, sizes)
    number = np.arange(len(rates)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    wanted = np.minimum(size, quota)
    kept = np.zeros(len(rates), dtype=bool)
    chosen = order[(number + 1) * wanted // size > number * wanted // size]
    kept[chosen[np.linspace(0, len(chosen) - 1, min(most, len(chosen))).astype(np.int64)]] = True
    return kept
