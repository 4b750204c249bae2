import math
import random
from dataclasses import replace

import numpy as np
import pytest
from conformance import World, conforming
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws import LAWS, filling, latency_by_law_s

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LawColumns
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.batch_latency import MOST_LATENCIES, BatchLatency, LatencyMeasured, latencies_by_law_s, stretch

CHEAP_LAWS = st.builds(BatchLaw, overhead_s=st.floats(0.05, 3.0), row_s=st.floats(1e-5, 1e-2), partitions=st.integers(1, 40))
INTERVALS = st.floats(0.1, 30.0)
SHARES = st.floats(0.0, 0.98)
EXECUTORS = st.integers(1, 20)
EXECUTOR_COUNTS = [1, 2, 3, 7, 20, 60]


def settled_batch_s(law: BatchLaw, rate: float, interval_s: float, executors: int) -> float:
    return float(LawColumns.of([law]).settled_s(rate, interval_s, np.array([executors]))[0, 0])


def rate_at(law: BatchLaw, share: float, executors: int) -> float:
    """A rate by its share of what the rows cost: the batch grows for ever from 1 on."""
    return share / law.row_cost_s(executors)


@settings(max_examples=40)
@given(CHEAP_LAWS, SHARES, INTERVALS, EXECUTORS)
def test_the_settled_batch_repeats_itself(law: BatchLaw, share: float, interval_s: float, executors: int) -> None:
    rate = rate_at(law, share, executors)
    duration_s = settled_batch_s(law, rate, interval_s, executors)
    assert law.duration_s(rate * max(interval_s, duration_s), executors) == pytest.approx(duration_s)


@settings(max_examples=40)
@given(CHEAP_LAWS, st.floats(0.01, 0.98), INTERVALS, EXECUTORS)
def test_the_interval_is_kept_exactly_up_to_capacity(law: BatchLaw, share: float, interval_s: float, executors: int) -> None:
    rate, capacity = rate_at(law, share, executors), law.capacity_rows_per_s(executors, filling(interval_s))
    assume(abs(rate - capacity) > 1e-6 * rate and law.overhead_s < interval_s)
    assert (settled_batch_s(law, rate, interval_s, executors) <= interval_s) == (rate < capacity)


@settings(max_examples=40)
@given(CHEAP_LAWS, SHARES, SHARES, INTERVALS, EXECUTORS, EXECUTORS)
def test_by_law_it_rises_with_the_rate_and_falls_with_executors(law: BatchLaw, one: float, other: float, interval_s: float, executors: int, added: int) -> None:
    few, many = (rate_at(law, share, executors) for share in sorted((one, other)))
    asked = ((few, executors), (many, executors), (many, executors + added))
    calm, busy, wide = (latency_by_law_s(law, rate_rows_per_s=rate, interval_s=interval_s, executors=s) for rate, s in asked)
    assert calm <= busy * (1 + 1e-9) and wide <= busy * (1 + 1e-9)


@settings(max_examples=40)
@given(CHEAP_LAWS, INTERVALS, EXECUTORS, st.floats(1.0001, 5.0))
def test_latency_is_infinite_when_rows_cost_more_time_than_there_is(law: BatchLaw, interval_s: float, executors: int, share: float) -> None:
    assert latency_by_law_s(law, rate_rows_per_s=rate_at(law, share, executors), interval_s=interval_s, executors=executors) == math.inf


@settings(max_examples=40)
@given(CHEAP_LAWS, INTERVALS, EXECUTORS, st.floats(10, 1e5))
def test_under_a_limit_of_rows_latency_is_finite_exactly_below_what_full_batches_carry(law: BatchLaw, interval_s: float, executors: int, limit: float) -> None:
    limited = replace(law, limit_rows=limit)
    carried = limit / max(interval_s, law.duration_s(limit, executors))
    below, above = (latency_by_law_s(limited, rate_rows_per_s=carried * factor, interval_s=interval_s, executors=executors) for factor in (0.999, 1.001))
    assert below < math.inf and above == math.inf


