import random
from dataclasses import replace

import numpy as np
import pytest
from conformance import World, conforming
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_cost import MOST_ALIKE, MOST_BATCHES, BatchCost, BatchMeasured, evenly, fit_durations
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.score import Score

TRUE = BatchLaw(overhead_s=0.6, row_s=0.0012, partitions=12)
EMPTY = BatchCost(partitions=12)


def measured(law: BatchLaw, chance: random.Random, count: int = 60, noise: float = 0.06, warm_up: int = 6) -> list[BatchMeasured]:
    """Batches of a job whose rate and scale-out move, the first of them slow."""
    batches = []
    for number in range(count):
        rows, scaleout = chance.uniform(800, 6000), 1 + number * 4 // count
        slow = chance.uniform(1.5, 3.0) if number < warm_up else 1.0
        batches.append(BatchMeasured(rows=rows, duration_s=law.duration_s(rows, scaleout) * slow * chance.lognormvariate(0, noise), scaleout=scaleout))
    return batches


def world(chance: random.Random, truth: float) -> World:
    return World(seen=measured(TRUE, chance), truth=truth)


TestDurationConforms = conforming(empty=EMPTY, world=lambda chance: world(chance, TRUE.duration_s(9000, 4)), ask=lambda model: model.predict(9000, 4))
TestCapacityConforms = conforming(empty=EMPTY, world=lambda chance: world(chance, TRUE.capacity_rows_per_s(6, 5.0)), ask=lambda model: model.capacity(6, 5.0))


