"""Candidate forecasters whose parameters are fitted: AutoETS, a season on top of it, and AutoARIMA.

statsforecast finds the form and the parameters, which is slow and seldom done; they are then applied to all data that came since.
"""

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.candidates import Parameters
from penstock.core.models.forecast.series import varies


@dataclass(frozen=True, slots=True, kw_only=True)
class Ets:
    """Exponential smoothing of level l and slope b: e = y - l - phi b, l <- l + phi b + alpha e, b <- phi b + beta e, begun on the least-squares line.

    With an additive trend the point forecast is the same for additive and for multiplicative errors, so the kind of error is not kept.

    >>> Ets().paths({"alpha": 1.0, "beta": 0.0, "phi": 0.0}, np.array([[1.0, 2.0, 4.0]]), 2).tolist()
    [[4.0, 4.0]]
    """

    name: str = "autoets"
    needs: int = 30

    def applies(self, values: Floats) -> bool:
        return varies(values)

    def fit(self, values: Floats) -> Parameters:
        from statsforecast.models import AutoETS

        model = AutoETS(season_length=1, model="ZZN").fit(np.asarray(values, dtype=float)).model_
        alpha, beta, _, phi = (float(value) if np.isfinite(value) else None for value in model["par"][:4])
        trend = model["components"][1] != "N"
        return {"alpha": alpha or 0.0, "beta": (beta or 0.0) if trend else 0.0, "phi": (phi or 1.0) if trend else 0.0}

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        alpha, beta, phi = parameters["alpha"], parameters["beta"], parameters["phi"]
        time = np.arange(windows.shape[1]) - (windows.shape[1] - 1) / 2
        slope = windows @ time / (time @ time) if phi > 0 else np.zeros(len(windows))
        level = windows.mean(axis=1) + slope * (time[0] - 1)
        for values in windows.T:
            error = values - level - phi * slope
            level, slope = level + phi * slope + alpha * error, phi * slope + beta * error
        return np.asarray(level[:, None] + slope[:, None] * np.cumsum(phi ** np.arange(1, horizon + 1)))


SHORTEST = 6
"""The shortest season in steps: faster repetition is noise to a forecast of minutes."""
PERIODS_SEEN = 2
CORRELATION = 0.5
"""A season explains at least half of the detrended history."""


def season_of(values: Floats) -> int | None:
    """Return the period in steps; None without one that was seen at least twice.

    It is the smallest lag whose peak of the detrended autocorrelation is almost the highest: two periods correlate as well as one.

    >>> season_of(np.sin(np.arange(200) * 2 * np.pi / 40))
    40
    >>> season_of(np.arange(200.0)) is None
    True
    """
    longest = len(values) // PERIODS_SEEN
    if longest <= SHORTEST:
        return None
    time = np.arange(len(values)) - (len(values) - 1) / 2
    rest = values - values.mean() - time * (time @ values) / (time @ time)
    if np.abs(rest).max() <= 1e-9 * np.abs(values).max():
        return None
    correlation = np.array([_correlation(rest[: len(rest) - lag], rest[lag:]) for lag in range(longest + 2)])
    inner = correlation[1:-1]
    peaks = 1 + np.flatnonzero((inner >= correlation[:-2]) & (inner >= correlation[2:]))
    valley = int(np.argmax(correlation < 0)) or longest
    peaks = peaks[(peaks >= SHORTEST) & (peaks > valley)]
    if not len(peaks) or correlation[peaks].max() < CORRELATION:
        return None
    return int(peaks[correlation[peaks] >= 0.9 * correlation[peaks].max()][0])


def _correlation(first: Floats, second: Floats) -> float:
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / scale if scale > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seasonal:
    """Classical additive decomposition: the average of each phase over whole periods, and exponential smoothing of the rest."""

    name: str = "seasonal"
    needs: int = 30

    def applies(self, values: Floats) -> bool:
        return season_of(values) is not None

    def fit(self, values: Floats) -> Parameters:
        period = season_of(values)
        assert period is not None
        rest = (values[None, :] - _profile(values[None, :], period)[:, _phases(len(values), period)])[0]
        return {"period": float(period), **(Ets().fit(rest) if varies(rest) else {"alpha": 1.0, "beta": 0.0, "phi": 0.0})}

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        period = int(parameters["period"])
        if windows.shape[1] < period:
            return np.repeat(windows[:, -1:], horizon, axis=1)
        profile = _profile(windows, period)
        rest = windows - profile[:, _phases(windows.shape[1], period)]
        return np.asarray(Ets().paths(parameters, rest, horizon) + profile[:, np.arange(horizon) % period])


