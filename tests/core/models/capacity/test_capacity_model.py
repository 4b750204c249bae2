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
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.capacity.capacity_model import FADES_S, MICRO_BATCH, UTILIZATION, VAGUE, CapacityModel, CapacitySeen, proven_by
from penstock.core.models.estimate import Estimate, NotReady

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
    assert choice.model == MICRO_BATCH and choice.why.startswith("by durations and utilisation: ")
    assert model.capacity(8, filling(INTERVAL_S)).value == pytest.approx(LAW.capacity_rows_per_s(8, filling(INTERVAL_S)), rel=0.05)
    assert model.by_utilization.predict(executors=8).value > 1.1 * LAW.capacity_rows_per_s(8, filling(INTERVAL_S))


def test_a_nearly_idle_job_whose_load_never_changed_is_known_by_the_time_of_its_tasks() -> None:
    chance, rows = random.Random(4), 100.0 * INTERVAL_S
    seen = []
    for number in range(30):
        batch = BatchMeasured(rows=rows, duration_s=LAW.duration_s(rows, 12) * chance.lognormvariate(0.0, 0.1), executors=12, outside_s=1.0, tasks=12)
        uses = moment(15.0 * number, *[(rows / 12 * LAW.row_s / INTERVAL_S * chance.uniform(0.9, 1.1), 100.0 / 12)] * 12, prefix="12-")
        seen.append(CapacitySeen(uses=uses, batches=(batch,)))
    assert isinstance(EMPTY.learn(seen).capacity(4, filling(INTERVAL_S)), NotReady)
    timed = [replace(each, batches=tuple(replace(batch, task_row_s=LAW.row_s) for batch in each.batches)) for each in seen]
    found = EMPTY.learn(timed).capacity(4, filling(INTERVAL_S))
    assert isinstance(found, Estimate)
    assert 100.0 < found.value <= LAW.capacity_rows_per_s(4, filling(INTERVAL_S)) <= found.high, "a third of the executors carry it by what batches prove"


@pytest.mark.parametrize(
    ("noise", "load"),
    [
        pytest.param({"cpu_noise": 0.002, "time_noise": 0.3}, (0.3, 0.8), id="noisy durations: utilisation bounds what a row costs"),
        pytest.param({"cpu_noise": 0.05, "time_noise": 0.02}, (0.2, 0.35), id="noisy and low utilisation: durations show it"),
        pytest.param({"cpu_noise": 0.002, "time_noise": 0.02}, (0.5, 0.5), id="batches of one size only: utilisation shows it"),
    ],
)
def test_durations_and_utilisation_make_up_for_what_the_other_leaves_open(noise: dict[str, float], load: tuple[float, float]) -> None:
    chance, most = random.Random(2), LAW.capacity_rows_per_s(3, filling(INTERVAL_S))
    model = EMPTY.learn([turn(chance, 15.0 * number, most * chance.uniform(*load), 3, **noise) for number in range(40)])
    found = model.capacity(3, filling(INTERVAL_S))
    assert isinstance(found, Estimate) and found.value == pytest.approx(most, rel=0.2) and found.low <= most <= found.high
    assert model.choice(3, filling(INTERVAL_S)).model == MICRO_BATCH


def test_the_regression_is_not_used_before_there_are_a_few_batches() -> None:
    seen = [replace(each, batches=()) for each in turns(random.Random(9), count=12)]
    assert isinstance(EMPTY.learn(seen).capacity(3, filling(INTERVAL_S)), NotReady)
    assert isinstance(CapacityModel().learn(seen).capacity(3, filling(INTERVAL_S)), Estimate), "without micro-batches there is nothing to wait for"


def test_why_utilisation_alone_answers_is_passed_on() -> None:
    chance = random.Random(4)
    model = EMPTY.learn([turn(chance, 15.0 * number, 2000.0, 3) for number in range(12)])
    assert "by utilisation alone, batches of one size only" in model.choice(3, filling(INTERVAL_S)).why


def test_without_whole_readings_of_the_executors_the_batch_cost_answers() -> None:
    seen = [replace(each, uses=replace(each.uses, uses=each.uses.uses[:1])) for each in turns(random.Random(5))]
    model = EMPTY.learn(seen)
    assert model.capacity(3, filling(INTERVAL_S)).value == pytest.approx(LAW.capacity_rows_per_s(3, filling(INTERVAL_S)), rel=0.05)


def test_a_capacity_that_spans_a_factor_of_three_is_not_known_and_what_is_proven_counts() -> None:
    chance = random.Random(6)
    some = [BatchMeasured(rows=rows, duration_s=2.0 * chance.lognormvariate(0.0, 0.4), executors=3) for rows in (1000.0, 1300.0, 1700.0) * 4]
    model = CapacityModel(by_batches=BatchCost(partitions=12).learn(some))
    found, proven = model.capacity(3, filling(INTERVAL_S)), proven_by(model.by_batches, filling(INTERVAL_S))
    assert isinstance(found, Estimate) and proven is not None and found.high > VAGUE * found.low
    assert found.value == proven.rates(np.array([3]), filling(INTERVAL_S))[0]
    assert "what is proven counts" in model.choice(3, filling(INTERVAL_S)).why


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


