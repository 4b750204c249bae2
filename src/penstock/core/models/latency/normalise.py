"""Latencies of different jobs brought to one scale, before their logarithm is taken."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Normalisation = Literal["percentile", "prototype"]

LOWEST_PERCENTILE = 1.0
"""The percentile that stands for an undisturbed latency (Phoebe sec. III-D)."""


def log_latency(latencies_s: Floats, normalisation: Normalisation = "percentile") -> Floats:
    """The logarithm of normalised latencies: what Phoebe's clusters and regression see.

    Dividing by the percentile only shifts the logarithm, so it changes no cluster and no prediction; the prototype's form changes both.

    >>> log_latency(np.array([2.0, 2.0, 2.0 * np.e])).round(3).tolist()
    [0.0, 0.0, 1.0]
    """
    normalised = by_prototype(latencies_s) if normalisation == "prototype" else by_percentile(latencies_s)
    return np.asarray(np.log(normalised))


def by_percentile(latencies_s: Floats) -> Floats:
    """Each latency over the 1st percentile of all (Phoebe sec. III-D).

    >>> by_percentile(np.array([2.0, 2.0, 6.0])).tolist()
    [1.0, 1.0, 3.0]
    """
    return np.asarray(latencies_s / np.percentile(latencies_s, LOWEST_PERCENTILE))


def by_prototype(latencies_s: Floats) -> Floats:
    """(L - median) / (1st percentile - minimum), at least 1: what the published prototype computes, which makes the lower half all equal.

    Where the percentile is the minimum, the form is undefined and the division by the percentile stands in.

    >>> by_prototype(np.array([1.0, 2.0, 3.0])).tolist()
    [1.0, 1.0, 50.0]
    """
    spread = float(np.percentile(latencies_s, LOWEST_PERCENTILE) - np.min(latencies_s))
    if spread <= 0:
        return by_percentile(latencies_s)
    return np.asarray(np.maximum(1.0, (latencies_s - np.median(latencies_s)) / spread).round(9))
