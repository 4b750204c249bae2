from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.reading import Quantiles
from penstock.core.models.arrays import Floats
from penstock.core.monitor.facts import ARRIVAL_PROBABILITIES, ArrivalSample, BatchFact, OutputSample
from penstock.core.monitor.latency import SKEW_TOLERANCE_S, Outputs, latency_of, latency_of_outputs, recent_outputs


def committed(*delays_s: Any, at_s: float = 1_700_000_000.0) -> BatchFact:
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
    """Whether each quantile has its share of rows below it; in a gap between rows, any delay will do."""
    rows = np.concatenate(delays_s)
    least, most = (np.quantile(rows, np.clip(np.array([0.5, 0.95, 0.99]) + off, 0.0, 1.0)) for off in (-within, within))
    return bool(np.all(least - 1e-5 <= found) and np.all(found <= most + 1e-5))


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.floats(0.1, 10.0), st.integers(200, 2000)), min_size=1, max_size=5))
def test_batches_of_rows_that_came_evenly_have_the_quantiles_of_all_rows_together(shapes: list[tuple[float, float, int]]) -> None:
    delays = [np.linspace(least, least + width, rows) for least, width, rows in shapes]
    assert agree(quantiles([committed(each) for each in delays]), *delays, within=0.01)
    assert agree(quantiles([committed(*delays)]), *delays, within=0.01)


@given(st.integers(0, 2**32 - 1), st.lists(st.tuples(st.floats(0.1, 10.0), st.integers(1000, 3000)), min_size=1, max_size=4))
@settings(max_examples=30)
def test_and_those_of_rows_that_came_anyhow_nearly_so(seed: int, shapes: list[tuple[float, int]]) -> None:
    chance = np.random.default_rng(seed)
    delays = [chance.exponential(mean, rows) for mean, rows in shapes]
    assert agree(quantiles([committed(each) for each in delays]), *delays, within=0.06)


@given(st.lists(st.floats(0.0, 1000.0), min_size=len(ARRIVAL_PROBABILITIES), max_size=len(ARRIVAL_PROBABILITIES)))
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


WINDOW_S = 15.0


def output(latency_s: float, rows: float = 1.0, wall_s: float = 1_700_000_000.0) -> OutputSample:
    return OutputSample(wall_s=wall_s, latency_s=latency_s, rows=rows)


def output_quantiles(samples: list[OutputSample]) -> list[float]:
    found, skew_s = latency_of_outputs(samples)
    assert found is not None and skew_s is None
    return [found.p50_s, found.p95_s, found.p99_s]


SAMPLES = st.lists(st.builds(output, st.floats(0.0, 1000.0), st.floats(0.01, 1e6)), min_size=1, max_size=50)


@given(SAMPLES)
def test_quantiles_of_outputs_rise_and_lie_between_the_least_and_the_most(samples: list[OutputSample]) -> None:
    found = output_quantiles(samples)
    latencies = [sample.latency_s for sample in samples]
    assert found == sorted(found)
    assert min(latencies) - 1e-6 <= found[0] and found[-1] <= max(latencies) + 1e-6


@given(SAMPLES)
def test_a_quantile_has_its_share_of_records_at_or_below_it(samples: list[OutputSample]) -> None:
    rows_in_all = sum(sample.rows for sample in samples)
    for share, quantile_s in zip((0.5, 0.95, 0.99), output_quantiles(samples), strict=True):
        no_slower = sum(sample.rows for sample in samples if sample.latency_s <= quantile_s + 1e-6)
        faster = sum(sample.rows for sample in samples if sample.latency_s < quantile_s - 1e-6)
        assert no_slower >= share * rows_in_all * (1 - 1e-9)
        assert faster <= share * rows_in_all * (1 + 1e-9)


@given(st.lists(st.tuples(st.floats(0.0, 10.0), st.integers(1, 9)), min_size=1, max_size=20), st.randoms())
def test_a_record_that_stands_for_several_counts_like_them_in_any_order(pairs: list[tuple[float, int]], chance: object) -> None:
    weighted = [output(latency_s, float(rows)) for latency_s, rows in pairs]
    each_once = [output(latency_s) for latency_s, rows in pairs for _ in range(rows)]
    chance.shuffle(each_once)  # type: ignore[attr-defined]
    assert output_quantiles(weighted) == output_quantiles(each_once)


def test_quantiles_of_a_large_sample_are_those_of_the_whole_output() -> None:
    latencies = np.random.default_rng(4).lognormal(-3.4, 0.5, 20_000)
    assert output_quantiles([output(float(each)) for each in latencies]) == pytest.approx(list(np.quantile(latencies, [0.5, 0.95, 0.99])), rel=0.01)


def test_without_output_latency_is_unknown() -> None:
    assert latency_of_outputs([]) == (None, None)
    assert latency_of_outputs([output(1.0, rows=0.0)]) == (None, None)


def test_a_result_from_before_its_input_is_clock_skew_and_no_latency() -> None:
    assert latency_of_outputs([output(0.5), output(-7.0), output(-1.0)]) == (None, 7.0)


def test_a_hair_before_its_input_is_no_skew_and_no_negative_latency() -> None:
    assert latency_of_outputs([output(-SKEW_TOLERANCE_S)]) == (Quantiles(p50_s=0.0, p95_s=0.0, p99_s=0.0), None)


@given(st.lists(st.tuples(st.floats(0.1, 20.0), st.lists(st.floats(0.0, 20.0), max_size=5)), max_size=30))
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
