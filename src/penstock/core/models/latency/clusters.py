"""Split latencies into healthy and overloaded ones without a threshold (Phoebe sec. III-D)."""

from math import log

import numpy as np

from penstock.core.models.arrays import Flags, Floats

RATIO = 2.0
"""Two groups whose mean logarithms differ by less than this factor are one: the latency of a job that falls behind has no bound."""
RESOLUTION = 0.01
"""Smallest width of a group: logarithms closer than this, about 1 %, are the same latency."""
FEWEST = 3
"""Latencies needed for a majority that is normal (Phoebe sec. III-C)."""


def healthy(log_latencies: Floats, ratio: float = RATIO) -> Flags:
    """Mark the latencies in the lower of two groups, or all of them where there is only one group (Phoebe sec. III-D).

    >>> healthy(np.log([1.0, 1.1, 0.9, 1.2, 30.0])).tolist()
    [True, True, True, True, False]
    >>> healthy(np.log([1.0, 1.1, 0.9, 1.2, 1.3])).tolist()
    [True, True, True, True, True]
    """
    if len(log_latencies) < FEWEST or float(np.ptp(log_latencies)) < log(ratio):
        return np.ones(len(log_latencies), dtype=bool)
    lower = lower_of_two(log_latencies)
    return lower if are_two(log_latencies, lower, ratio) else np.ones(len(log_latencies), dtype=bool)


def lower_of_two(log_latencies: Floats) -> Flags:
    """Split in two by Birch; True in the cluster with the smaller centre.

    >>> lower_of_two(np.array([0.0, 5.0, 0.2])).tolist()
    [True, False, True]
    """
    from sklearn.cluster import Birch

    labels = Birch(threshold=RESOLUTION, n_clusters=2).fit_predict(log_latencies.reshape(-1, 1))
    centres = [float(np.mean(log_latencies[labels == label])) for label in (0, 1)]
    return np.asarray(labels == int(np.argmin(centres)))


def are_two(log_latencies: Floats, lower: Flags, ratio: float = RATIO) -> bool:
    """Return whether a split explains the logarithms better than one group, and its centres are at least `ratio` apart.

    Compared by the integrated completed likelihood: two normal distributions of one common width, each value counted in its own group only and
    two more parameters charged at ln(n)/2 each. Evenly spread values gain exactly nothing from being halved, so a slow rise stays one group.

    >>> slow_rise = np.linspace(0.0, 2.0, 40)
    >>> are_two(slow_rise, slow_rise < 1.0)
    False
    """
    groups = (log_latencies[lower], log_latencies[~lower])
    if not all(len(group) for group in groups) or float(np.mean(groups[1]) - np.mean(groups[0])) < log(ratio):
        return False
    n = len(log_latencies)
    whole = max(float(np.var(log_latencies)), RESOLUTION**2)
    within = max(sum(len(group) * float(np.var(group)) for group in groups) / n, RESOLUTION**2)
    surprise = -sum(len(group) * log(len(group) / n) for group in groups)
    return n / 2 * log(whole / within) - surprise > log(n)


LOWEST_PERCENTILE = 1.0
"""Percentile taken as the undisturbed latency (Phoebe sec. III-D)."""


def log_latency(latencies_s: Floats) -> Floats:
    """Return the logarithm of each latency over the 1st percentile of all (Phoebe sec. III-D).

    The division only shifts the logarithm: clusters are the same without it, and a regression of the logarithm predicts the same.
    The published prototype computes (L - median) / (1st percentile - minimum) instead, which makes the lower half all equal and is not used.

    >>> log_latency(np.array([2.0, 2.0, 2.0 * np.e])).round(3).tolist()
    [0.0, 0.0, 1.0]
    """
    return np.asarray(np.log(latencies_s / np.percentile(latencies_s, LOWEST_PERCENTILE)))