def test_the_mean_and_the_quantiles_are_those_of_simulated_batches() -> None:
    law, rate, interval_s = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), 300.0, 5.0
    latencies, seen, start = [], 0, 0.0
    for _ in range(400):
        rows = int(start * rate) - seen
        end = start + law.duration_s(rows, 1)
        latencies += [end - (number + 1) / rate for number in range(seen, seen + rows)]
        seen, start = seen + rows, max(start + interval_s, end)
    settled = sorted(latencies[len(latencies) // 10 :])
    asked = {"rate_rows_per_s": rate, "interval_s": interval_s, "executors": 1}
    assert latency_by_law_s(law, **asked) == pytest.approx(sum(settled) / len(settled), rel=0.005)  # type: ignore[arg-type]
    for quantile in (0.5, 0.95, 0.99):
        assert latency_by_law_s(law, **asked, quantile=quantile) == pytest.approx(settled[int(quantile * len(settled))], rel=0.005)  # type: ignore[arg-type]


def test_a_quantile_outside_of_0_and_1_and_a_latency_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="quantile"):
        latency_by_law_s(BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), rate_rows_per_s=1.0, interval_s=1.0, executors=1, quantile=95)
    with pytest.raises(ValueError, match="cannot be"):
        LatencyMeasured(interval_s=1.0, rate_rows_per_s=1.0, latency_s=0.0)


def test_bounds_of_the_batch_cost_reach_the_latency() -> None:
    model = BatchLatency(cost=BatchCost(partitions=12), quantile=0.95).learn(batches(random.Random(1), noise=0.1))
    widths = [answer.high / answer.low for answer in (predicted(model, rate, 2.0, 4) for rate in (500.0, 2000.0, 3000.0))]
    assert widths[2] == max(widths) > min(widths) > 1
    assert predicted(model, 9000.0, 2.0, 4).value == math.inf


@given(st.lists(LAWS, min_size=1, max_size=4), st.floats(0.0, 1e5), st.floats(0.0, 20.0), st.none() | st.floats(0.0, 1.0))
def test_laws_and_executors_asked_together_get_the_answers_they_get_alone(laws: list[BatchLaw], rate: float, interval_s: float, quantile: float | None) -> None:
    laws = [replace(law, partitions=laws[0].partitions, cores_per_executor=laws[0].cores_per_executor) for law in laws]
    alone = [[latency_by_law_s(law, rate_rows_per_s=rate, interval_s=interval_s, executors=n, quantile=quantile) for n in EXECUTOR_COUNTS] for law in laws]
    assert latencies_by_law_s(laws, rate_rows_per_s=rate, interval_s=interval_s, executor_counts=np.array(EXECUTOR_COUNTS), quantile=quantile).tolist() == alone


PHYSICAL = np.linspace(1.0, 9.0, 30)


def test_one_wild_latency_does_not_decide_it() -> None:
    measured = 1.2 * PHYSICAL
    measured[7] *= 20
    assert stretch(PHYSICAL, measured).at(np.array([5.0]))[0] == pytest.approx(6.0, rel=0.03)


