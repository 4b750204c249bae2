"""An ARIMA model that learns from each value and detects unexpected ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, sqrt
from typing import Self

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import NORMAL_REACH, Estimate, NotReady

LAGS = 10
"""Past changes that a value is regressed on; enough of them replace the moving-average part (Liu et al. 2016)."""
MEMORY = 1000
"""Values after which an old one counts 1/e: the training time of Khaos in seconds."""
WINDOW = 100
"""Past errors that the threshold is computed from."""
SIGMAS = 4.0
"""A value is unexpected if it is off by this many standard errors: by chance about once in four hours at one value a second."""
FEWEST_ERRORS = 20
RIDGE = 1e-6
"""Ridge of the regression as a share of the squares, for collinear past values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineArima:
    """The next value from the last ones: x = x_before + c + sum_i g_i * (past changes), the d-th differences in general (Liu et al. 2016, Khaos sec. III-C).

    Each value is a Newton step on the squared error, with its exact curvature, so no learning rate has to be chosen and the result has no scale.
    Values in `history` are those of a steady step, newest last; `ahead` of them, at the end, are expectations that stand for missing ones.
    """

    lags: int = LAGS
    differences: int = 1
    memory: int = MEMORY
    window: int = WINDOW
    sigmas: float = SIGMAS
    least: float = 0.0
    origin: float | None = None
    history: tuple[float, ...] = ()
    gram: tuple[tuple[float, ...], ...] = ()
    moment: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    ahead: int = 0
    shocks: tuple[float, ...] = (1.0,)
    spread: float = 1.0

    def learn(self, seen: Sequence[float | None]) -> Self:
        model = self
        for value in seen:
            model = model.without_value() if value is None else model._with_value(value)
        return model

    def predict(self) -> Estimate | NotReady:
        """Predict the next value; bounds widen with the number of missing last values."""
        expected, error = self.expected, self.error
        if expected is None or error is None:
            return NotReady(why=f"{len(self.errors)} of at least {FEWEST_ERRORS} values after the first {self.lags + self.differences}")
        return Estimate(value=expected, low=expected - NORMAL_REACH * error, high=expected + NORMAL_REACH * error)

    def unexpected(self, value: float) -> bool | None:
        """Return whether a value is too far from the predicted one, by the window of past errors; None before there are enough of them."""
        expected, error = self.expected, self.error
        if expected is None or error is None:
            return None
        return abs(value - expected) > max(self.least, self.sigmas * error)

    @property
    def expected(self) -> float | None:
        if self.origin is None or len(self.history) < self.lags + self.differences:
            return None
        weights = np.array(self.weights) if self.weights else np.zeros(self.lags + 1)
        return self.origin + float(weights @ self._regressors()) + self._carried()

    @property
    def error(self) -> float | None:
        """The usual error of the next expectation: root mean square over the window, grown by the steps since the last real value."""
        if len(self.errors) < FEWEST_ERRORS:
            return None
        return sqrt(sum(error**2 for error in self.errors) / len(self.errors) * self.spread)

    def without_value(self) -> Self:
        """Return the model with the expectation in place of a value that is missing or not credible; what follows is less certain."""
        expected = self.expected
        if expected is None or self.origin is None:
            return replace(self, history=())
        recursion = self._recursion()
        shock = sum(weight * past for weight, past in zip(recursion, reversed(self.shocks), strict=False))
        history = (*self.history, expected - self.origin)[-self.lags - self.differences :]
        shocks = (*self.shocks, shock)[-self.lags - self.differences :]
        return replace(self, history=history, ahead=self.ahead + 1, shocks=shocks, spread=self.spread + shock**2)

    def followed(self, value: float) -> Self:
        """Append a value to the history without learning from it."""
        origin = value if self.origin is None else self.origin
        history = (*self.history, value - origin)[-self.lags - self.differences :]
        return replace(self, origin=origin, history=history, ahead=0, shocks=(1.0,), spread=1.0)

    def resumed(self) -> Self:
        """Clear the history and keep the weights: the next value does not follow the last ones."""
        return replace(self, history=(), ahead=0, shocks=(1.0,), spread=1.0)

    def _with_value(self, value: float) -> Self:
        expected = self.expected
        if expected is None or self.origin is None:
            return self.followed(value)
        keep = 1 - 1 / self.memory
        regressors = self._regressors()
        change = value - self.origin - self._carried()
        size = self.lags + 1
        gram = keep * (np.array(self.gram) if self.gram else np.zeros((size, size))) + np.outer(regressors, regressors)
        moment = keep * (np.array(self.moment) if self.moment else np.zeros(size)) + regressors * change
        learnt = replace(
            self,
            gram=tuple(tuple(row) for row in gram.tolist()),
            moment=tuple(moment.tolist()),
            weights=tuple(solved(gram, moment).tolist()),
            errors=(*self.errors, (value - expected) / sqrt(self.spread))[-self.window :],
        )
        return learnt.followed(value)

    def _regressors(self) -> Floats:
        """Return 1 and the last differences, newest first."""
        changes = np.diff(np.array(self.history), n=self.differences)
        return np.concatenate([[1.0], changes[: -self.lags - 1 : -1]])

    def _carried(self) -> float:
        """Return the next value if its d-th difference were 0: the extrapolated polynomial through the last d values."""
        return sum((-1.0) ** (back + 1) * comb(self.differences, back) * self.history[-back] for back in range(1, self.differences + 1))

    def _recursion(self) -> list[float]:
        """Return the weights of past values on the next one: of the product of (1 - sum g_i B^i) and (1 - B)^d, with B the backshift."""
        weights = self.weights[1:] if self.weights else (0.0,) * self.lags
        polynomial = np.array([1.0, *(-weight for weight in weights)])
        for _ in range(self.differences):
            polynomial = np.convolve(polynomial, [1.0, -1.0])
        return [-float(weight) for weight in polynomial[1:]]


def solved(gram: Floats, moment: Floats) -> Floats:
    """Solve the normal equations of least squares, scaled to a unit diagonal, with a small ridge.

    >>> solved(np.array([[4.0, 0.0], [0.0, 1e8]]), np.array([8.0, 3e8])).round(3).tolist()
    [2.0, 3.0]
    """
    scale = np.sqrt(np.where(np.diag(gram) > 0, np.diag(gram), 1.0))
    return np.asarray(np.linalg.solve(gram / np.outer(scale, scale) + RIDGE * np.eye(len(scale)), moment / scale) / scale)
