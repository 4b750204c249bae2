"""Forms that are a sum of non-negative parts: given their shape, amounts come from robust least squares; the shape is searched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from penstock.core.models.arrays import Flags, Floats

NOISE = 0.1
"""The relative error that is ordinary, as believed before any row; more is never believed, so that outliers stay outliers."""
NOISE_WEIGHT = 2.0
"""That belief counts as much as so many rows more than there are parameters."""
LEAST_NOISE = 0.03
"""No measurement is taken to be better than this: no form is."""


def ordinary_error(errors: Floats, parameters: int) -> float:
    """The standard deviation of relative errors, by their median, which outliers do not move; a fit to as many parameters as rows tells nothing of it.

    >>> ordinary_error(np.zeros(4), parameters=4), ordinary_error(np.zeros(100), parameters=4)
    (0.1, 0.03)
    >>> round(ordinary_error(np.array([0.03, 0.04, 0.05, 3.0] * 100), parameters=3), 3)
    0.067
    """
    spare = max(len(errors) - parameters, 0)
    by_rows = 1.4826 * float(np.median(np.abs(errors))) * math.sqrt(len(errors) / max(spare, 1))
    return min(max(math.sqrt((NOISE_WEIGHT * NOISE**2 + spare * by_rows**2) / (NOISE_WEIGHT + spare)), LEAST_NOISE), NOISE)


FINEST = 1 / 32
"""The search ends when its steps are this share of the distance between the values that were tried first."""

MOST_ROUNDS = 16

SETTLED = 0.05
"""The noise has been found when it changes by less than this share of it; steps do not halve before, as beliefs may yet give way."""

WEIGHT_ROUNDS = 5
"""Rounds in which rows find their weights where there is no shape to search."""

RIDGE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Prior belief about one amount: near `centre`, with standard deviation `width`, and contributing at most about `share` of the value of any row."""

    centre: float = 0.0
    width: float = math.inf
    share: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A number of the shape: so many values to try first from the lowest to the highest, and what is thought of it before any row."""

    lowest: float
    highest: float
    values: int
    centre: float = 0.0
    width: float = math.inf

    @property
    def step(self) -> float:
        return (self.highest - self.lowest) / (self.values - 1)


def fit_parts(columns: Callable[[Floats], Floats], seen: Floats, priors: Sequence[Prior], axes: Sequence[Axis] = ()) -> tuple[Floats, Floats]:
    """The shape and the amounts with the least robust squared relative error: `columns` gives rows by parts for each of a stack of shapes.

    All shapes of a grid are tried at once, then those around the best in steps that halve whenever it stays the best; rows are weighted anew each time.
    Errors beyond the ordinary count linearly, so that one row of three times the size does not bend the fit; what is ordinary is found from the rows too,
    and the less it is the less is left to what was thought before.

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
        design = _with_beliefs(columns(shapes) / seen[:, None], noise / widths, noise / shares)
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


def _with_beliefs(scaled: Floats, by_width: Floats, by_share: Floats) -> Floats:
    """For each shape a row more for each amount: what is thought of it counts as a measurement does, linearly where it is far off."""
    strength = by_width + by_share * scaled.max(axis=1)
    return np.concatenate([scaled, strength[:, None, :] * np.eye(scaled.shape[2])], axis=1)


def _surprise(away: Floats) -> Floats:
    """What shapes cost that are so many widths away from what was thought: squares, and linearly beyond one."""
    size = np.abs(away)
    return np.asarray(np.where(size <= 1, size**2, 2 * size - 1).sum(axis=1))


def _amounts(design: Floats, target: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """For each shape the amounts by weighted least squares, and what they cost in squares of relative errors."""
    largest = design.max(axis=1)
    largest = np.where(largest > 0, largest, 1.0)
    scaled = design / largest[:, None, :]
    weighted = scaled * weights[:, None]
    aim = target @ weighted
    amounts = nonnegative(weighted.swapaxes(1, 2) @ scaled + RIDGE * np.eye(design.shape[2]), aim)
    return amounts / largest, weights @ target**2 - (amounts * aim).sum(axis=1)


def nonnegative(gram: Floats, aim: Floats) -> Floats:
    """For each of a stack of problems the x of at least zero with the least x'Gx - 2a'x: the best of those in which some are zero and the rest are free.

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
    """Every step from where one is, staying first."""
    return np.array(sorted(product((-1.0, 0.0, 1.0), repeat=axes), key=lambda step: sum(map(abs, step))))
