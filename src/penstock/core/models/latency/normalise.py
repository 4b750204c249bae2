"""Latencies of different jobs brought to one scale, before their logarithm is taken."""

from __future__ import annotations

import numpy as np

from penstock.core.models.arrays import Floats

LOWEST_PERCENTILE = 1.0
"""The percentile that stands for an undisturbed latency (Phoebe sec. III-D)."""


def log_latency(latencies_s: Floats) -> Floats:
    """The logarithm of each latency over the 1st percentile of all (Phoebe sec. III-D).

    The division only shifts the logarithm: clusters are the same without it, and a regression of the logarithm predicts the same.
    The published prototype computes (L - median) / (1st percentile - minimum) instead, which makes the lower half all equal and is left out.

    >>> log_latency(np.array([2.0, 2.0, 2.0 * np.e])).round(3).tolist()
    [0.0, 0.0, 1.0]
    """
    return np.asarray(np.log(latencies_s / np.percentile(latencies_s, LOWEST_PERCENTILE)))
