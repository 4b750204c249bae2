"""Moments of a trace at which a forecast is tried: what was known before each, and what came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.forecast.series import LoadSeen, longest_gap_s, steps_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """One moment of the trace. `late` is how many steps before it the newest sample ended."""

    at_s: float
    new: tuple[LoadSeen, ...]
    """Seen since the origin before, averaged by step."""
    history: tuple[float, ...]
    truth: tuple[float | None, ...]
    """What came in each step; None for one without samples."""
    late: int = 0

    @property
    def known(self) -> Flags:
        """The steps of which it is known what came: only these can be scored."""
        return np.array([each is not None for each in self.truth])

    @property
    def came(self) -> Floats:
        """What came in the steps of which that is known."""
        return np.array([each for each in self.truth if each is not None])


def origins_of(time_s: Floats, rate: Floats, *, history_s: float, horizon_s: float, step_s: float, origins: int) -> Iterator[Origin]:
    """Moments evenly spaced over a trace in the order of time, each with `history_s` before and `horizon_s` after it; none before a gap too long to bridge,
    and none after which nothing is known."""
    start = unbroken_from(time_s)
    bins, place = np.unique(np.floor(time_s[start:] / step_s).astype(np.int64), return_inverse=True)
    averages = np.bincount(place, weights=rate[start:]) / np.bincount(place)
    back, ahead = steps_in(history_s, step_s), steps_in(horizon_s, step_s)
    if not len(bins) or bins[-1] + 1 - bins[0] < back + ahead:
        return
    came = dict(zip(bins.tolist(), averages.tolist(), strict=True))
    since = 0
    for end in np.unique(np.linspace(bins[0] + back, bins[-1] + 1 - ahead, origins).round().astype(np.int64)).tolist():
        truth = tuple(came.get(number) for number in range(end, end + ahead))
        if all(each is None for each in truth):
            continue
        until = int(np.searchsorted(bins, end))
        newest = int(bins[until - 1])
        history = np.interp(np.arange(max(int(bins[0]), newest + 1 - back), newest + 1), bins[:until], averages[:until])
        new = tuple(LoadSeen(at_s=(number + 0.5) * step_s, rate_rows_per_s=came[number]) for number in bins[since:until].tolist())
        yield Origin(at_s=end * step_s, new=new, history=tuple(history.tolist()), truth=truth, late=end - newest - 1)
        since = until


def unbroken_from(time_s: Floats) -> int:
    """The number of the first sample after the last gap that is too long to bridge.

    >>> unbroken_from(np.array([0.0, 10.0, 1000.0, 1010.0]))
    2
    """
    breaks = np.flatnonzero(np.diff(time_s) > longest_gap_s(time_s))
    return int(breaks[-1]) + 1 if len(breaks) else 0
