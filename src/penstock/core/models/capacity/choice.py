"""Which capacity model to believe: the cost of micro-batches or the regression on utilisation, by their errors on the same held-out readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.core.models.estimate import NotReady

MICRO_BATCH = "micro-batch cost"
UTILIZATION = "utilisation regression"
FEWEST_COMPARED = 5
"""Held-out readings below which errors decide nothing."""
STANDARD_ERRORS = 2.0
"""A mean difference of so many standard errors is more than chance."""

Pair = tuple[float | None, float]
"""What a model predicted (None while it was not ready) and what came."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model to use, why in words for people, and the mean relative errors that were compared (None where there was nothing to compare)."""

    model: str
    why: str
    micro_batch_error: float | None
    utilization_error: float | None
    compared: int


def choose_capacity_model(micro_batch: Sequence[Pair], utilization: Sequence[Pair], *, unidentified: NotReady | None = None) -> Choice:
    """The micro-batch cost where it errs less by more than chance, else the regression of the paper.

    Both sequences are about the same readings, in the same order: throughput, or any other positive quantity that both predict.
    `unidentified` is what the micro-batch cost says if it cannot tell its parameters apart ("batches of one size only").

    >>> truth = (100.0, 200.0, 300.0, 400.0, 500.0)
    >>> choice = choose_capacity_model([(1.02 * each, each) for each in truth], [(1.15 * each, each) for each in truth])
    >>> choice.model
    'micro-batch cost'
    >>> choice.why
    'the micro-batch cost is off by 2.0 % on 5 held-out readings, the utilisation regression by 15.0 % (15.0 % too high on average)'
    """
    predicted, truth = _aligned(micro_batch, utilization)
    if unidentified is not None:
        return Choice(model=UTILIZATION, why=f"no micro-batch cost: {unidentified.why}", micro_batch_error=None, utilization_error=None, compared=0)
    both = ~np.isnan(predicted).any(axis=0)
    if both.sum() < FEWEST_COMPARED:
        return _by_readiness(predicted)
    relative = predicted[:, both] / truth[both] - 1.0
    errors = np.abs(relative)
    gain = errors[1] - errors[0]
    better = float(gain.mean()) > STANDARD_ERRORS * float(gain.std(ddof=1)) / np.sqrt(len(gain))
    means = errors.mean(axis=1)
    winner, loser = (0, 1) if better else (1, 0)
    names = (MICRO_BATCH, UTILIZATION)
    verdict = f"the {names[winner]} is off by {means[winner]:.1%} on {len(gain)} held-out readings, the {names[loser]} by {means[loser]:.1%}"
    by_chance = not better and means[0] < means[1]
    verdict += ", which may be chance: the regression stays" if by_chance else _bias(relative[loser])
    return Choice(
        model=names[winner],
        why=verdict.replace("%", " %"),
        micro_batch_error=float(means[0]),
        utilization_error=float(means[1]),
        compared=len(gain),
    )


def _aligned(micro_batch: Sequence[Pair], utilization: Sequence[Pair]) -> tuple[Floats, Floats]:
    """Predictions of both models, NaN (inside here only) where one was not ready, and the truth."""
    if len(micro_batch) != len(utilization):
        raise ValueError(f"errors on different readings: {len(micro_batch)} of the {MICRO_BATCH}, {len(utilization)} of the {UTILIZATION}")
    truth = np.array([actual for _, actual in micro_batch], dtype=float)
    if not np.allclose(truth, [actual for _, actual in utilization]):
        raise ValueError("errors on different readings: what came is not the same for both models")
    if not (truth > 0).all():
        raise ValueError("relative errors need readings above 0")
    predicted = np.array([[np.nan if guess is None else guess for guess, _ in pairs] for pairs in (micro_batch, utilization)], dtype=float)
    return predicted, truth


def _by_readiness(predicted: Floats) -> Choice:
    ready = (~np.isnan(predicted)).sum(axis=1)
    model = MICRO_BATCH if ready[0] >= FEWEST_COMPARED > ready[1] else UTILIZATION
    why = f"too few held-out readings to compare: {ready[0]} of the {MICRO_BATCH}, {ready[1]} of the {UTILIZATION}, {FEWEST_COMPARED} of both are needed"
    return Choice(model=model, why=why, micro_batch_error=None, utilization_error=None, compared=0)


def _bias(relative: Floats) -> str:
    """Names an error that mostly has one sign; noise has none."""
    mean = float(relative.mean())
    if abs(mean) < float(np.abs(relative).mean()) / 2:
        return ""
    return f" ({abs(mean):.1%} too {'high' if mean > 0 else 'low'} on average)"