@settings(max_examples=30)
@given(st.floats(0.05, 5), st.floats(1e-5, 1e-2), st.integers(1, 30), st.integers(1, 4))
def test_exact_batches_give_the_exact_law(overhead_s: float, row_s: float, partitions: int, cores: int) -> None:
    law = BatchLaw(overhead_s=overhead_s, row_s=row_s, partitions=partitions, cores_per_executor=cores)
    seen = [BatchMeasured(rows=rows, duration_s=law.duration_s(rows, s), scaleout=s) for rows in (100, 1000, 5000) for s in (1, 2, 5)]
    model = BatchCost(partitions=partitions, cores_per_executor=cores).learn(seen)
    assert model.predict(3000, 3).value == pytest.approx(law.duration_s(3000, 3), rel=1e-4)
    assert model.capacity(3, 10.0).value == pytest.approx(law.capacity_rows_per_s(3, 10.0), rel=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_a_fifth_of_slow_batches_moves_the_law_by_no_more_than_noise(seed: int) -> None:
    model = EMPTY.learn(measured(TRUE, random.Random(seed), count=100, noise=0.04, warm_up=20))
    assert model.capacity(4, 5.0).value == pytest.approx(TRUE.capacity_rows_per_s(4, 5.0), rel=0.06)


def test_one_huge_cold_first_batch_does_not_decide_the_slope() -> None:
    steady = measured(TRUE, random.Random(5), count=30, noise=0.02, warm_up=0)
    cold = BatchMeasured(rows=200_000, duration_s=3 * TRUE.duration_s(200_000, 1), scaleout=1)
    assert EMPTY.learn([cold, *steady]).capacity(4, 5.0).value == pytest.approx(TRUE.capacity_rows_per_s(4, 5.0), rel=0.04)


@settings(max_examples=20)
@given(st.integers(0, 100), st.floats(0, 20_000), st.floats(0, 20_000), st.integers(1, 12), st.integers(0, 12))
def test_value_and_bounds_rise_with_rows_and_fall_with_executors(seed: int, rows: float, more: float, scaleout: int, added: int) -> None:
    model = EMPTY.learn(measured(TRUE, random.Random(seed), count=20))
    answers = [model.predict(rows, scaleout), model.predict(rows + more, scaleout), model.predict(rows, scaleout + added)]
    assert all(isinstance(each, Estimate) for each in answers)
    some, longer, wider = (np.array([each.value, each.low, each.high]) for each in answers if isinstance(each, Estimate))
    assert (some <= longer).all() and (wider <= some).all()


def test_batches_of_one_size_only_are_not_enough_and_it_says_so() -> None:
    chance = random.Random(1)
    model = EMPTY.learn([BatchMeasured(rows=1000, duration_s=chance.uniform(1, 1.1), scaleout=2) for _ in range(50)])
    answer = model.capacity(2, 10.0)
    assert isinstance(answer, NotReady) and answer.why.startswith("batches of one size only")
    stray = model.learn([BatchMeasured(rows=9000, duration_s=2.0, scaleout=2)])
    assert isinstance(stray.capacity(2, 10.0), NotReady)


def test_one_size_on_two_scaleouts_tells_overhead_from_cost() -> None:
    seen = [BatchMeasured(rows=4000, duration_s=TRUE.duration_s(4000, s), scaleout=s) for s in (2, 4) for _ in range(4)]
    assert EMPTY.learn(seen).capacity(6, 5.0).value == pytest.approx(TRUE.capacity_rows_per_s(6, 5.0), rel=1e-4)


def test_a_steady_day_does_not_push_out_the_sizes_that_tell_overhead_from_cost() -> None:
    early = measured(TRUE, random.Random(3), count=40, warm_up=0)
    steady = [BatchMeasured(rows=2000, duration_s=TRUE.duration_s(2000, 4), scaleout=4)] * 9000
    model = EMPTY.learn(early).learn(steady)
    assert len(model.batches) <= 40 + MOST_ALIKE
    assert isinstance(model.capacity(4, 5.0), Estimate)


def test_it_keeps_a_bounded_number_of_batches_whatever_it_sees_and_in_any_batching() -> None:
    chance = random.Random(4)
    seen = [BatchMeasured(rows=10 ** chance.uniform(0, 7), duration_s=1.0, scaleout=chance.randint(1, 50)) for _ in range(3000)]
    whole, pieces = EMPTY.learn(seen), EMPTY
    for start in range(0, len(seen), 70):
        pieces = pieces.learn(seen[start : start + 70])
    assert whole == pieces and len(whole.batches) == MOST_BATCHES


def test_empty_batches_and_those_of_the_warm_up_teach_nothing() -> None:
    seen = measured(TRUE, random.Random(6))
    idle = [BatchMeasured(rows=0, duration_s=0.01, scaleout=1)] * 50
    cold = [BatchMeasured(rows=3000, duration_s=30.0, scaleout=1, warming=True)] * 50
    assert EMPTY.learn([*idle, *seen, *cold]) == EMPTY.learn(seen)


@pytest.mark.parametrize("wrong", [{"rows": -1.0}, {"duration_s": 0.0}, {"scaleout": 0}, {"skew": 0.5}, {"rows": float("nan")}])
def test_a_batch_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        BatchMeasured(**{"rows": 1.0, "duration_s": 1.0, "scaleout": 1, **wrong})  # type: ignore[arg-type]


def test_measured_skew_is_a_factor_on_the_cost_of_a_row() -> None:
    chance = random.Random(7)
    skewed = replace(TRUE, skew=2.0)
    seen = []
    for _ in range(60):
        rows, scaleout, skew = chance.uniform(800, 6000), chance.randint(1, 4), chance.choice([1.6, 2.0, 2.4])
        seen.append(BatchMeasured(rows=rows, duration_s=replace(TRUE, skew=skew).duration_s(rows, scaleout), scaleout=scaleout, skew=skew))
    model = EMPTY.learn(seen)
    assert model.capacity(4, 5.0).value == pytest.approx(skewed.capacity_rows_per_s(4, 5.0), rel=1e-3)
    unseen = EMPTY.learn([replace(each, skew=1.0) for each in seen])
    assert unseen.capacity(4, 5.0).value == pytest.approx(skewed.capacity_rows_per_s(4, 5.0), rel=0.1)


def with_tasks(per_task_s: float) -> list[BatchMeasured]:
    chance, seen = random.Random(8), []
    for _ in range(80):
        rows, scaleout, tasks = chance.uniform(800, 6000), chance.randint(1, 4), chance.choice([4, 8, 16, 40])
        law = replace(TRUE, partitions=tasks, overhead_s=TRUE.overhead_s + per_task_s * tasks)
        seen.append(BatchMeasured(rows=rows, duration_s=law.duration_s(rows, scaleout) * chance.lognormvariate(0, 0.02), scaleout=scaleout, tasks=tasks))
    return seen


def test_an_overhead_that_grows_with_the_tasks_is_found_where_they_vary() -> None:
    truth = replace(TRUE, partitions=30, overhead_s=TRUE.overhead_s + 0.02 * 30)
    assert BatchCost(partitions=30).learn(with_tasks(0.02)).predict(100, 4).value == pytest.approx(truth.duration_s(100, 4), rel=0.05)


def test_an_overhead_that_does_not_grow_with_the_tasks_stays_constant() -> None:
    assert BatchCost(partitions=100).learn(with_tasks(0.0)).predict(100, 4).value == pytest.approx(TRUE.overhead_s, rel=0.1)


def test_a_limit_of_rows_caps_the_capacity() -> None:
    seen = measured(TRUE, random.Random(9))
    assert BatchCost(partitions=12, limit_rows=1000.0).learn(seen).capacity(6, 5.0).value == 200


def test_its_score_beats_the_constant_and_the_line_without_waves() -> None:
    chance, law = random.Random(10), BatchLaw(overhead_s=0.55, row_s=0.0011, partitions=4)
    batches = []
    for _ in range(60):
        rows, scaleout = chance.uniform(1000, 12000), chance.randint(1, 4)
        batches.append(BatchMeasured(rows=rows, duration_s=law.duration_s(rows, scaleout) * chance.lognormvariate(0, 0.03), scaleout=scaleout))
    score = BatchCost(partitions=4).learn(batches).score()
    assert isinstance(score, Score) and score.held_out == 60 and score.paper_mape is not None
    assert score.mape < 0.04 < 1.5 * score.mape + 0.02 < score.paper_mape < score.constant_mape


def test_noise_that_lasts_over_many_batches_widens_the_bounds() -> None:
    chance, drift, lasting = random.Random(11), 0.0, []
    fresh = measured(TRUE, chance, count=200, noise=0.06, warm_up=0)
    for each in fresh:
        drift = 0.9 * drift + chance.gauss(0, 0.06 * (1 - 0.81) ** 0.5)
        lasting.append(replace(each, duration_s=TRUE.duration_s(each.rows, each.scaleout) * (1 + drift)))
    widths = []
    for seen in (fresh, lasting):
        answer = EMPTY.learn(seen).capacity(4, 5.0)
        widths.append((answer.high - answer.low) / answer.value)
    assert widths[1] > 1.5 * widths[0]


LOADS = np.linspace(10.0, 500.0, 40)
COLUMNS = np.column_stack([np.ones(40), LOADS])


@settings(max_examples=30)
@given(st.integers(0, 1000))
def test_coefficients_and_their_draws_are_never_negative(seed: int) -> None:
    chance = np.random.default_rng(seed)
    fit = fit_durations(COLUMNS, chance.lognormal(0.0, 0.5, 40))
    assert (fit.coefficients >= 0).all() and (fit.draws() >= 0).all()


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_do_not_matter(seed: int, time_unit: float, row_unit: float) -> None:
    durations = (1.0 + 0.01 * LOADS) * np.random.default_rng(seed).lognormal(0.0, 0.1, 40)
    plain, scaled = fit_durations(COLUMNS, durations), fit_durations(COLUMNS * [1.0, row_unit], durations * time_unit)
    assert (scaled.coefficients * [1.0, row_unit] / time_unit).tolist() == pytest.approx(plain.coefficients.tolist(), rel=1e-5, abs=1e-9)


def test_the_left_out_prediction_does_not_follow_the_row_that_was_left_out() -> None:
    durations = 1.0 + 0.01 * LOADS + np.random.default_rng(0).normal(0, 0.05, 40)
    moved = durations.copy()
    moved[0] *= 1.05
    before, after = (fit_durations(COLUMNS, each) for each in (durations, moved))
    assert abs(after.left_out_s[0] - before.left_out_s[0]) < 0.01 < abs(moved[0] - durations[0])


def test_even_points_have_the_quantiles_of_the_uniform() -> None:
    for column in evenly(64, 3).T:
        assert np.abs(np.sort(column) - (np.arange(64) + 0.5) / 64).max() < 0.06