def test_what_was_carried_outlives_the_newest_batches_and_fades_over_hours() -> None:
    law = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12)
    peak = [replace(each, at_s=60.0) for each in batches(law, 12_000.0, 4)]
    quiet = [replace(each, at_s=600.0 + 5.0 * number) for number, each in enumerate(batches(law, 600.0, 4, count=300))]
    cost = BatchCost(partitions=12).learn([*peak, *quiet])
    before, after = (proven_by(each, filling(5.0)) for each in (BatchCost(partitions=12).learn(peak), cost))
    late = proven_by(cost.learn([replace(quiet[0], at_s=60.0 + FADES_S)]), filling(5.0))
    assert before is not None and after is not None and late is not None
    rates = [each.rates(np.array([4]), filling(5.0))[0] for each in (before, after, late)]
    assert rates[1] == pytest.approx(rates[0], rel=0.1) and rates[2] == pytest.approx(rates[0] / 2)


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        pytest.param({"overhead_s": 3.0}, "overhead", id="a slower driver or checkpoint"),
        pytest.param({"row_s": 0.008}, "row", id="dearer rows"),
        pytest.param({"row_s": 0.002}, "row", id="cheaper rows"),
    ],
)
def test_a_changed_cost_is_believed_after_a_few_batches_and_said_to_be_of_its_part(changed: dict[str, float], part: str) -> None:
    before, chance = BatchLaw(overhead_s=1.0, row_s=0.004, partitions=12), random.Random(3)

    def some(law: BatchLaw, count: int, from_s: float) -> list[BatchMeasured]:
        rows = [chance.uniform(4000.0, 12_000.0) for _ in range(count)]
        noise = [chance.lognormvariate(0.0, 0.05) for _ in rows]
        return [
            BatchMeasured(rows=each, duration_s=law.duration_s(each, 4) * factor, executors=4, at_s=from_s + 10.0 * place)
            for place, (each, factor) in enumerate(zip(rows, noise, strict=True))
        ]

    cost = BatchCost(partitions=12).learn(some(before, 60, 0.0))
    assert cost.change is None
    for batch in some(replace(before, **changed), 8, 600.0):
        cost = cost.learn([batch])
    assert cost.change is not None and cost.change.part == part
    truth = replace(before, **changed).capacity_rows_per_s(4, filling(20.0))
    assert cost.capacity(4, filling(20.0)).value == pytest.approx(truth, rel=0.1)
    proven = proven_by(cost, filling(20.0))
    assert proven is not None and proven.rates(np.array([4]), filling(20.0))[0] <= truth * 1.05, "what was carried before the change proves nothing any more"


def test_the_time_that_others_took_is_not_the_cost_of_a_row() -> None:
    law, chance = BatchLaw(overhead_s=1.0, row_s=0.004, partitions=12), random.Random(5)

    def batch(place: int, taken: float) -> BatchMeasured:
        rows = chance.uniform(4000.0, 12_000.0)
        took_s = law.duration_s(rows, 4) * chance.lognormvariate(0.0, 0.05) / (1.0 - taken)
        return BatchMeasured(rows=rows, duration_s=took_s, executors=4, at_s=10.0 * place, taken=taken)

    quiet, busy = ([batch(place, taken if place >= 20 else 0.0) for place in range(40)] for taken in (0.0, 0.5))
    alone, beside = (BatchCost(partitions=12).learn(seen) for seen in (quiet, busy))
    assert beside.change is None and beside.capacity(4, filling(20.0)).value == pytest.approx(law.capacity_rows_per_s(4, filling(20.0)), rel=0.05)
    narrow, wide = (each.capacity(4, filling(20.0)) for each in (alone, beside))
    assert wide.high - wide.low > narrow.high - narrow.low, "estimates get wider, not wrong"


def test_the_time_that_a_task_takes_whatever_its_rows_is_no_cost_of_rows() -> None:
    """As measured on Spark: 12 tasks of 180 rows that wait 1.25 ms each, and 0.1 s to open their source; batches of one size."""
    chance, rows, executors, fixed_s, row_s = random.Random(5), 2190.0, 4, 0.1, 0.00125
    task_s = fixed_s + row_s * rows / 12

    def seen(number: int) -> CapacitySeen:
        took_s = 0.12 + 3 * task_s * chance.uniform(1.0, 1.15)
        uses = [(3 * task_s / 2.0 * chance.uniform(0.98, 1.02), rows / 2.0 / executors) for _ in range(executors)]
        batch = BatchMeasured(rows=rows, duration_s=took_s, executors=executors, tasks=12, outside_s=0.12, task_row_s=12 * task_s / rows)
        return CapacitySeen(uses=moment(2.0 * number, *uses), batches=(batch,))

    laws = EMPTY.learn([seen(number) for number in range(20)]).laws()
    assert isinstance(laws, LikelyLaws)
    saturated = laws.estimate(lambda law: law.saturated_rows_per_s(3, 2.0))
    assert saturated.value == pytest.approx(3 / row_s, rel=0.2) and saturated.low <= 3 / row_s <= saturated.high
