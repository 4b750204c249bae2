"""One sinusoid of unknown period: a load that swings, seen for less than a period or for several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidate import Parameters

PERIODS = 40
"""Periods tried before the best is refined."""
SHORTEST_SHARE, LONGEST_SHARE = 1 / 6, 8.0
"""The shortest and longest period tried, in windows. A longer one looks like a parabola."""
REFINEMENTS = 3
LARGEST_REFINEMENT = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmonic:
    """y = c + a cos(w t) + b sin(w t): least squares for each period of a grid, then Gauss-Newton steps for w with a, b and c eliminated."""

    name: str = "harmonic"
    needs: int = 30

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        size = windows.shape[1]
        time, middle = np.arange(size) - (size - 1.0), windows.mean(axis=1, keepdims=True)
        rest = windows - middle
        slowest, fastest = 2 * np.pi / (LONGEST_SHARE * size), 2 * np.pi / (SHORTEST_SHARE * size)
        speed = _best_speed(rest, time, np.geomspace(slowest, fastest, PERIODS))
        for _ in range(REFINEMENTS):
            change = _newton_step(rest, time, speed)
            speed = np.clip(speed + np.clip(change, -LARGEST_REFINEMENT * speed, LARGEST_REFINEMENT * speed), slowest, fastest)
        weights = _fitted(_basis(speed, time), rest)
        ahead = _basis(speed, np.arange(1.0, horizon + 1))
        return np.asarray(middle + np.einsum("khi,ki->kh", ahead, weights))


def _basis(speed: Floats, time: Floats) -> Floats:
    """1, cos(w t), sin(w t): a matrix (times x 3) for each speed w."""
    angle = speed[:, None] * time
    return np.stack([np.ones_like(angle), np.cos(angle), np.sin(angle)], axis=2)


def _fitted(basis: Floats, values: Floats) -> Floats:
    """Least squares, a row of three weights for each row of values."""
    gram = np.einsum("kni,knj->kij", basis, basis) + 1e-9 * basis.shape[1] * np.eye(3)
    return np.asarray(np.linalg.solve(gram, np.einsum("kni,kn->ki", basis, values)[..., None])[..., 0])


def _best_speed(rest: Floats, time: Floats, speeds: Floats) -> Floats:
    """For each row the speed whose sinusoid explains the most of it."""
    spans = np.linalg.qr(_basis(speeds, time))[0]
    explained = np.square(np.einsum("kn,pni->pki", rest, spans)).sum(axis=2)
    return np.asarray(speeds[np.argmax(explained, axis=0)])


def _newton_step(rest: Floats, time: Floats, speed: Floats) -> Floats:
    """The change of w that the residual asks for, once a, b and c have followed."""
    basis = _basis(speed, time)
    weights = _fitted(basis, rest)
    residual = rest - np.einsum("kni,ki->kn", basis, weights)
    slope = time * (weights[:, 2:] * basis[:, :, 1] - weights[:, 1:2] * basis[:, :, 2])
    slope = slope - np.einsum("kni,ki->kn", basis, _fitted(basis, slope))
    square = np.square(slope).sum(axis=1)
    return np.asarray((slope * residual).sum(axis=1) / np.where(square > 0, square, 1.0))
