"""Loads of six hours as streaming jobs meet them: none is one that a forecaster was made for."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
SECONDS = 6 * 3600


def _sine(t: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(1 + 0.6 * np.sin(2 * np.pi * t / rng.uniform(7000, 12000) + rng.uniform(0, 6)))


def _day(t: Floats, rng: np.random.Generator) -> Floats:
    """Part of a day, with a wobble of its own."""
    return np.asarray(1.2 + np.sin(2 * np.pi * t / 43200 + rng.uniform(0, 6)) + 0.45 * np.cumsum(rng.normal(0, 1, len(t))) / np.sqrt(len(t)))


def _spikes(t: Floats, rng: np.random.Generator) -> Floats:
    base = np.full(len(t), 1.0)
    for at in rng.uniform(0, SECONDS, 6):
        base += rng.uniform(0.5, 2) * np.exp(-(((t - at) / rng.uniform(300, 900)) ** 2))
    return base


def _steps(t: Floats, rng: np.random.Generator) -> Floats:
    levels = rng.uniform(0.5, 2, 13)
    return np.asarray(np.interp(t, np.linspace(0, SECONDS, 13), levels))


LOADS: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {"sine": _sine, "day": _day, "spikes": _spikes, "ramps": _steps}


def load(name: str, seed: int) -> tuple[Floats, Floats]:
    """Seconds and rows/s, with noise of 3 % that lasts for some seconds."""
    rng = np.random.default_rng((seed, zlib.crc32(name.encode())))
    t = np.arange(SECONDS, dtype=np.float64)
    noise = np.convolve(rng.normal(0, 0.03 * np.sqrt(5), SECONDS + 4), np.ones(5) / 5, mode="valid")
    return t, np.maximum(0.0, 30_000 * LOADS[name](t, rng) * (1 + noise))
