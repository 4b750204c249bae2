"""Latency over several batches is that of all their rows together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.reading import Quantiles
from penstock.core.models.arrays import Floats
from penstock.core.monitor.facts import ARRIVAL_PROBABILITIES, ArrivalSample, BatchFact
from penstock.core.monitor.latency import latency_of


def committed(*delays_s: Any, at_s: float = 1_700_000_000.0) -> BatchFact:
    """A batch whose sources had rows with these delays."""
    samples = tuple(
        ArrivalSample(
            rows=float(np.size(each)),
            probabilities=ARRIVAL_PROBABILITIES,
            wall_s=tuple(np.quantile(at_s - np.asarray(each, dtype=float), ARRIVAL_PROBABILITIES)),
        )
        for each in delays_s
        if np.size(each)
    )
    return BatchFact(batch_id=1, started_s=0.0, committed_s=1.0, committed_wall_s=at_s, rows=1.0, arrivals=samples)


def quantiles(batches: list[BatchFact]) -> list[float]:
    found, skew_s = latency_of(batches)
    assert found is not None and skew_s is None
    return [found.p50_s, found.p95_s, found.p99_s]


def agree(found: list[float], *delays_s: Floats, within: float) -> bool:
    """Whether so many of all rows are below each quantile as should be; in a gap between rows, any delay will do."""
    rows = np.concatenate(delays_s)
    least, most = (np.quantile(rows, np.clip(np.array([0.5, 0.95, 0.99]) + off, 0.0, 1.0)) for off in (-within, within))
    return bool(np.all(least - 1e-5 <= found) and np.all(found <= most + 1e-5))


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.floats(0.1, 10.0), st.integers(200, 2000)), min_size=1, max_size=5))
@settings(deadline=None)
def test_batches_of_rows_that_came_evenly_have_the_quantiles_of_all_rows_together(shapes: list[tuple[float, float, int]]) -> None:
    delays = [np.linspace(least, least + width, rows) for least, width, rows in shapes]
    assert agree(quantiles([committed(each) for each in delays]), *delays, within=0.01)
    assert agree(quantiles([committed(*delays)]), *delays, within=0.01)


@given(st.integers(0, 2**32 - 1), st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(1000, 3000)), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_and_those_of_rows_that_came_anyhow_nearly_so(seed: int, shapes: list[tuple[float, int]]) -> None:
    chance = np.random.default_rng(seed)
    delays = [chance.exponential(mean, rows) for mean, rows in shapes]
    assert agree(quantiles([committed(each) for each in delays]), *delays, within=0.06)


@given(st.lists(st.floats(0.0, 1000.0), min_size=len(ARRIVAL_PROBABILITIES), max_size=len(ARRIVAL_PROBABILITIES)))
@settings(deadline=None)
def test_quantiles_of_one_batch_that_are_known_are_given_back(delays: list[float]) -> None:
    wall_s = tuple(1e6 - delay for delay in sorted(delays, reverse=True))
    sample = ArrivalSample(rows=100.0, probabilities=ARRIVAL_PROBABILITIES, wall_s=wall_s)
    batch = BatchFact(batch_id=1, started_s=0.0, committed_s=1.0, committed_wall_s=1e6, rows=100.0, arrivals=(sample,))
    assert quantiles([batch]) == pytest.approx([sorted(delays)[5], sorted(delays)[8], sorted(delays)[9]], abs=1e-5)


def test_rows_that_came_all_at_once_have_one_latency() -> None:
    assert quantiles([committed(np.full(100, 3.0))]) == [3.0, 3.0, 3.0]
    assert quantiles([committed(np.full(900, 1.0)), committed(np.full(100, 10.0))]) == [1.0, 10.0, 10.0]
    assert quantiles([committed(np.repeat([1.0, 4.0, 9.0], [10, 80, 10]))]) == [4.0, 9.0, 9.0]


@given(st.lists(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=20), min_size=1, max_size=4))
@settings(deadline=None)
def test_quantiles_rise_and_lie_between_the_least_and_the_most(delays: list[list[float]]) -> None:
    found = quantiles([committed(each) for each in delays])
    assert found == sorted(found)
    assert min(map(min, delays)) - 1e-5 <= found[0] and found[-1] <= max(map(max, delays)) + 1e-5


def test_a_batch_counts_by_its_rows() -> None:
    many, few = np.linspace(1.0, 2.0, 9901), np.linspace(50.0, 60.0, 99)
    assert quantiles([committed(many), committed(few)]) == pytest.approx([1.505, 1.96, 2.0], abs=0.02)


def test_without_arrivals_latency_is_unknown() -> None:
    assert latency_of([]) == (None, None)
    assert latency_of([committed()]) == (None, None)
    nothing = ArrivalSample(rows=0.0, probabilities=ARRIVAL_PROBABILITIES, wall_s=(0.0,) * len(ARRIVAL_PROBABILITIES))
    assert latency_of([BatchFact(batch_id=1, started_s=0, committed_s=1, committed_wall_s=9.0, rows=0, arrivals=(nothing,))]) == (None, None)


def test_rows_from_the_future_are_clock_skew_and_no_latency() -> None:
    latency, skew_s = latency_of([committed(np.linspace(1.0, 2.0, 50)), committed(np.linspace(-7.0, 2.0, 50))])
    assert latency is None
    assert skew_s == pytest.approx(7.0, abs=1e-5)


def test_a_hair_before_the_commit_is_no_skew_and_no_negative_latency() -> None:
    assert latency_of([committed(np.full(10, -0.01))]) == (Quantiles(p50_s=0.0, p95_s=0.0, p99_s=0.0), None)