def test_a_latency_that_rises_more_slowly_than_the_physical_one_is_followed() -> None:
    assert stretch(PHYSICAL, 2 * PHYSICAL**0.8).at(PHYSICAL) == pytest.approx(2 * PHYSICAL**0.8, rel=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_whatever_was_measured_it_keeps_the_order_of_the_physical_latencies(seed: int) -> None:
    found = stretch(PHYSICAL, np.random.default_rng(seed).lognormal(0, 2, 30))
    assert np.all(np.diff(found.at(np.linspace(0.1, 30, 50))) > 0)


def test_bounds_hold_those_of_the_physical_form_and_its_own() -> None:
    physical = Estimate(value=5.0, low=4.0, high=6.0)
    none, few, many = (stretch(PHYSICAL[:rows], PHYSICAL[:rows]).estimate(physical) for rows in (0, 3, 30))
    assert none.high - none.low > few.high - few.low > many.high - many.low > 0.9 * (physical.high - physical.low)


def test_infinite_stays_infinite_and_zero_stays_finite() -> None:
    found = stretch(PHYSICAL, 1.2 * PHYSICAL)
    never = found.estimate(Estimate(value=math.inf, low=3.0, high=math.inf))
    assert never.value == never.high == math.inf and 3.0 < never.low < math.inf
    assert found.estimate(Estimate(value=5.0, low=0.0, high=math.inf)).high == math.inf
    assert 0 <= found.estimate(Estimate(value=0.0, low=0.0, high=0.0)).value < 1e-6


LAW = BatchLaw(overhead_s=0.6, row_s=0.0012, partitions=12)
EMPTY = BatchLatency(cost=BatchCost(partitions=12))


def latencies(chance: random.Random, count: int = 30, factor: float = 1.0, noise: float = 0.05) -> list[LatencyMeasured]:
    rows = []
    for _ in range(count):
        interval_s, rate, executors = chance.choice([1.0, 2.0, 5.0, 10.0, 20.0]), chance.uniform(100, 1500), chance.choice([3, 4, 6])
        latency_s = factor * truth(rate, interval_s, executors) * chance.lognormvariate(0, noise)
        rows.append(LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate, executors=executors, latency_s=latency_s))
    return rows


def batches(chance: random.Random, count: int = 30, noise: float = 0.05) -> list[BatchMeasured]:
    seen = []
    for _ in range(count):
        rows, executors = chance.uniform(500, 6000), chance.randint(1, 4)
        seen.append(BatchMeasured(rows=rows, duration_s=LAW.duration_s(rows, executors) * chance.lognormvariate(0, noise), executors=executors))
    return seen


def mixed(chance: random.Random, factor: float) -> list[BatchMeasured | LatencyMeasured]:
    both = [*batches(chance), *latencies(chance, factor=factor)]
    chance.shuffle(both)
    return both


def truth(rate: float, interval_s: float, executors: int, quantile: float | None = None) -> float:
    return latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=interval_s, executors=executors, quantile=quantile)


def predicted(model: BatchLatency, rate: float, interval_s: float, executors: int) -> Estimate:
    return model.predict(rate_rows_per_s=rate, interval_s=interval_s, executors=executors)


TestCorrectedConforms = conforming(
    empty=EMPTY,
    world=lambda chance: World(seen=mixed(chance, 1.2), truth=1.2 * truth(1600.0, 8.0, 4)),
    ask=lambda model: model.predict(rate_rows_per_s=1600.0, interval_s=8.0, executors=4),
)


def test_without_latencies_the_physical_form_answers_with_what_is_open_about_it() -> None:
    answer = predicted(EMPTY.learn(batches(random.Random(1))), 1000.0, 5.0, 4)
    assert answer.value == pytest.approx(truth(1000.0, 5.0, 4), rel=0.05)
    assert answer.high / answer.low > 1.5


def test_few_latencies_move_the_physical_form_a_little_and_many_wholly() -> None:
    model, off = EMPTY.learn(batches(random.Random(1), noise=0.0)), truth(1000.0, 5.0, 4)
    moved = [predicted(model.learn(latencies(random.Random(2), count=count, factor=1.5, noise=0.0)), 1000.0, 5.0, 4).value / off for count in (0, 1, 200)]
    assert [moved[0], moved[2]] == pytest.approx([1.0, 1.5], rel=0.01) and 1.1 < moved[1] < 1.49


def test_more_latencies_narrow_the_bounds() -> None:
    model = EMPTY.learn(batches(random.Random(1), count=300))
    answers = [predicted(model.learn(latencies(random.Random(2), count=count)), 1000.0, 5.0, 4) for count in (0, 5, 100)]
    widths = [each.high / each.low for each in answers]
    assert widths[0] > widths[1] > widths[2]


