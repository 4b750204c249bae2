import math

import numpy as np
import pytest

from penstock.core.models.latency.latency_regression import LatencyRegression, LatencySeen
from penstock.selftest.worlds.khaos import latencies


def test_latency_is_never_infinite() -> None:
    model = LatencyRegression().learn(latencies("shaken", 5))
    assert model.predict(60, 10 * max(each.rate_rows_per_s for each in model.seen)).high < math.inf


def test_latency_that_grows_with_the_interval_is_learnt_too() -> None:
    """As in micro-batches, where rows wait for the trigger."""
    rows = [LatencySeen(interval_s=i, rate_rows_per_s=r, latency_s=i / 2 + 1 + r / 500) for i in (2, 5, 10, 20) for r in (100, 300, 500)]
    model = LatencyRegression().learn(rows)
    assert model.predict(4, 300).value < model.predict(15, 300).value


def test_of_micro_batches_on_several_executors_rows_are_shared_by_them() -> None:
    rng = np.random.default_rng(2)
    rows = [
        LatencySeen(interval_s=i, rate_rows_per_s=r, executors=s, latency_s=float((0.5 * i + 0.4 + 2e-4 * r * i / s) * rng.lognormal(0, 0.05)))
        for i in (1, 2, 5, 10) for s in (1, 2, 4) for r in (500 * s, 1000 * s, 2000 * s)
    ]  # fmt: skip
    model = LatencyRegression().learn(rows)
    assert "micro-batches" in model.form
    assert model.predict(4, 4500, executors=3).value == pytest.approx(0.5 * 4 + 0.4 + 2e-4 * 4500 * 4 / 3, rel=0.05)


def test_a_latency_without_an_executor_is_refused() -> None:
    with pytest.raises(ValueError, match="had an executor"):
        LatencySeen(interval_s=10, rate_rows_per_s=1, latency_s=0.5, executors=0)
