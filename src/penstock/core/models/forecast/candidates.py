"""Candidate forecasters: what each of them can do, and those that need no fit (level, line, harmonic)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from penstock.core.models.arrays import Floats

Parameters = dict[str, float]
"""Fitted parameters by name; empty for a candidate that has none."""


class Candidate(Protocol):
    """A forecaster that continues many series at once."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> int:
        """The fewest values it can continue."""
        ...

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        """Return the next `horizon` values after each row of `windows`, a row each."""
        ...


class Learner(Candidate, Protocol):
    """A candidate with parameters, which are slow to fit and quick to apply."""

    def applies(self, values: Floats) -> bool:
        """Return whether the model suits this history; quick."""
        ...

    def fit(self, values: Floats) -> Parameters:
        """Return the parameters for a history to which it applies."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """The average of the last `window` values, held; with a window of one, the naive forecast.

    >>> Level(window=2).paths({}, np.array([[1.0, 2.0, 4.0]]), 2).tolist()
    [[3.0, 3.0]]
    """

    window: int = 1

    @property
    def name(self) -> str:
        return "naive" if self.window == 1 else f"level-{self.window}"

    @property
    def needs(self) -> int:
        return self.window

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        return np.repeat(windows[:, -self.window :].mean(axis=1, keepdims=True), horizon, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The least-squares line through the last `window` values, continued (the fallback of Daedalus sec. 3.3).

    With a time constant f (`fading`, in steps) the slope b fades (damped trend, Gardner and McKenzie 1985): after h steps it has added b f (1 - exp(-h / f)).

    >>> Line(window=3).paths({}, np.array([[0.0, 2.0, 4.0]]), 2).round(9).tolist()
    [[6.0, 8.0]]
    >>> Line(window=3, fading=1.0).paths({}, np.array([[0.0, 2.0, 4.0]]), 1).round(3).tolist()
    [[5.264]]
    """

    window: int
    fading: float | None = None

    @property
    def name(self) -> str:
        return f"line-{self.window}" if self.fading is None else f"line-{self.window}-fading-{self.fading:g}"

    @property
    def needs(self) -> int:
        return self.window

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        last = windows[:, -self.window :]
        time = np.arange(self.window) - (self.window - 1) / 2
        slope = last @ time / (time @ time)
        level = last.mean(axis=1) + slope * time[-1]
        ahead = np.arange(1, horizon + 1)
        reach = ahead if self.fading is None else self.fading * -np.expm1(-ahead / self.fading)
        return np.asarray(level[:, None] + slope[:, None] * reach)


PERIODS = 40
"""Periods tried before the best is refined."""
SHORTEST_SHARE, LONGEST_SHARE = 1 / 6, 8.0
"""The shortest and longest period tried, in windows. A longer one looks like a parabola."""
REFINEMENTS = 3
LARGEST_REFINEMENT = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmonic:
    """One sinusoid of unknown period, y = c + a cos(w t) + b sin(w t).

    Least squares for each period of a grid, then Gauss-Newton steps for w with a, b and c eliminated.
    """

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
    """Return 1, cos(w t), sin(w t) as a matrix (times x 3) for each speed w."""
    angle = speed[:, None] * time
    return np.stack([np.ones_like(angle), np.cos(angle), np.sin(angle)], axis=2)


def _fitted(basis: Floats, values: Floats) -> Floats:
    """Return the least-squares weights, three for each row of values."""
    gram = np.einsum("kni,knj->kij", basis, basis) + 1e-9 * basis.shape[1] * np.eye(3)
    return np.asarray(np.linalg.solve(gram, np.einsum("kni,kn->ki", basis, values)[..., None])[..., 0])


def _best_speed(rest: Floats, time: Floats, speeds: Floats) -> Floats:
    """Return for each row the speed whose sinusoid explains most of it."""
    spans = np.linalg.qr(_basis(speeds, time))[0]
    explained = np.square(np.einsum("kn,pni->pki", rest, spans)).sum(axis=2)
    return np.asarray(speeds[np.argmax(explained, axis=0)])


def _newton_step(rest: Floats, time: Floats, speed: Floats) -> Floats:
    """Return the Gauss-Newton change of w, with a, b and c eliminated."""
    basis = _basis(speed, time)
    weights = _fitted(basis, rest)
    residual = rest - np.einsum("kni,ki->kn", basis, weights)
    slope = time * (weights[:, 2:] * basis[:, :, 1] - weights[:, 1:2] * basis[:, :, 2])
    slope = slope - np.einsum("kni,ki->kn", basis, _fitted(basis, slope))
    square = np.square(slope).sum(axis=1)
    return np.asarray((slope * residual).sum(axis=1) / np.where(square > 0, square, 1.0))
