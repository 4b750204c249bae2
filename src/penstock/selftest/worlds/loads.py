"""Generated loads of six hours as streaming jobs have them; none matches the assumptions of one forecaster."""

import zlib
from collections.abc import Callable

import numpy as np

from penstock.core.models.arrays import Floats

SECONDS = 6 * 3600
HOUR_S = 900.0
"""An hour of a day that is compressed into six hours."""


def _sine(t: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(1 + 0.6 * np.sin(2 * np.pi * t / rng.uniform(7000, 12000) + rng.uniform(0, 6)))


def _day(t: Floats, rng: np.random.Generator) -> Floats:
    """Part of a day with a random walk."""
    return np.asarray(1.2 + np.sin(2 * np.pi * t / 43200 + rng.uniform(0, 6)) + 0.45 * np.cumsum(rng.normal(0, 1, len(t))) / np.sqrt(len(t)))


def _spikes(t: Floats, rng: np.random.Generator) -> Floats:
    base = np.full(len(t), 1.0)
    for at in rng.uniform(0, SECONDS, 6):
        base += rng.uniform(0.5, 2) * np.exp(-(((t - at) / rng.uniform(300, 900)) ** 2))
    return base


def _ramps(t: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(np.interp(t, np.linspace(0, SECONDS, 13), rng.uniform(0.5, 2, 13)))


def _steps(t: Floats, rng: np.random.Generator) -> Floats:
    """Levels that hold for half an hour on average."""
    jumps = np.sort(rng.uniform(0, SECONDS, 12))
    return np.asarray(rng.uniform(0.5, 2, 13)[np.searchsorted(jumps, t)])


def _commute(t: Floats, rng: np.random.Generator) -> Floats:
    """Vehicles in a compressed day: a quiet night, two rush hours with steep flanks, and noise."""
    rush = np.full(len(t), 0.3)
    for begins, lasts in ((rng.uniform(5, 7), rng.uniform(1, 3)), (rng.uniform(14, 17), rng.uniform(2, 5))):
        rise, fall = rng.uniform(100, 500, 2)
        rush += rng.uniform(0.8, 2) / (1 + np.exp(-(t - begins * HOUR_S) / rise)) / (1 + np.exp((t - (begins + lasts) * HOUR_S) / fall))
    return np.asarray(rush * np.exp(0.06 * _wobble(rng, len(t), rng.uniform(200, 600))))


def _taxi(t: Floats, rng: np.random.Generator) -> Floats:
    """Taxi rides of one to three compressed days: few before dawn, more in the morning, most in the evening."""
    days = int(rng.integers(1, 4))
    hour = (t * 24 * days / SECONDS + rng.uniform(0, 24)) % 24
    shape = 1 - 0.55 * np.exp(-(((hour - 4.5) / 2.6) ** 2)) + 0.2 * np.exp(-(((hour - 8.5) / 1.5) ** 2)) + 0.4 * np.exp(-(((hour - 19) / 2.5) ** 2))
    return np.asarray(shape * np.exp(0.08 * _wobble(rng, len(t), 0.5 * SECONDS / 24)))


def _clicks(t: Floats, rng: np.random.Generator) -> Floats:
    """Hourly clicks of a compressed day, linearly interpolated."""
    knots = np.arange(0, SECONDS + 2 * HOUR_S, HOUR_S)
    shape = 1 + 0.5 * np.sin(2 * np.pi * knots / SECONDS + rng.uniform(0, 6))
    return np.asarray(np.interp(t, knots, shape * np.exp(rng.normal(0, 0.15, len(knots)))))


def _wander(t: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(np.exp(0.2 * _wobble(rng, len(t), rng.uniform(100, 500), smooth=False)))


def _bursts(t: Floats, rng: np.random.Generator) -> Floats:
    """Periodic deliveries from upstream every 10 to 25 minutes."""
    period, share = rng.uniform(600, 1500), rng.uniform(0.1, 0.4)
    return np.asarray(1 + 0.2 * np.sin(2 * np.pi * t / SECONDS) + rng.uniform(0.3, 1) * ((t / period + rng.uniform()) % 1 < share))


def _wobble(rng: np.random.Generator, size: int, lasts_s: float, smooth: bool = True) -> Floats:
    """Return a stationary process of variance 1 with a time constant of `lasts_s`; `smooth` filters it twice."""
    from scipy.signal import lfilter

    keep = np.exp(-1 / lasts_s)
    shocks = rng.normal(0, 1, size + int(10 * lasts_s))
    for _ in range(2 if smooth else 1):
        shocks = lfilter([1 - keep], [1, -keep], shocks)
    settled = shocks[int(10 * lasts_s) :]
    expected = (1 - keep) ** 4 * (1 + keep**2) / (1 - keep**2) ** 3 if smooth else (1 - keep) ** 2 / (1 - keep**2)
    return np.asarray(settled / np.sqrt(expected))


LOADS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "sine": _sine, "day": _day, "spikes": _spikes, "ramps": _ramps, "steps": _steps, "commute": _commute,
    "taxi": _taxi, "clicks": _clicks, "wander": _wander, "bursts": _bursts,
}  # fmt: skip


def load(name: str, seed: int) -> tuple[Floats, Floats]:
    """Return seconds and rows/s, with noise of 0.1 to 5 % over some seconds, 1 % of samples missing, and one gap of two minutes."""
    rng = np.random.default_rng((seed, zlib.crc32(name.encode())))
    t = np.arange(SECONDS, dtype=np.float64)
    rate = LOADS[name](t, rng)
    noise = np.convolve(rng.normal(0, 10 ** rng.uniform(-3, -1.3) * np.sqrt(5), SECONDS + 4), np.ones(5) / 5, mode="valid")
    silent = rng.uniform(0, SECONDS)
    seen = (rng.uniform(size=SECONDS) > 0.01) & ((t < silent) | (t > silent + 120))
    return t[seen], np.maximum(0.0, 30_000 * rate * (1 + noise))[seen]
