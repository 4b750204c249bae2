"""Loads that stand for the six hours of the papers' workloads: generated from a seed, and scaled to a given peak."""

from collections.abc import Callable, Mapping
from zlib import crc32

import numpy as np

from penstock.core.errors import UserMistake
from penstock.core.models.arrays import Floats
from penstock.core.models.recovery.arrivals import Arrivals

SIX_HOURS_S = 21_600.0
STEP_S = 10.0

Chance = np.random.Generator
Curve = Callable[[Floats, Chance], Floats]
"""Return rates of any scale at these shares of the run, from 0 to 1."""


def two_sines(share: Floats, chance: Chance) -> Floats:
    """Return a sine of two periods, as Daedalus's WordCount has it."""
    return np.asarray(1.0 + 0.83 * np.sin(4 * np.pi * share + chance.uniform(-0.3, 0.3)))


def noisy_sine(share: Floats, chance: Chance) -> Floats:
    """Return a sine of two periods with 10 % noise, as Phoebe's advertising job has it."""
    return np.asarray(two_sines(share, chance) * (1.0 + 0.1 * chance.normal(size=len(share)).clip(-2.0, 2.0)))


def clicks(share: Floats, chance: Chance) -> Floats:
    """Return a day of clicks on advertisements: a quiet night, a broad noon and a steep evening peak."""
    day = 0.12 + bump(share, 0.45, 0.2, 0.45 * chance.uniform(0.9, 1.1)) + bump(share, chance.uniform(0.74, 0.8), 0.055, 0.75)
    return wandering(day, chance, spread=0.05)


def two_spikes(share: Floats, chance: Chance) -> Floats:
    """Return the traffic of a city: two rush hours that rise steeply, and little between them."""
    first, second = chance.uniform(0.28, 0.33), chance.uniform(0.72, 0.78)
    return wandering(0.03 + bump(share, first, 0.03, 0.65) + bump(share, 0.52, 0.1, 0.18) + bump(share, second, 0.055, 0.9), chance, spread=0.04)


def vehicles(share: Floats, chance: Chance) -> Floats:
    """Return the vehicles on the roads over a day: never few, and two rush hours."""
    first, second = chance.uniform(0.28, 0.32), chance.uniform(0.72, 0.76)
    return wandering(0.3 + bump(share, first, 0.03, 0.5) + bump(share, 0.55, 0.12, 0.15) + bump(share, second, 0.06, 0.65), chance, spread=0.03)


CURVES: Mapping[str, Curve] = {"two_sines": two_sines, "noisy_sine": noisy_sine, "clicks": clicks, "two_spikes": two_spikes, "vehicles": vehicles}


def bump(share: Floats, at: float, width: float, height: float) -> Floats:
    return np.asarray(height * np.exp(-(((share - at) / width) ** 2) / 2))


def wandering(curve: Floats, chance: Chance, spread: float) -> Floats:
    """Return a curve times noise that lasts for a few minutes."""
    steps = chance.normal(size=len(curve) + 60)
    smooth = np.convolve(steps, np.ones(30) / np.sqrt(30.0), mode="valid")[: len(curve)]
    return np.asarray(curve * np.exp(spread * smooth))


def load_of(name: str, peak_rows_per_s: float, seed: int = 0, lasts_s: float = SIX_HOURS_S) -> Arrivals:
    """Return the arrivals of a load, whose highest rate is the peak.

    >>> two = load_of("two_sines", 60_000.0)
    >>> two.lasts_s, round(max(two.rate_rows_per_s))
    (21600.0, 60000)
    """
    if name not in CURVES:
        raise UserMistake(f'load: found "{name}", {", ".join(CURVES)} are known')
    time_s = np.arange(0.0, lasts_s + STEP_S, STEP_S)
    curve = np.maximum(0.0, CURVES[name](time_s / lasts_s, np.random.default_rng((seed, crc32(name.encode())))))
    return Arrivals.through(time_s, peak_rows_per_s * curve / curve.max())
