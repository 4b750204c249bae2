import random
from dataclasses import replace

import numpy as np
import pytest
from conformance import World, conforming
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import filling

from penstock.core.models.capacity.batch_cost import MOST_ALIKE, MOST_BATCHES, PROVEN_BY, BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.capacity.capacity_model import proven_by
from penstock.core.models.capacity.duration_fit import evenly, fit_durations
from penstock.core.models.estimate import Estimate, NotReady

TRUE = BatchLaw(overhead_s=0.6, row_s=0.0012, partitions=12)
EMPTY = BatchCost(partitions=12)


def batch(law: BatchLaw, rows: float, executors: int, times: float = 1.0, **known: float) -> BatchMeasured:
    return BatchMeasured(rows=rows, duration_s=law.duration_s(rows, executors) * times, executors=executors, **known)


def measured(law: BatchLaw, chance: random.Random, count: int = 60, noise: float = 0.06, warm_up: int = 6) -> list[BatchMeasured]:
    """Batches of a job whose rate and number of executors change, the first of them slow."""
    batches = []
    for number in range(count):
        rows, slow = chance.uniform(800, 6000), chance.uniform(1.5, 3.0) if number < warm_up else 1.0
        batches.append(batch(law, rows, 1 + number * 4 // count, slow * chance.lognormvariate(0, noise)))
    return batches


def world(chance: random.Random, truth: float) -> World:
    return World(seen=measured(TRUE, chance), truth=truth)


TestDurationConforms = conforming(empty=EMPTY, world=lambda chance: world(chance, TRUE.duration_s(9000, 4)), ask=lambda model: model.predict(9000, 4))
TestCapacityConforms = conforming(
    empty=EMPTY, world=lambda chance: world(chance, TRUE.capacity_rows_per_s(6, filling(5.0))), ask=lambda model: model.capacity(6, filling(5.0))
)


@settings(max_examples=30)
@given(st.floats(0.05, 5), st.floats(1e-5, 1e-2), st.integers(1, 30), st.integers(1, 4))
def test_exact_batches_give_the_exact_law(overhead_s: float, row_s: float, partitions: int, cores: int) -> None:
    law = BatchLaw(overhead_s=overhead_s, row_s=row_s, partitions=partitions, cores_per_executor=cores)
    seen = [batch(law, rows, s) for rows in (100, 1000, 5000) for s in (1, 2, 5)]
    model = BatchCost(partitions=partitions, cores_per_executor=cores).learn(seen)
    assert model.predict(3000, 3).value == pytest.approx(law.duration_s(3000, 3), rel=1e-4)
    assert model.capacity(3, filling(10.0)).value == pytest.approx(law.capacity_rows_per_s(3, filling(10.0)), rel=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_a_fifth_of_slow_batches_moves_the_law_by_no_more_than_noise(seed: int) -> None:
    model = EMPTY.learn(measured(TRUE, random.Random(seed), count=100, noise=0.04, warm_up=20))
    assert model.capacity(4, filling(5.0)).value == pytest.approx(TRUE.capacity_rows_per_s(4, filling(5.0)), rel=0.06)


def test_one_huge_cold_first_batch_does_not_decide_the_slope() -> None:
    steady = measured(TRUE, random.Random(5), count=30, noise=0.02, warm_up=0)
    assert EMPTY.learn([batch(TRUE, 200_000, 1, times=3.0), *steady]).capacity(4, filling(5.0)).value == pytest.approx(
        TRUE.capacity_rows_per_s(4, filling(5.0)), rel=0.04
    )


@settings(max_examples=20)
@given(st.integers(0, 100), st.floats(0, 20_000), st.floats(0, 20_000), st.integers(1, 12), st.integers(0, 12))
def test_value_and_bounds_rise_with_rows_and_fall_with_executors(seed: int, rows: float, more: float, executors: int, added: int) -> None:
    model = EMPTY.learn(measured(TRUE, random.Random(seed), count=20))
    answers = [model.predict(rows, executors), model.predict(rows + more, executors), model.predict(rows, executors + added)]
    some, longer, wider = (np.array([each.value, each.low, each.high]) for each in answers)
    assert (some <= longer).all() and (wider <= some).all()


def test_batches_of_one_size_only_are_not_enough_and_it_says_so() -> None:
    chance = random.Random(1)
    model = EMPTY.learn([BatchMeasured(rows=1000, duration_s=chance.uniform(1, 1.1), executors=2) for _ in range(50)])
    answer = model.capacity(2, filling(10.0))
    assert isinstance(answer, NotReady) and answer.why.startswith("batches of one size only")
    stray = model.learn([BatchMeasured(rows=9000, duration_s=2.0, executors=2)])
    assert isinstance(stray.capacity(2, filling(10.0)), NotReady)


def test_batches_of_one_size_on_two_numbers_of_executors_separate_overhead_from_cost() -> None:
    assert EMPTY.learn([batch(TRUE, 4000, s) for s in (2, 4) for _ in range(4)]).capacity(6, filling(5.0)).value == pytest.approx(
        TRUE.capacity_rows_per_s(6, filling(5.0)), rel=1e-4
    )


def test_a_steady_day_does_not_push_out_the_batches_that_separate_overhead_from_cost() -> None:
    model = EMPTY.learn(measured(TRUE, random.Random(3), count=40, warm_up=0)).learn([batch(TRUE, 2000, 4)] * 9000)
    assert len(model.batches) <= 40 + MOST_ALIKE and isinstance(model.capacity(4, filling(5.0)), Estimate)


def test_it_keeps_a_bounded_number_of_batches_whatever_it_sees_and_in_any_batching() -> None:
    chance = random.Random(4)
    seen = [BatchMeasured(rows=10 ** chance.uniform(0, 7), duration_s=1.0, executors=chance.randint(1, 50)) for _ in range(3000)]
    whole, pieces = EMPTY.learn(seen), EMPTY
    for start in range(0, len(seen), 70):
        pieces = pieces.learn(seen[start : start + 70])
    kept = [[replace(each, off=None) for each in model.batches] for model in (whole, pieces)]
    assert kept[0] == kept[1] and MOST_BATCHES < len(kept[0]) <= 2 * MOST_BATCHES


def test_a_proof_outlives_the_batches_of_many_other_sizes() -> None:
    proof, small = [batch(TRUE, 50_000, 4)] * PROVEN_BY, [batch(TRUE, rows, 4) for number in range(17) for rows in [100 * 2 ** (number / 2)] * MOST_ALIKE]
    model = EMPTY.learn(proof).learn(small).learn(small)
    cadence = filling(100.0)
    assert len(model.batches) == MOST_BATCHES + PROVEN_BY * 3 and model.batches[:PROVEN_BY] == tuple(proof)
    assert proven_by(model, cadence).rates(np.array([4]), cadence)[0] == pytest.approx(50_000 / TRUE.duration_s(50_000, 4))


def test_batches_of_another_number_of_tasks_show_a_change_too() -> None:
    chance = random.Random(14)
    model = EMPTY.learn(measured(TRUE, chance, count=40, noise=0.03, warm_up=0))
    other = replace(TRUE, partitions=16, row_s=3 * TRUE.row_s)
    for each in measured(other, chance, count=6, noise=0.03, warm_up=0):
        model = model.learn([replace(each, tasks=16)])
    assert model.change is not None and model.change.after_s / model.change.before_s == pytest.approx(3.0, rel=0.15)


def test_empty_batches_and_those_of_the_warm_up_teach_nothing() -> None:
    seen = measured(TRUE, random.Random(6))
    idle = [BatchMeasured(rows=0, duration_s=0.01, executors=1)] * 50
    cold = [BatchMeasured(rows=3000, duration_s=30.0, executors=1, warming=True)] * 50
    assert EMPTY.learn([*idle, *seen, *cold]) == EMPTY.learn(seen)


@pytest.mark.parametrize("wrong", [{"rows": -1.0}, {"duration_s": 0.0}, {"executors": 0}, {"skew": 0.5}, {"rows": float("nan")}])
def test_a_batch_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        BatchMeasured(**{"rows": 1.0, "duration_s": 1.0, "executors": 1, **wrong})  # type: ignore[arg-type]


def test_measured_skew_is_a_factor_on_the_cost_of_a_row() -> None:
    chance, seen, truth = random.Random(7), [], replace(TRUE, skew=2.0).capacity_rows_per_s(4, filling(5.0))
    for _ in range(60):
        rows, executors, skew = chance.uniform(800, 6000), chance.randint(1, 4), chance.choice([1.6, 2.0, 2.4])
        seen.append(batch(replace(TRUE, skew=skew), rows, executors, skew=skew))
    assert EMPTY.learn(seen).capacity(4, filling(5.0)).value == pytest.approx(truth, rel=1e-3)
    assert EMPTY.learn([replace(each, skew=1.0) for each in seen]).capacity(4, filling(5.0)).value == pytest.approx(truth, rel=0.1), "skew was not measured"


@pytest.mark.parametrize(("per_task_s", "tasks", "within"), [(0.02, 30, 0.05), (0.0, 100, 0.1)], ids=["it grows", "it is constant"])
def test_the_overhead_is_found_where_the_number_of_tasks_varies_whether_it_grows_with_them_or_not(per_task_s: float, tasks: int, within: float) -> None:
    def law(partitions: int) -> BatchLaw:
        return replace(TRUE, partitions=partitions, overhead_s=TRUE.overhead_s + per_task_s * partitions)

    chance, seen = random.Random(8), []
    for _ in range(80):
        rows, executors, each = chance.uniform(800, 6000), chance.randint(1, 4), chance.choice([4, 8, 16, 40])
        seen.append(batch(law(each), rows, executors, chance.lognormvariate(0, 0.02), tasks=each))
    assert BatchCost(partitions=tasks).learn(seen).predict(100, 4).value == pytest.approx(law(tasks).duration_s(100, 4), rel=within)


def test_its_score_beats_the_constant_and_the_line_without_waves() -> None:
    chance, law = random.Random(10), BatchLaw(overhead_s=0.55, row_s=0.0011, partitions=4)
    batches = [batch(law, chance.uniform(1000, 12000), chance.randint(1, 4), chance.lognormvariate(0, 0.03)) for _ in range(60)]
    score = BatchCost(partitions=4).learn(batches).score()
    assert score.held_out == 60 and score.mape < 0.04 < 1.5 * score.mape + 0.02 < score.paper_mape < score.constant_mape


def test_noise_that_lasts_over_many_batches_widens_the_bounds() -> None:
    chance, drift, lasting = random.Random(11), 0.0, []
    fresh = measured(TRUE, chance, count=200, noise=0.06, warm_up=0)
    for each in fresh:
        drift = 0.9 * drift + chance.gauss(0, 0.06 * (1 - 0.81) ** 0.5)
        lasting.append(batch(TRUE, each.rows, each.executors, 1 + drift))
    narrow, wide = (EMPTY.learn(seen).capacity(4, filling(5.0)) for seen in (fresh, lasting))
    assert (wide.high - wide.low) / wide.value > 1.5 * (narrow.high - narrow.low) / narrow.value


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


@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 8))
def test_the_busiest_executor_is_busy_for_as_long_as_its_tasks_run(executors: int, partitions: int, cores: int) -> None:
    (share,) = BatchCost(partitions=partitions, cores_per_executor=cores).busiest_share(np.array([executors])).tolist()
    rounds = -(-partitions // (executors * cores))
    assert share == pytest.approx(-(-partitions // executors) / (rounds * cores)) and 0 < share <= 1


@pytest.mark.parametrize(("runs", "computes", "part"), [(True, True, "row"), (False, False, "skew"), (True, False, "waiting"), (None, None, "row")])
@pytest.mark.parametrize("times", [1.6, 0.6])
def test_a_row_that_lengthens_batches_more_costs_more_waits_or_is_spread_less_evenly(runs: bool | None, computes: bool | None, part: str, times: float) -> None:
    def seen(times: float, count: int, chance: random.Random) -> list[BatchMeasured]:
        def spent(changes: bool | None) -> float | None:
            return None if changes is None else TRUE.row_s * (times if changes else 1.0) * chance.lognormvariate(0, 0.03)

        law = replace(TRUE, row_s=TRUE.row_s * times)
        rows = [chance.uniform(3000, 6000) for _ in range(count)]
        return [replace(batch(law, each, 2, chance.lognormvariate(0, 0.03)), task_row_s=spent(runs), cpu_row_s=spent(computes)) for each in rows]

    chance = random.Random(3)
    model = EMPTY.learn(seen(1.0, 40, chance))
    for each in seen(times, 8, chance):
        model = model.learn([each])
        if model.change:
            break
    assert model.change is not None and model.change.part == part
    assert model.change.after_s / model.change.before_s == pytest.approx(times, rel=0.1)
    later = model.learn(seen(times, 20, chance))
    assert later.predict(5000, 2).value == pytest.approx(replace(TRUE, row_s=TRUE.row_s * times).duration_s(5000, 2), rel=0.1)


def alike(times: float, count: int, outside_s: float = 0.6) -> list[BatchMeasured]:
    """Batches of one size, of which so much more is spent in tasks or outside of them."""
    in_tasks_s = TRUE.duration_s(4000, 2) - TRUE.overhead_s
    took = [outside_s + times * in_tasks_s * (1.0 + 0.02 * (-1) ** number) for number in range(count)]
    return [BatchMeasured(rows=4000 + number % 3, duration_s=each, executors=2, outside_s=outside_s) for number, each in enumerate(took)]


@pytest.mark.parametrize(("later", "part"), [({"times": 3.0}, "row"), ({"times": 1.0, "outside_s": 5.0}, "overhead")])
def test_batches_of_one_size_that_take_longer_are_a_change_and_prove_no_more_what_they_did(later: dict[str, float], part: str) -> None:
    model = EMPTY.learn(alike(1.0, 20))
    assert isinstance(model.laws(), NotReady) and model.change is None
    cadence = filling(60.0)
    (before,) = proven_by(model, cadence).rates(np.array([2]), cadence)
    for each in alike(count=5, **later):  # type: ignore[arg-type]
        model = model.learn([each])
    assert model.change is not None and model.change.part == part
    (after,) = proven_by(model, cadence).rates(np.array([2]), cadence)
    assert after == pytest.approx(before * alike(1.0, 2)[0].duration_s / alike(count=2, **later)[0].duration_s, rel=0.1)  # type: ignore[arg-type]


def test_batches_of_which_others_took_some_time_are_neither_the_change_nor_moved_by_it() -> None:
    chance = random.Random(12)
    model = EMPTY.learn(measured(TRUE, chance, count=40, noise=0.03, warm_up=0))
    slower = replace(TRUE, row_s=2 * TRUE.row_s)
    for each in measured(slower, chance, count=5, noise=0.03, warm_up=0):
        contended = replace(each, duration_s=each.duration_s / 0.6, taken=0.4)
        model = model.learn([each, contended])
        if model.change is None:
            continue
        assert model.change.after_s / model.change.before_s == pytest.approx(2.0, rel=0.1)
        assert model.batches[-1] == contended, "it was measured after the change began"
    assert model.change is not None


def test_each_next_batch_is_predicted_and_so_is_the_saturated_throughput_that_it_implies() -> None:
    chance = random.Random(13)
    seen = measured(TRUE, chance, count=80, noise=0.05, warm_up=0)
    model = EMPTY.learn(seen[:20])
    assert isinstance(model.next_durations.score(), NotReady), "nothing was known before"
    for each in seen[20:]:
        model = model.learn([each])
    durations, saturated = model.next_durations.score(), model.next_saturated.score()
    assert not isinstance(durations, NotReady) and not isinstance(saturated, NotReady)
    assert durations.held_out == 59 and durations.mape < 0.08 < durations.constant_mape
    assert saturated.mape < 0.12 and 0 < saturated.held_out <= 59
