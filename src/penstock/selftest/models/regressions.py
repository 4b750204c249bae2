"""Khaos's regressions of recovery and latency on intervals that were left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.regression import LatencyRegression
from penstock.core.models.recovery.regression import RecoveryRegression
from penstock.core.models.surrogate.study import Studied
from penstock.selftest.models.measured import SEEDS, Measured
from penstock.selftest.worlds.khaos import LATENCIES, NOISY, QUIET, RECOVERIES, latencies, recoveries


def regressions(seeds: Sequence[int] = SEEDS[:3]) -> list[Measured]:
    """Khaos's models on worlds of many kinds, an interval left out; in quiet worlds less error is asked for, as of the paper's second data set."""
    noisy = [_measured("recovery", kind, NOISY, 0.16, [RecoveryRegression().learn(recoveries(kind, seed)) for seed in seeds]) for kind in RECOVERIES]
    quiet = [
        _measured("recovery", kind, QUIET, 0.09, [RecoveryRegression().learn(recoveries(kind, seed, noise=QUIET)) for seed in seeds]) for kind in RECOVERIES
    ]
    latency = [_measured("latency", kind, NOISY, 0.15, [LatencyRegression().learn(latencies(kind, seed)) for seed in seeds]) for kind in LATENCIES]
    return noisy + quiet + latency


def _measured(what: str, kind: str, noise: float, most: float, models: Sequence[Studied]) -> Measured:
    scores = [score for model in models if not isinstance(score := model.score(), NotReady)]
    ours, plane, constant = (float(np.mean([getattr(score, name) for score in scores])) for name in ("mape", "paper_mape", "constant_mape"))
    said = f"{what} regression, {kind.replace('_', ' ')}, noise {noise:.0%}, an interval left out: MAPE"
    return Measured(what=said, found=ours, most=most, constant=constant, paper=plane)
