"""The rate at which each scale-out stops keeping up, from rates that were found valid or invalid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """One scale-out: the largest rate that it carried, and the smallest that was too much; None where there was none."""

    scaleout: int
    last_stable_rows_per_s: float | None
    first_unstable_rows_per_s: float | None


def knees(profile: Sequence[tuple[int, float, bool]]) -> tuple[Knee, ...]:
    """The knee of each scale-out in a profile of (scale-out, rate, valid), never falling with the scale-out.

    Where rows contradict each other (a valid rate above an invalid one; a larger scale-out failing below a smaller one), the fewest are overruled,
    and of equally good answers the lower rates are taken.

    >>> profile = [(2, 10.0, True), (2, 20.0, False), (4, 10.0, True), (4, 20.0, True), (4, 30.0, False)]
    >>> [(knee.last_stable_rows_per_s, knee.first_unstable_rows_per_s) for knee in knees(profile)]
    [(10.0, 20.0), (20.0, 30.0)]
    """
    by_scaleout = {scaleout: [(rate, valid) for other, rate, valid in profile if other == scaleout] for scaleout in sorted({row[0] for row in profile})}
    most = _most_carried([rows for _, rows in by_scaleout.items()])
    return tuple(
        Knee(
            scaleout=scaleout,
            last_stable_rows_per_s=max((rate for rate, _ in rows if rate <= carried), default=None),
            first_unstable_rows_per_s=min((rate for rate, _ in rows if rate > carried), default=None),
        )
        for (scaleout, rows), carried in zip(by_scaleout.items(), most, strict=True)
    )


def _most_carried(profile: Sequence[Sequence[tuple[float, bool]]]) -> list[float]:
    """For each scale-out, ascending, the largest rate taken as carried (0 for none): not falling, and contradicting the fewest rows.

    `cost[k, j]` are the fewest contradictions of the scale-outs up to k if k carries exactly the j-th candidate.
    """
    candidates = np.array([0.0, *sorted({rate for rows in profile for rate, _ in rows if rate > 0})])
    cost = np.zeros((len(profile), len(candidates)))
    for k, rows in enumerate(profile):
        carried = np.array([rate for rate, _ in rows])[:, None] <= candidates[None, :]
        contradictions = (carried != np.array([valid for _, valid in rows])[:, None]).sum(axis=0)
        cost[k] = contradictions + (np.minimum.accumulate(cost[k - 1]) if k else 0)
    chosen: list[float] = []
    end = len(candidates)
    for row in cost[::-1]:
        best = int(np.argmin(row[:end]))
        chosen.append(float(candidates[best]))
        end = best + 1
    return chosen[::-1]