def test_beyond_capacity_latency_is_infinite_whatever_was_measured() -> None:
    assert predicted(EMPTY.learn(mixed(random.Random(1), 1.2)), 50_000.0, 5.0, 4).value == math.inf


@settings(max_examples=20)
@given(st.integers(0, 50), st.floats(0, 2500), st.floats(0, 2500), st.integers(1, 11), st.integers(0, 5))
def test_latency_rises_with_the_rate_and_falls_with_executors(seed: int, one: float, other: float, executors: int, added: int) -> None:
    model = EMPTY.learn(mixed(random.Random(seed), 0.8))
    calm, busy = (predicted(model, rate, 5.0, executors).value for rate in sorted((one, other)))
    assert calm <= busy * (1 + 1e-9)
    assert predicted(model, one, 5.0, executors + added).value <= predicted(model, one, 5.0, executors).value * (1 + 1e-9)


def test_it_predicts_an_interval_that_was_never_measured() -> None:
    short = [each for each in latencies(random.Random(3), count=80) if each.interval_s < 20]
    assert predicted(EMPTY.learn([*batches(random.Random(3)), *short]), 1000.0, 20.0, 4).value == pytest.approx(truth(1000.0, 20.0, 4), rel=0.08)


def test_its_score_beats_the_plane_where_latencies_are_those_of_micro_batches() -> None:
    score = EMPTY.learn(mixed(random.Random(4), 1.2)).score()
    assert score.mape < 0.08 and score.mape < score.paper_mape < score.constant_mape and score.held_out == 30


def test_its_score_loses_to_the_plane_where_latencies_do_not_come_from_micro_batches() -> None:
    chance, seen = random.Random(5), []
    for _ in range(40):
        interval_s, rate = chance.uniform(10, 120), chance.uniform(100, 900)
        seen.append(LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate, executors=4, latency_s=1.5 - 0.004 * interval_s + 2e-4 * rate))
    score = EMPTY.learn(batches(random.Random(5))).learn(seen).score()
    assert score.paper_mape < score.mape


def test_quantiles_are_learnt_as_quantiles() -> None:
    model = BatchLatency(cost=BatchCost(partitions=12), quantile=0.95).learn(batches(random.Random(1), noise=0.0))
    places = [(interval_s, rate) for interval_s in (2.0, 5.0, 10.0) for rate in (200.0, 800.0, 1400.0)]
    seen = [LatencyMeasured(interval_s=i, rate_rows_per_s=rate, executors=4, latency_s=truth(rate, i, 4, 0.95)) for i, rate in places]
    assert predicted(model.learn(seen), 1000.0, 7.0, 4).value == pytest.approx(truth(1000.0, 7.0, 4, 0.95), rel=0.01)


def test_without_a_batch_cost_or_with_too_few_latencies_it_is_not_ready_and_says_how_many_are_needed() -> None:
    model = EMPTY.learn(latencies(random.Random(1)))
    assert isinstance(model.predict(rate_rows_per_s=1.0, interval_s=1.0), NotReady) and isinstance(model.score(), NotReady)
    answer = EMPTY.learn(batches(random.Random(1))).learn(latencies(random.Random(1), count=4)).score()
    assert isinstance(answer, NotReady) and "5" in answer.why


def test_it_keeps_a_bounded_number_of_latencies_the_newest() -> None:
    seen = latencies(random.Random(1), count=MOST_LATENCIES + 20)
    assert EMPTY.learn(seen).latencies == tuple(seen[20:])


def test_executors_asked_together_get_the_answers_they_get_alone() -> None:
    model = EMPTY.learn(batches(random.Random(1)))
    asked = {"rate_rows_per_s": Estimate(value=300.0, low=250.0, high=400.0), "interval_s": 5.0}
    together = model.predict_each(**asked, executor_counts=range(1, 15))
    assert isinstance(together, dict) and len({each.value for each in together.values()}) > 3
    assert all(model.predict_each(**asked, executor_counts=[executors]) == {executors: together[executors]} for executors in range(1, 15))
