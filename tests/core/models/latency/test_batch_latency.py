from __future__ import annotations

import math
import random

import pytest
from conformance import Case, Conformance, World
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.batch import latency_by_law_s
from penstock.core.models.latency.batch_latency import MOST_LATENCIES, BatchLatency
from penstock.core.models.latency.measured import LatencyMeasured
from penstock.core.models.score import Score

LAW = BatchLaw(overhead_s=0.6, row_s=0.0012, partitions=12)
EMPTY = BatchLatency(cost=BatchCost(partitions=12))


def latencies(chance: random.Random, count: int = 30, factor: float = 1.0, noise: float = 0.05) -> list[LatencyMeasured]:
    rows = []
    for _ in range(count):
        interval_s, rate, scaleout = chance.choice([1.0, 2.0, 5.0, 10.0, 20.0]), chance.uniform(100, 1500), chance.choice([3, 4, 6])
        truth = latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=interval_s, scaleout=scaleout)
        rows.append(LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate, scaleout=scaleout, latency_s=factor * truth * chance.lognormvariate(0, noise)))
    return rows


def batches(chance: random.Random, count: int = 30, noise: float = 0.05) -> list[BatchMeasured]:
    seen = []
    for _ in range(count):
        rows, scaleout = chance.uniform(500, 6000), chance.randint(1, 4)
        seen.append(BatchMeasured(rows=rows, duration_s=LAW.duration_s(rows, scaleout) * chance.lognormvariate(0, noise), scaleout=scaleout))
    return seen


def mixed(chance: random.Random, factor: float) -> list[BatchMeasured | LatencyMeasured]:
    both: list[BatchMeasured | LatencyMeasured] = [*batches(chance), *latencies(chance, factor=factor)]
    chance.shuffle(both)
    return both


def truth(rate: float, interval_s: float, scaleout: int) -> float:
    return latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=interval_s, scaleout=scaleout)


def predicted(model: BatchLatency, rate: float, interval_s: float, scaleout: int) -> Estimate:
    answer = model.predict(rate_rows_per_s=rate, interval_s=interval_s, scaleout=scaleout)
    assert isinstance(answer, Estimate), answer
    return answer


class TestCorrectedConforms(Conformance):
    case = Case(
        empty=EMPTY,
        world=lambda chance: World(seen=mixed(chance, 1.2), truth=1.2 * truth(1600.0, 8.0, 4)),
        ask=lambda model: model.predict(rate_rows_per_s=1600.0, interval_s=8.0, scaleout=4),
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
def test_latency_rises_with_the_rate_and_falls_with_executors(seed: int, one: float, other: float, scaleout: int, added: int) -> None:
    model = EMPTY.learn(mixed(random.Random(seed), 0.8))
    calm, busy = (predicted(model, rate, 5.0, scaleout).value for rate in sorted((one, other)))
    assert calm <= busy * (1 + 1e-9)
    assert predicted(model, one, 5.0, scaleout + added).value <= predicted(model, one, 5.0, scaleout).value * (1 + 1e-9)


def test_it_predicts_an_interval_that_was_never_measured() -> None:
    short: list[BatchMeasured | LatencyMeasured] = [each for each in latencies(random.Random(3), count=80) if each.interval_s < 20]
    assert predicted(EMPTY.learn(batches(random.Random(3)) + short), 1000.0, 20.0, 4).value == pytest.approx(truth(1000.0, 20.0, 4), rel=0.08)


def test_its_score_beats_the_plane_where_latencies_are_those_of_micro_batches() -> None:
    score = EMPTY.learn(mixed(random.Random(4), 1.2)).score()
    assert isinstance(score, Score) and score.paper_mape is not None
    assert score.mape < 0.08 and score.mape < score.paper_mape < score.constant_mape and score.held_out == 30


def test_its_score_loses_to_the_plane_where_latencies_do_not_come_from_micro_batches() -> None:
    chance, seen = random.Random(5), []
    for _ in range(40):
        interval_s, rate = chance.uniform(10, 120), chance.uniform(100, 900)
        seen.append(LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate, scaleout=4, latency_s=1.5 - 0.004 * interval_s + 2e-4 * rate))
    score = EMPTY.learn(batches(random.Random(5))).learn(seen).score()
    assert isinstance(score, Score) and score.paper_mape is not None and score.paper_mape < score.mape


def test_quantiles_are_learnt_as_quantiles() -> None:
    model, seen = BatchLatency(cost=BatchCost(partitions=12), quantile=0.95).learn(batches(random.Random(1), noise=0.0)), []
    for interval_s in (2.0, 5.0, 10.0):
        for rate in (200.0, 800.0, 1400.0):
            p95 = latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=interval_s, scaleout=4, quantile=0.95)
            seen.append(LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate, scaleout=4, latency_s=p95))
    asked = latency_by_law_s(LAW, rate_rows_per_s=1000.0, interval_s=7.0, scaleout=4, quantile=0.95)
    assert predicted(model.learn(seen), 1000.0, 7.0, 4).value == pytest.approx(asked, rel=0.01)


def test_without_a_batch_cost_it_has_neither_an_answer_nor_a_score() -> None:
    model = EMPTY.learn(latencies(random.Random(1)))
    assert isinstance(model.predict(rate_rows_per_s=1.0, interval_s=1.0), NotReady) and isinstance(model.score(), NotReady)


def test_too_few_latencies_have_no_score_and_it_says_how_many_are_needed() -> None:
    answer = EMPTY.learn(batches(random.Random(1))).learn(latencies(random.Random(1), count=4)).score()
    assert isinstance(answer, NotReady) and "5" in answer.why


def test_it_keeps_a_bounded_number_of_latencies_the_newest() -> None:
    seen = latencies(random.Random(1), count=MOST_LATENCIES + 20)
    assert EMPTY.learn(seen).latencies == tuple(seen[20:])


def test_a_latency_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be"):
        LatencyMeasured(interval_s=1.0, rate_rows_per_s=1.0, latency_s=0.0)


def test_sizes_asked_together_get_the_answers_they_get_alone() -> None:
    batches = [BatchMeasured(rows=rows, duration_s=0.5 + 0.0005 * rows, scaleout=2) for rows in (100.0, 400.0, 900.0, 1600.0, 2500.0, 3600.0)]
    model = BatchLatency(cost=BatchCost(partitions=12)).learn(batches)
    asked = {"rate_rows_per_s": Estimate(value=300.0, low=250.0, high=400.0), "interval_s": 5.0}
    alone = {size: model.predict_one(**asked, scaleout=size) for size in range(1, 15)}
    assert model.predict_each(**asked, scaleouts=range(1, 15)) == alone
    assert len({each.value for each in alone.values() if isinstance(each, Estimate)}) > 3
