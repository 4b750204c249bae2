import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.latency.clusters import healthy, log_latency


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", [0.05, 0.3])
def test_healthy_latencies_alone_are_one_group(seed: int, spread: float) -> None:
    assert healthy(np.random.default_rng(seed).normal(0.0, spread, 50)).all()


@pytest.mark.parametrize("busiest", [0.5, 0.8, 0.9])
def test_queues_that_grow_with_the_load_are_one_group(busiest: float) -> None:
    utilisation = np.linspace(0.05, busiest, 40)
    assert healthy(np.log(0.5 / (1 - utilisation))).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("overloaded", [3, 10, 30])
def test_overloaded_latencies_are_separated(seed: int, overloaded: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(0.0, 0.2, 40), rng.normal(3.5, 0.6, overloaded)])
    assert healthy(values).tolist() == [True] * 40 + [False] * overloaded


def test_two_groups_closer_than_the_ratio_are_one() -> None:
    assert healthy(np.log([1.0, 1.001, 1.002, 1.6, 1.601, 1.602] * 5)).all()


@settings(max_examples=40)
@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=30), st.floats(0.01, 100.0))
def test_the_unit_of_latency_changes_no_group_and_normalising_shifts_the_logarithm_and_no_more(latencies: list[float], factor: float) -> None:
    values = np.array(latencies)
    assert healthy(log_latency(values)).tolist() == healthy(log_latency(values * factor)).tolist()
    assert np.ptp(log_latency(values) - np.log(values)) == pytest.approx(0.0, abs=1e-9)
