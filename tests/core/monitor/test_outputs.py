"""Latency at the sink is that of the records that were looked at, each as often as it stands for others."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.reading import Quantiles
from penstock.core.monitor.facts import OutputSample
from penstock.core.monitor.latency import SKEW_TOLERANCE_S
from penstock.core.monitor.latency import Outputs, latency_of_outputs, recent_outputs

WINDOW_S = 15.0


def output(latency_s: float, rows: float = 1.0, wall_s: float = 1_700_000_000.0) -> OutputSample:
    return OutputSample(wall_s=wall_s, latency_s=latency_s, rows=rows)


def quantiles(samples: list[OutputSample]) -> list[float]:
    found, skew_s = latency_of_outputs(samples)
    assert found is not None and skew_s is None
    return [found.p50_s, found.p95_s, found.p99_s]


SAMPLES = st.lists(st.builds(output, st.floats(0.0, 1000.0), st.floats(0.01, 1e6)), min_size=1, max_size=50)


@given(SAMPLES)
@settings(deadline=None)
def test_quantiles_rise_and_lie_between_the_least_and_the_most(samples: list[OutputSample]) -> None:
    found = quantiles(samples)
    latencies = [sample.latency_s for sample in samples]
    assert found == sorted(found)
    assert min(latencies) - 1e-6 <= found[0] and found[-1] <= max(latencies) + 1e-6


@given(SAMPLES)
@settings(deadline=None)
def test_so_many_records_are_no_slower_than_a_quantile_as_it_says_and_fewer_are_faster(samples: list[OutputSample]) -> None:
    rows_in_all = sum(sample.rows for sample in samples)
    for share, quantile_s in zip((0.5, 0.95, 0.99), quantiles(samples), strict=True):
        no_slower = sum(sample.rows for sample in samples if sample.latency_s <= quantile_s + 1e-6)
        faster = sum(sample.rows for sample in samples if sample.latency_s < quantile_s - 1e-6)
        assert no_slower >= share * rows_in_all * (1 - 1e-9)
        assert faster <= share * rows_in_all * (1 + 1e-9)


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.integers(1, 9)), min_size=1, max_size=20), st.randoms())
@settings(deadline=None)
def test_a_record_that_stands_for_several_counts_like_them_in_any_order(pairs: list[tuple[float, int]], chance: object) -> None:
    weighted = [output(latency_s, float(rows)) for latency_s, rows in pairs]
    each_once = [output(latency_s) for latency_s, rows in pairs for _ in range(rows)]
    chance.shuffle(each_once)  # type: ignore[attr-defined]
    assert quantiles(weighted) == quantiles(each_once)


def test_quantiles_of_a_large_sample_are_those_of_the_whole_output() -> None:
    latencies = np.random.default_rng(4).lognormal(-3.4, 0.5, 20_000)
    assert quantiles([output(float(each)) for each in latencies]) == pytest.approx(list(np.quantile(latencies, [0.5, 0.95, 0.99])), rel=0.01)


def test_without_output_latency_is_unknown() -> None:
    assert latency_of_outputs([]) == (None, None)
    assert latency_of_outputs([output(1.0, rows=0.0)]) == (None, None)


def test_a_result_from_before_its_input_is_clock_skew_and_no_latency() -> None:
    assert latency_of_outputs([output(0.5), output(-7.0), output(-1.0)]) == (None, 7.0)


def test_a_hair_before_its_input_is_no_skew_and_no_negative_latency() -> None:
    assert latency_of_outputs([output(-SKEW_TOLERANCE_S)]) == (Quantiles(p50_s=0.0, p95_s=0.0, p99_s=0.0), None)


@given(st.lists(st.tuples(st.floats(0.1, 20.0), st.lists(st.floats(0.0, 20.0), max_size=5)), max_size=30))
@settings(deadline=None)
def test_only_outputs_of_the_last_window_are_remembered(looks: list[tuple[float, list[float]]]) -> None:
    kept: Outputs = ()
    at_s = 0.0
    for gap_s, ages_s in looks:
        at_s += gap_s
        new = [output(0.1, wall_s=1e6 + at_s - age_s) for age_s in ages_s]
        kept = recent_outputs(kept, at_s, new, WINDOW_S)
        walls = [sample.wall_s for _, sample in kept]
        assert all(max(walls) - each <= WINDOW_S for each in walls)
        assert all(at_s - told_s <= WINDOW_S for told_s, _ in kept)
        if new:
            assert max(walls) >= max(sample.wall_s for sample in new)


def test_an_output_stamped_far_ahead_is_forgotten_after_a_window() -> None:
    kept = recent_outputs((), 0.0, [output(0.1, wall_s=9_999.0)], WINDOW_S)
    for at_s in (5.0, 10.0, 15.0, 20.0):
        kept = recent_outputs(kept, at_s, [output(0.2, wall_s=1_000.0 + at_s)], WINDOW_S)
    assert [sample.latency_s for _, sample in kept] == [0.2]
