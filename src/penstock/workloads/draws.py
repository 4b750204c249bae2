"""What the rows of a workload hold by chance: a function of seed, name and position, so that any split of the positions gives the same rows."""

from zlib import crc32

import numpy as np
import numpy.typing as npt

from penstock.core.shapes.chance import FloatArray, IntArray, key_of, uniform

LATE_SHARE, LATE_MS = 0.05, 4_000
"""The share of rows that arrive after their event time, and the longest delay of all but those that are too late."""
TOO_LATE_SHARE, TOO_LATE_MS = 0.005, (60_000, 90_000)
"""The share of rows that arrive long after their event time, and the range of their delay."""


def shares(positions: IntArray, seed: int, name: str) -> FloatArray:
    """Return a number in [0, 1) for each position; the numbers of different names are independent."""
    return uniform(key_of(seed, crc32(name.encode())), positions)


def wholes(positions: IntArray, seed: int, name: str, below: int | IntArray) -> IntArray:
    """Return a whole number from 0 to `below` - 1 for each position.

    >>> wholes(np.arange(5), 7, "car", 10).tolist() == wholes(np.arange(9), 7, "car", 10)[:5].tolist()
    True
    """
    return (shares(positions, seed, name) * below).astype(np.int64)


def delays_ms(positions: IntArray, seed: int) -> npt.NDArray[np.int32]:
    """Return how long after its event time each row arrives, in ms: 0 for most; the event time of a row is its arrival less this delay.

    >>> delays = delays_ms(np.arange(100_000), 7)
    >>> round(float((delays > 0).mean()), 2), round(float((delays > LATE_MS).mean()), 3)
    (0.05, 0.005)
    """
    share = shares(positions, seed, "delay")
    late_ms = 1 + (share - TOO_LATE_SHARE) / (LATE_SHARE - TOO_LATE_SHARE) * (LATE_MS - 1)
    least_ms, most_ms = TOO_LATE_MS
    too_late_ms = least_ms + share / TOO_LATE_SHARE * (most_ms - least_ms)
    return np.where(share < TOO_LATE_SHARE, too_late_ms, np.where(share < LATE_SHARE, late_ms, 0.0)).astype(np.int32)
