"""Which capacity model to believe: the cost of micro-batches or the regression on utilisation, by what both foretold of the same moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

MICRO_BATCH = "micro-batch cost"
UTILIZATION = "utilisation regression"
FEWEST_COMPARED = 5
"""Moments below which errors decide nothing."""
STANDARD_ERRORS = 2.0
"""A mean difference of so many standard errors is more than chance."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """The throughput that came at a moment, above 0, and what each model had said of it before it learnt it."""

    came_rows_per_s: float
    by_batches_rows_per_s: float
    by_utilization_rows_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityChoice:
    """The model to use, why in words for people, and the mean relative errors that were compared (None where there was nothing to compare)."""

    model: str
    why: str
    by_batches_error: float | None = None
    by_utilization_error: float | None = None
    compared: int = 0


def choose_capacity_model(foretold: Sequence[Foretold]) -> CapacityChoice:
    """The micro-batch cost where it errs less by more than chance, else the regression of the paper.

    >>> moments = [Foretold(came_rows_per_s=z, by_batches_rows_per_s=1.02 * z, by_utilization_rows_per_s=1.15 * z) for z in (1.0, 2.0, 3.0, 4.0, 5.0)]
    >>> choose_capacity_model(moments).model
    'micro-batch cost'
    >>> choose_capacity_model(moments).why
    'the micro-batch cost is off by 2.0 % on 5 moments before it learnt them, the utilisation regression by 15.0 % (15.0 % too high on average)'
    """
    if len(foretold) < FEWEST_COMPARED:
        return CapacityChoice(model=UTILIZATION, why=f"{len(foretold)} moments that both models foretold, {FEWEST_COMPARED} are needed to compare them")
    said = np.array([[each.by_batches_rows_per_s, each.by_utilization_rows_per_s] for each in foretold])
    relative = said / np.array([[each.came_rows_per_s] for each in foretold]) - 1.0
    errors = np.abs(relative)
    gain = errors[:, 1] - errors[:, 0]
    better = float(gain.mean()) > STANDARD_ERRORS * float(gain.std(ddof=1)) / np.sqrt(len(gain))
    means = errors.mean(axis=0)
    winner, loser = (0, 1) if better else (1, 0)
    names = (MICRO_BATCH, UTILIZATION)
    why = f"the {names[winner]} is off by {means[winner]:.1%} on {len(gain)} moments before it learnt them, the {names[loser]} by {means[loser]:.1%}"
    by_chance = not better and means[0] < means[1]
    why += ", which may be chance: the regression stays" if by_chance else _bias(relative[:, loser])
    return CapacityChoice(
        model=names[winner],
        why=why.replace("%", " %"),
        by_batches_error=float(means[0]),
        by_utilization_error=float(means[1]),
        compared=len(gain),
    )


def _bias(relative: Floats) -> str:
    """Names an error that mostly has one sign; noise has none."""
    mean = float(relative.mean())
    if abs(mean) < float(np.abs(relative).mean()) / 2:
        return ""
    return f" ({abs(mean):.1%} too {'high' if mean > 0 else 'low'} on average)"
