"""Random numbers of a simulation: functions of a seed, a part of the engine and an index, so that one seed gives one run."""

import math

import numpy as np

from penstock.core.shapes.chance import FloatArray, IntArray, key_of, uniform

CPU, SHARES = 1, 2
"""The parts of the continuous engine that are random."""
STARTS, DURATIONS, VICTIMS = 11, 12, 13
"""The parts of the micro-batch engine that are random: when new executors are ready, how long batches take, which executor a fault hits."""


def normal(key: int, index: IntArray) -> FloatArray:
    """Return a standard normal number for each index (Box and Muller 1958).

    >>> numbers = normal(7, np.arange(10_000))
    >>> bool(abs(numbers.mean()) < 0.03), bool(abs(numbers.std() - 1.0) < 0.03)
    (True, True)
    """
    first, second = uniform(key, 2 * index), uniform(key, 2 * index + 1)
    return np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * math.pi * second)


def shares(seed: int, start: int, executors: int, spread: float) -> FloatArray:
    """Return each executor's share of the rows after start number `start`, with a coefficient of variation of `spread`.

    >>> shares(0, 1, 4, spread=0.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    sigma = math.sqrt(math.log1p(spread**2))
    weights = np.exp(sigma * normal(key_of(key_of(seed, SHARES), start), np.arange(executors)))
    return np.asarray(weights / weights.sum())