def _phases(size: int, period: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the phase of each value; the one after the last has phase 0."""
    return np.asarray((np.arange(size) - size) % period)


def _profile(windows: Floats, period: int) -> Floats:
    """Return the seasonal component of each phase, averaged over the last whole periods, around the line through them."""
    cycles = windows.shape[1] // period
    last = windows[:, windows.shape[1] - cycles * period :]
    time = np.arange(last.shape[1]) - (last.shape[1] - 1) / 2
    means = last.reshape(len(last), cycles, period).mean(axis=2)
    middles = time.reshape(cycles, period).mean(axis=1)
    slope = means @ middles / (middles @ middles) if cycles > 1 else np.zeros(len(last))
    flat = last - means.mean(axis=1, keepdims=True) - slope[:, None] * time
    return np.asarray(flat.reshape(len(last), cycles, period).mean(axis=1))


MOST_VALUES = 120
"""Longer histories are averaged to at most this many values: the search for an order is slow, and minutes ahead do not need every step."""
LARGEST_ROOT = 0.98
"""Largest root of the moving average: nearer to one, the unknown errors before the window never fade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arima:
    """AutoARIMA (Daedalus sec. 3.3): phi(B) ((1 - B)^d y - mean) = theta(B) e on at most MOST_VALUES averages; errors before the window are zero."""

    name: str = "autoarima"
    needs: int = 40

    def applies(self, values: Floats) -> bool:
        return varies(values)

    def fit(self, values: Floats) -> Parameters:
        from statsforecast.models import AutoARIMA

        steps = -(-len(values) // MOST_VALUES)
        model = AutoARIMA(season_length=1).fit(_coarse(values[None, :], steps)[0]).model_
        found = {name: float(value) for name, value in model["coef"].items()}
        mean = found.pop("intercept", 0.0) + found.pop("drift", 0.0)
        averaging = _invertible(_numbered(found, "ma"))
        found.update({f"ma{number}": float(value) for number, value in enumerate(averaging, 1)})
        return {"steps": float(steps), "d": float(model["arma"][5]), "mean": mean, **found}

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        from scipy.signal import lfilter

        steps, times = int(parameters["steps"]), int(parameters["d"])
        coarse = _coarse(windows, steps)
        rest = np.diff(coarse, n=times, axis=1) - parameters["mean"]
        ar, ma = _numbered(parameters, "ar"), _numbered(parameters, "ma")
        errors = lfilter(np.r_[1.0, -ar], np.r_[1.0, ma], rest, axis=1)
        path = _continued(rest, errors, ar, ma, -(-horizon // steps) + 1) + parameters["mean"]
        for order in reversed(range(times)):
            path = np.diff(coarse[:, -times:], n=order, axis=1)[:, -1:] + np.cumsum(path, axis=1)
        return _fine(np.concatenate([coarse[:, -1:], path], axis=1), steps, horizon)


def _coarse(windows: Floats, steps: int) -> Floats:
    """Return averages over `steps` steps each; the last one ends with the window."""
    count = windows.shape[1] // steps
    return np.asarray(windows[:, windows.shape[1] - count * steps :].reshape(len(windows), count, steps).mean(axis=2))


def _fine(path: Floats, steps: int, horizon: int) -> Floats:
    """Interpolate a coarse path, whose first value ends at step zero, to single steps."""
    middles = (np.arange(path.shape[1]) - 0.5) * steps
    ahead = np.arange(horizon) + 0.5
    return np.stack([np.interp(ahead, middles, row) for row in path])


def _numbered(parameters: Parameters, prefix: str) -> Floats:
    """Return the coefficients prefix1, prefix2, ... in order."""
    count = sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in parameters)
    return np.array([parameters[f"{prefix}{number + 1}"] for number in range(count)])


def _invertible(ma: Floats) -> Floats:
    """Return the equivalent moving average with its roots inside the unit circle.

    >>> _invertible(np.array([-2.0])).tolist()
    [-0.5]
    """
    if not len(ma):
        return ma
    roots = np.roots(np.r_[1.0, ma])
    size = np.abs(roots)
    inside = np.where(size > 1, roots / np.square(size), roots)
    inside = inside * np.minimum(1.0, LARGEST_ROOT / np.maximum(np.abs(inside), 1e-12))
    return np.asarray(np.real(np.poly(inside))[1:])


def _continued(rest: Floats, errors: Floats, ar: Floats, ma: Floats, horizon: int) -> Floats:
    """Return the expected values of the ARMA process: future errors are zero."""
    size = max(len(ar), len(ma), 1)
    values = np.concatenate([rest[:, -size:], np.zeros((len(rest), horizon))], axis=1)
    shocks = np.concatenate([errors[:, -size:], np.zeros((len(rest), horizon))], axis=1)
    for now in range(size, size + horizon):
        values[:, now] = values[:, now - len(ar) : now] @ ar[::-1] + shocks[:, now - len(ma) : now] @ ma[::-1]
    return values[:, size:]
