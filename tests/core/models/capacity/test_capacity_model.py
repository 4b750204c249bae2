import random
from dataclasses import replace

import numpy as np
import pytest
from conformance import World, conforming
from executor_moments import moment
from hypothesis import given
from hypothesis import strategies as st
from laws import filling

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.capacity.capacity_model import MICRO_BATCH, UTILIZATION, CapacityModel, CapacitySeen, choose_capacity_model, proven_by
from penstock.core.models.estimate import Estimate, Estimates, NotReady

LAW = BatchLaw(overhead_s=1.0, row_s=0.0012, partitions=12)
INTERVAL_S = 5.0
EMPTY = CapacityModel(by_batches=BatchCost(partitions=12))


def turn(chance: random.Random, at_s: float, rate: float, executors: int, *, cpu_noise: float = 0.01, time_noise: float = 0.02) -> CapacitySeen:
    """Three batches of a job whose tasks are spread evenly: the busiest executor has ceil(P/s) of them."""
    rows = rate * INTERVAL_S
    times = [LAW.duration_s(rows, executors) * chance.lognormvariate(0.0, time_noise) for _ in range(3)]
    tasks = [12 // executors + (use < 12 % executors) for use in range(executors)]
    uses = [(max(0.0, count * rows / 12 * LAW.row_s / INTERVAL_S + chance.gauss(0.0, cpu_noise)), rate * count / 12) for count in tasks]
    batches = tuple(BatchMeasured(rows=rows, duration_s=duration_s, executors=executors) for duration_s in times)
    return CapacitySeen(uses=moment(at_s, *uses, prefix=f"{executors}-"), batches=batches)


def turns(chance: random.Random, executors: int = 3, count: int = 21, begin_s: float = 0.0, **noise: float) -> list[CapacitySeen]:
    most = LAW.capacity_rows_per_s(executors, filling(INTERVAL_S))
    return [turn(chance, begin_s + 15.0 * number, most * chance.uniform(0.3, 0.8), executors, **noise) for number in range(count)]


def now_and_then(chance: random.Random) -> list[CapacitySeen]:
    """Batches are committed in every third turn."""
    return [each if number % 3 == 0 else replace(each, batches=()) for number, each in enumerate(turns(chance))]


TestConformance = conforming(
    empty=EMPTY,
    world=lambda chance: World(seen=now_and_then(chance), truth=LAW.capacity_rows_per_s(3, filling(INTERVAL_S))),
    ask=lambda model: model.capacity(3, filling(INTERVAL_S)),
)


def rescaled(seed: int = 1) -> list[CapacitySeen]:
    """A job that goes through numbers of executors, some of which need the same waves as the one before."""
    chance, seen = random.Random(seed), []
    for stay, executors in enumerate((3, 5, 4, 11, 6, 7)):
        seen += turns(chance, executors, count=8, begin_s=600.0 * stay)
    return seen


def test_the_batch_cost_knows_waves_and_so_predicts_executors_not_seen() -> None:
    model = EMPTY.learn(rescaled())
    choice = model.choice(8, filling(INTERVAL_S))
    assert choice.model == MICRO_BATCH and f"the {UTILIZATION} " in choice.why
    assert model.capacity(8, filling(INTERVAL_S)).value == pytest.approx(LAW.capacity_rows_per_s(8, filling(INTERVAL_S)), rel=0.05)
    assert model.by_utilization.predict(executors=8).value > 1.1 * LAW.capacity_rows_per_s(8, filling(INTERVAL_S))


def test_where_durations_are_noisy_the_regression_answers_and_stops_where_batches_fill_the_interval() -> None:
    model = EMPTY.learn(turns(random.Random(2), count=40, cpu_noise=0.002, time_noise=0.3))
    assert model.choice(3, filling(INTERVAL_S)).model == UTILIZATION
    assert model.capacity(3, filling(INTERVAL_S)).value == pytest.approx(LAW.capacity_rows_per_s(3, filling(INTERVAL_S)), rel=0.1)
    assert model.by_utilization.predict().value == pytest.approx(LAW.capacity_rows_per_s(3, filling(INTERVAL_S)) / (1 - LAW.overhead_s / INTERVAL_S), rel=0.06)


def test_where_utilisation_is_noisy_and_low_the_batch_cost_answers_though_the_regression_fits_what_it_saw() -> None:
    chance = random.Random(3)
    most = LAW.capacity_rows_per_s(3, filling(INTERVAL_S))
    model = EMPTY.learn([turn(chance, 15.0 * number, most * chance.uniform(0.2, 0.35), 3, cpu_noise=0.05) for number in range(21)])
    assert model.choice(3, filling(INTERVAL_S)).model == MICRO_BATCH
    assert model.capacity(3, filling(INTERVAL_S)).value == pytest.approx(most, rel=0.15)


def test_the_regression_is_not_used_before_there_are_a_few_batches() -> None:
    seen = [replace(each, batches=()) for each in turns(random.Random(9), count=12)]
    assert isinstance(EMPTY.learn(seen).capacity(3, filling(INTERVAL_S)), NotReady)
    assert isinstance(CapacityModel().learn(seen).capacity(3, None), Estimate), "without micro-batches there is nothing to wait for"


def test_batches_of_one_size_leave_the_regression_and_the_reason_is_passed_on() -> None:
    chance = random.Random(4)
    model = EMPTY.learn([turn(chance, 15.0 * number, 2000.0, 3) for number in range(12)])
    choice = model.choice(3, filling(INTERVAL_S))
    assert choice.model == UTILIZATION and "batches of one size only" in choice.why and isinstance(model.capacity(3, filling(INTERVAL_S)), Estimate)


def test_without_whole_readings_of_the_executors_the_batch_cost_answers() -> None:
    seen = [replace(each, uses=replace(each.uses, uses=each.uses.uses[:1])) for each in turns(random.Random(5))]
    model = EMPTY.learn(seen)
    assert model.choice(3, filling(INTERVAL_S)).model == MICRO_BATCH and model.choice(3, filling(INTERVAL_S)).why.startswith("no utilisation regression")
    assert model.capacity(3, filling(INTERVAL_S)).value == pytest.approx(LAW.capacity_rows_per_s(3, filling(INTERVAL_S)), rel=0.05)


def test_without_batches_the_regression_answers_for_a_busiest_executor_that_is_all_busy() -> None:
    seen = turns(random.Random(6))
    model = CapacityModel().learn(seen)
    assert model.choice(3, filling(INTERVAL_S)).model == UTILIZATION and "no batches" in model.choice(3, filling(INTERVAL_S)).why
    assert model.capacity(3, filling(INTERVAL_S)) == model.by_utilization.predict(executors=3)


def test_a_limit_of_rows_caps_the_answer() -> None:
    for noise in ({"cpu_noise": 0.002, "time_noise": 0.15}, {}):
        earned = CapacityModel(by_batches=BatchCost(partitions=12, limit_rows=1000.0)).learn(turns(random.Random(7), **noise))
        assert earned.capacity(3, filling(INTERVAL_S)).value == 200.0


def alike(at_s: float, utilization: float, rows_per_s: float, executors: int = 1) -> CapacitySeen:
    return CapacitySeen(uses=moment(at_s, *[(utilization, rows_per_s / executors)] * executors, prefix=f"{executors}-"))


def test_what_executors_have_carried_they_can_carry_however_unsure_their_line_is() -> None:
    chance = random.Random(8)
    few = [alike(5.0 * number, chance.uniform(0.2, 0.9), 45.0 + number) for number in range(8)]
    model = CapacityModel().learn([*few, *(alike(60.0 + 5.0 * number, 0.5, 90.0, executors=2) for number in range(8))])
    line = model.by_utilization.predict(executors=1)
    assert isinstance(line, Estimate) and line.low == 0.0, "the line alone leaves open whether it can carry anything"
    known = model.capacity(1, filling(10.0))
    assert isinstance(known, Estimate) and known.low >= 0.8 * 45.0 and known.value >= 45.0 * 0.99
    assert "it has carried at least 48 rows/s" in model.choice(1, filling(10.0)).why


def test_what_executors_have_carried_is_half_forgotten_when_their_line_is() -> None:
    learnt = CapacityModel().by_utilization.learn([alike(15.0 * number, 0.5, 100.0).uses for number in range(8)])
    assert learnt.carried() == pytest.approx({1: 100.0})
    later = learnt.learn([alike(learnt.half_life_s + 15.0 * number, 0.5, 150.0, executors=2).uses for number in range(9)])
    assert later.carried() == pytest.approx({1: 50.0, 2: 150.0}, rel=0.02)


def sure(value: float, share: float) -> Estimates:
    return Estimates(value=np.array([value]), low=np.array([value * (1 - share)]), high=np.array([value * (1 + share)]))


@pytest.mark.parametrize(
    ("batches", "utilization", "model"), [(0.1, 0.3, MICRO_BATCH), (0.2, 0.2, MICRO_BATCH), (0.2, 0.11, MICRO_BATCH), (0.2, 0.05, UTILIZATION)]
)
def test_the_physical_form_answers_unless_the_regression_is_far_surer_and_not_zero(batches: float, utilization: float, model: str) -> None:
    assert choose_capacity_model(sure(1000.0, 0.9), sure(0.0, 0.0)).model == MICRO_BATCH
    choice = choose_capacity_model(sure(1000.0, batches), sure(800.0, utilization))
    assert choice.model == model and ("far surer" in choice.why) == (model == UTILIZATION)
    assert f"1,000 rows/s, ± {100 * batches:.0f} %" in choice.why and f"800 rows/s, ± {100 * utilization:.0f} %" in choice.why


SHORT_S = 2.0


def batches(law: BatchLaw, rows: float, executors: int, count: int = 5) -> list[BatchMeasured]:
    return [BatchMeasured(rows=rows, duration_s=law.duration_s(rows, executors), executors=executors, tasks=law.partitions)] * count


@given(overhead_s=st.floats(0.0, 1.5), row_us=st.floats(1.0, 5000.0), rows=st.floats(10.0, 1e5), executors=st.integers(1, 12), asked=st.integers(1, 16))
def test_what_is_proven_is_never_more_than_what_is_true(overhead_s: float, row_us: float, rows: float, executors: int, asked: int) -> None:
    law = BatchLaw(overhead_s=overhead_s, row_s=row_us / 1e6, partitions=12)
    if law.duration_s(rows, executors) > SHORT_S:
        return
    proven = proven_by(BatchCost(partitions=12).learn(batches(law, rows, executors)), filling(SHORT_S))
    of_asked, of_seen = proven.rates(np.array([asked, executors]), filling(SHORT_S))
    assert of_asked <= law.capacity_rows_per_s(asked, filling(SHORT_S)) * (1 + 1e-9)
    assert of_seen >= rows / SHORT_S * (1 - 1e-9), "it has just done so much"


def test_two_batches_prove_nothing_and_a_lucky_one_neither() -> None:
    law = BatchLaw(overhead_s=0.2, row_s=0.004, partitions=12)
    some = batches(law, 1000.0, 4)
    assert proven_by(BatchCost(partitions=12).learn(some[:2]), filling(SHORT_S)) is None
    lucky = replace(some[0], duration_s=0.1)
    usual, with_luck = (proven_by(BatchCost(partitions=12).learn(seen), filling(SHORT_S)) for seen in (some, [*some, lucky]))
    assert usual is not None and with_luck == usual


def test_executors_that_carry_their_load_are_not_said_to_fail_by_a_line_through_few_utilisations() -> None:
    """Rows and durations hardly move, so that the cost of a row is open; utilisation falls while executors warm up, so that its line is wrong."""
    seen = []
    for number in range(12):
        rows = 2100.0 + 10.0 * number
        batch = BatchMeasured(rows=rows, duration_s=1.35 - 0.005 * number, executors=4, tasks=12)
        seen.append(replace(alike(2.0 * number, 0.75 - 0.01 * number, rows / SHORT_S, executors=4), batches=(batch,)))
    model = CapacityModel(by_batches=BatchCost(partitions=12)).learn(seen)
    answer = model.capacity(4, filling(SHORT_S))
    assert answer.value >= 2100.0 * SHORT_S / 1.35 / SHORT_S and answer.low > 1200.0
    assert "the batches prove at least" in model.choice(4, filling(SHORT_S)).why


def test_of_a_nearly_idle_job_fewer_executors_each_carry_at_least_what_each_carried_among_many() -> None:
    """Two percent busy, and CPU that is noise for the most part: a line through that says nothing of fewer executors."""
    rng, seen = random.Random(3), []
    for number in range(20):
        uses = [(0.02 + rng.gauss(0.0, 0.004), rng.uniform(80.0, 120.0)) for _ in range(12)]
        seen.append(CapacitySeen(uses=moment(15.0 * number, *uses)))
    for executors in (1, 3, 6):
        answer = CapacityModel().learn(seen).capacity(executors, None)
        assert answer.value >= answer.low >= 0.8 * 100.0 * executors
