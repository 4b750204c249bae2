"""Forms that are a sum of non-negative parts: given their shape, amounts come from robust least squares; the shape is searched."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import SIGMA_PER_MAD

NOISE = 0.1
"""Prior of the ordinary relative error, and its upper limit, so that outliers stay outliers."""
NOISE_WEIGHT = 2.0
"""How many rows beyond the number of parameters the prior is worth."""
LEAST_NOISE = 0.03
"""The least ordinary error: no form is more exact."""


def ordinary_error(errors: Floats, parameters: int) -> float:
    """Return the robust standard deviation of relative errors (by their median), shrunk to the prior where rows are hardly more than parameters.

    >>> ordinary_error(np.zeros(4), parameters=4), ordinary_error(np.zeros(100), parameters=4)
    (0.1, 0.03)
    >>> round(ordinary_error(np.array([0.03, 0.04, 0.05, 3.0] * 100), parameters=3), 3)
    0.067
    """
    spare = max(len(errors) - parameters, 0)
    by_rows = SIGMA_PER_MAD * float(np.median(np.abs(errors))) * math.sqrt(len(errors) / max(spare, 1))
    return min(max(math.sqrt((NOISE_WEIGHT * NOISE**2 + spare * by_rows**2) / (NOISE_WEIGHT + spare)), LEAST_NOISE), NOISE)


FINEST = 1 / 32
"""The search ends when its steps are this share of those of the first grid."""

MOST_ROUNDS = 16

SETTLED = 0.05
"""The noise has converged when it changes by less than this share; steps do not halve before, as the weight of the priors may still change."""

WEIGHT_ROUNDS = 5
"""Rounds of reweighting where there is no shape to search."""

RIDGE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Prior of one amount: near `centre`, with standard deviation `width`, and contributing at most about `share` of the value of any row."""

    centre: float = 0.0
    width: float = math.inf
    share: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A parameter of the shape: the grid of `values` from the lowest to the highest, and a prior."""

    lowest: float
    highest: float
    values: int
    centre: float = 0.0
    width: float = math.inf

    @property
    def step(self) -> float:
        return (self.highest - self.lowest) / (self.values - 1)


def fit_parts(columns: Callable[[Floats], Floats], seen: Floats, priors: Sequence[Prior], axes: Sequence[Axis] = ()) -> tuple[Floats, Floats]:
    """Return the shape and the amounts with the least robust squared relative error; `columns` returns rows by parts for each of a stack of shapes.

    All shapes of a grid are tried at once, then those around the best, in steps that halve whenever the best stays. Rows are reweighted in each round:
    errors beyond the ordinary count linearly, so that one row of three times the size does not bend the fit. The ordinary error is estimated from the rows;
    the smaller it is, the less the priors weigh.

    >>> rate = np.array([1.0, 2.0, 3.0, 4.0])
    >>> pole = lambda shapes: np.stack([np.ones((len(shapes), 4)), rate / (shapes[:, :1] - rate)], axis=-1)
    >>> shape, amounts = fit_parts(pole, 2 + 3 * rate / (6 - rate), [Prior(), Prior()], [Axis(lowest=5.0, highest=9.0, values=5)])
    >>> shape.round(2).tolist(), amounts.round(2).tolist()
    ([6.0], [2.0, 3.0])
    """
    lowest, highest, steps, centre, width = (np.array([getattr(axis, name) for axis in axes]) for name in ("lowest", "highest", "step", "centre", "width"))
    expected, widths, shares = (np.array([getattr(prior, name) for prior in priors]) for name in ("centre", "width", "share"))
    finest, around, rows = FINEST * steps, _offsets(len(axes)), len(seen)
    noise, weights = NOISE, np.ones(rows + len(priors))
    shapes = np.array(list(product(*(np.linspace(axis.lowest, axis.highest, axis.values) for axis in axes))))
    for number in range(MOST_ROUNDS if axes else WEIGHT_ROUNDS):
        target = np.concatenate([np.ones(rows), noise / widths * expected])
        design = _with_priors(columns(shapes) / seen[:, None], noise / widths, noise / shares)
        amounts, costs = _amounts(design, target, weights)
        best = int(np.argmin(costs / noise**2 + _surprise((shapes - centre) / width)))
        shape, found = shapes[best], amounts[best]
        errors = np.abs(design[best] @ found - target)
        before, noise = noise, ordinary_error(errors[:rows], parameters=len(priors) + len(axes))
        weights = 1.0 / np.maximum(np.concatenate([errors[:rows] / noise, errors[rows:] / before]), 1.0)
        settled = abs(noise - before) <= SETTLED * before
        if axes and number and best == 0 and settled and np.all(steps <= finest):
            break
        steps = steps / 2 if number == 0 or (best == 0 and settled and np.any(steps > finest)) else steps
        shapes = np.clip(shape + steps * around, lowest, highest)
    return shape, found


def _with_priors(scaled: Floats, by_width: Floats, by_share: Floats) -> Floats:
    """Append a row for the prior of each amount, which counts like a measurement."""
    strength = by_width + by_share * scaled.max(axis=1)
    return np.concatenate([scaled, strength[:, None, :] * np.eye(scaled.shape[2])], axis=1)


def _surprise(away: Floats) -> Floats:
    """Return the cost of shapes this many widths away from their prior: quadratic, and linear beyond one."""
    size = np.abs(away)
    return np.asarray(np.where(size <= 1, size**2, 2 * size - 1).sum(axis=1))


def _amounts(design: Floats, target: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return for each shape the amounts by weighted least squares, and their squared relative error."""
    largest = design.max(axis=1)
    largest = np.where(largest > 0, largest, 1.0)
    scaled = design / largest[:, None, :]
    weighted = scaled * weights[:, None]
    aim = target @ weighted
    amounts = nonnegative(weighted.swapaxes(1, 2) @ scaled + RIDGE * np.eye(design.shape[2]), aim)
    return amounts / largest, weights @ target**2 - (amounts * aim).sum(axis=1)


def nonnegative(gram: Floats, aim: Floats) -> Floats:
    """Return the x >= 0 with the least x'Gx - 2a'x for each of a stack of problems, by trying every set of zeros.

    >>> nonnegative(np.array([[[2.0, 1.0], [1.0, 2.0]]]), np.array([[3.0, -1.0]])).tolist() == [[1.5, 0.0]]
    True
    """
    answers = np.linalg.solve(gram, aim[..., None])[..., 0]
    if np.all(answers >= 0):
        return np.asarray(answers)
    free = _subsets(aim.shape[1])[:, None, :]
    kept = gram * (free[..., :, None] & free[..., None, :]) + np.eye(aim.shape[1]) * ~free[..., None]
    answers = np.linalg.solve(kept, (aim * free)[..., None])[..., 0]
    gains = np.where(np.all(answers >= 0, axis=-1), (answers * aim).sum(axis=-1), -np.inf)
    return np.asarray(answers[np.argmax(gains, axis=0), np.arange(len(aim))])


@lru_cache(maxsize=8)
def _subsets(of: int) -> Flags:
    return np.array(list(product((False, True), repeat=of)))


@lru_cache(maxsize=8)
def _offsets(axes: int) -> Floats:
    """Return all steps of -1, 0 or 1 along the axes; staying comes first."""
    return np.array(sorted(product((-1.0, 0.0, 1.0), repeat=axes), key=lambda step: sum(map(abs, step))))
