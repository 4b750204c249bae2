import csv
import random
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean

import pytest
from conformance import World, conforming
from executor_moments import moment, moved
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses, as_arrays
from penstock.core.models.capacity.job_capacity import JobCapacity, Method
from penstock.core.models.estimate import Estimate, NotReady
from penstock.selftest.worlds.uneven_executors import UnevenExecutors, rising, skewed, waving

QUIET = UnevenExecutors(proportions=(1.0, 0.8, 0.6), speeds=(1000.0, 1000.0, 1000.0), idle=0.0, utilization_noise=0.0, throughput_noise=0.0)
METHODS: list[Method] = ["utilization_law", "daedalus"]


def world(chance: random.Random, utilization_noise: float = 0.03) -> World:
    uneven = skewed(chance, utilization_noise=utilization_noise)
    return World(seen=uneven.ramp(chance, rising(0.1, 0.5, 80)), truth=uneven.capacity)


STEADY = "there is room for rows that come to cost more, and here they do not"
TestConformance = conforming(empty=JobCapacity(), world=world, wide=STEADY)


def drifting(chance: random.Random) -> World:
    """Rows come to cost up to 6 % more or less while they are learnt, and noise of utilisation lasts for a minute."""
    uneven = replace(skewed(chance, 4), noise_lasts_s=60.0, dearer=1.0 + chance.uniform(-0.06, 0.06))
    return World(seen=uneven.ramp(chance, waving(0.1, 0.5, 50)), truth=uneven.capacity)


def every_second(chance: random.Random) -> World:
    """Averages of a minute, read every second."""
    uneven = replace(skewed(chance, 3), noise_lasts_s=60.0, utilization_noise=0.04, idle=chance.uniform(0.0, 0.05))
    return World(seen=uneven.ramp(chance, rising(0.25, 0.5, 150), period_s=1.0), truth=uneven.capacity)


def late(chance: random.Random) -> World:
    """Utilisation is the average of the minute before, and throughput is not."""
    uneven = skewed(chance, 3)
    ramp = uneven.ramp(chance, waving(0.1, 0.5, 60))
    busy, _ = as_arrays(ramp)
    means = [busy[max(0, place - 3) : place + 1].mean(axis=0).tolist() for place in range(len(ramp))]
    seen = [replace(each, uses=tuple(map(at_utilization, each.uses, mean))) for each, mean in zip(ramp, means, strict=True)]
    return World(seen=seen, truth=uneven.capacity)


def at_utilization(executor: ExecutorUse, utilization: float) -> ExecutorUse:
    return replace(executor, utilization=utilization)


TestConformanceWhereUtilisationComesLater = conforming(empty=JobCapacity(), world=late, wide=STEADY)
TestConformanceWhereRowsComeToCostMore = conforming(empty=JobCapacity(), world=drifting)
TestConformanceOfReadingsThatOverlap = conforming(empty=JobCapacity(), world=every_second)


def idle_apart(chance: random.Random) -> World:
    """UnevenExecutors without load are at 0 to 15 %, each at its own; rows come to cost up to 6 % more or less."""
    uneven = replace(skewed(chance, 6), dearer=1.0 + chance.uniform(-0.06, 0.06), noise_lasts_s=60.0)
    uneven = replace(uneven, idles=tuple(max(0.0, chance.gauss(0.06, 0.04)) for _ in uneven.proportions))
    return World(seen=uneven.ramp(chance, waving(0.1, 0.5, 50)), truth=uneven.capacity)


TestConformanceWhereIdleDiffersByExecutor = conforming(empty=JobCapacity(), world=idle_apart)


def half_the_executors(chance: random.Random) -> World:
    """Twelve executors were seen, and six are asked for: the truth is half the capacity, give or take the split of the data."""
    whole = world(chance)
    return World(seen=whole.seen, truth=0.5 * whole.truth * (1.0 + chance.gauss(0.0, 0.08)))


TestConformanceAtOtherExecutors = conforming(empty=JobCapacity(), world=half_the_executors, ask=lambda model: model.predict(executors=6))
TestConformanceOfThePaper = conforming(empty=JobCapacity(method="daedalus"), world=lambda chance: world(chance, utilization_noise=0.003), wide=STEADY)


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_it_is_exact_and_the_executors_add_up(method: Method) -> None:
    model = JobCapacity(method=method).learn(QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20)))
    assert model.predict().value == pytest.approx(2400.0)
    assert model.predict(at_utilization=0.5).value == pytest.approx(1200.0)
    assert [use.proportion for use in model.each_executor()] == pytest.approx([1.0, 0.8, 0.6])
    assert [use.capacity_rows_per_s for use in model.each_executor()] == pytest.approx([1000.0, 800.0, 600.0])
    assert model.skew() == pytest.approx(3000.0 / 2400.0)


def test_an_idle_share_of_utilisation_is_separated_from_load() -> None:
    uneven = replace(QUIET, idle=0.1)
    assert JobCapacity().learn(uneven.ramp(random.Random(0), rising(0.1, 0.5, 20))).predict().value == pytest.approx(2400.0)


def test_executors_may_differ_in_idle_utilisation_and_the_first_to_be_full_decides() -> None:
    uneven = replace(QUIET, proportions=(0.95, 1.0, 0.6), idles=(0.2, 0.0, 0.1))
    model = JobCapacity(idle_spread=0.2).learn(uneven.ramp(random.Random(0), rising(0.1, 0.4, 20)))
    assert model.predict().value == pytest.approx(2550.0, rel=1e-3), "worker 1 is full first, though worker 0 was the busiest of all that was seen"
    assert [use.proportion for use in model.each_executor()] == pytest.approx([0.96, 1.0, 0.64], rel=1e-3)
    assert model.skew() == pytest.approx((0.8 + 1.0 + 0.9) / (0.76 + 1.0 + 0.54), rel=1e-3)
    half = model.predict_throughput(uneven.ramp(random.Random(0), [0.5])[0])
    assert isinstance(half, Estimate) and half.value == pytest.approx(1275.0, rel=1e-3)


def test_idle_that_differs_by_executor_costs_less_than_five_per_cent() -> None:
    errors = []
    for seed in range(20):
        chance = random.Random(seed)
        alike = skewed(chance, 6, utilization_noise=0.02)
        uneven = replace(alike, idles=tuple(max(0.0, chance.gauss(0.06, 0.036)) for _ in alike.proportions))
        errors.append(abs(JobCapacity().learn(uneven.ramp(chance, rising(0.1, 0.5, 80))).predict().value / uneven.capacity - 1.0))
    assert mean(errors) < 0.03 and max(errors) < 0.08


def test_executors_that_differ_beyond_belief_are_taken_for_alike() -> None:
    """One that is full cannot become busier: its line is flat, and says that it is full without any load."""
    uneven = replace(QUIET, throughput_noise=0.02)
    ramp = uneven.ramp(random.Random(0), waving(0.9, 1.0, 60))
    full = [replace(reading, uses=(at_utilization(reading.uses[0], 0.98), *reading.uses[1:])) for reading in ramp]
    assert JobCapacity().learn(full).predict().value == pytest.approx(mean(map(total, full)) / 0.98, rel=0.02)


def test_noise_of_utilisation_does_not_bend_the_law_as_it_bends_the_paper() -> None:
    errors: dict[Method, list[float]] = {method: [] for method in METHODS}
    for seed in range(20):
        chance = random.Random(seed)
        uneven = skewed(chance, utilization_noise=0.04)
        seen = uneven.ramp(chance, rising(0.05, 0.5, 60))
        for method, found in errors.items():
            found.append(abs(JobCapacity(method=method).learn(seen).predict().value / uneven.capacity - 1.0))
    assert mean(errors["utilization_law"]) < 0.03
    assert mean(errors["daedalus"]) > 0.07


def test_a_few_glitches_change_little() -> None:
    chance = random.Random(3)
    uneven = skewed(chance)
    seen = uneven.ramp(chance, rising(0.1, 0.5, 80))
    spoiled = list(seen)
    for index in (5, 21, 22, 50, 79):
        broken = (index % 2 or use.executor == "03" for use in seen[index].uses)
        uses = (replace(each, utilization=0.95, throughput_rows_per_s=0.0) if bad else each for each, bad in zip(seen[index].uses, broken, strict=True))
        spoiled[index] = replace(seen[index], uses=tuple(uses))
    assert JobCapacity().learn(spoiled).predict().value == pytest.approx(JobCapacity().learn(seen).predict().value, rel=0.02)


def test_warming_up_and_incomplete_readings_are_left_out() -> None:
    seen = QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20))
    cold = [replace(reading, since_change_s=59.0, uses=tuple(replace(w, throughput_rows_per_s=1.0) for w in reading.uses)) for reading in seen]
    partial = [replace(reading, uses=reading.uses[:2]) for reading in seen]
    assert JobCapacity().learn([*cold, *partial]) == JobCapacity()
    assert JobCapacity().learn([*cold, *seen, *partial]) == JobCapacity().learn(seen)


def test_one_level_of_load_gives_the_ratio_with_wide_bounds() -> None:
    model = JobCapacity().learn(QUIET.ramp(random.Random(0), [0.4] * 20))
    estimate = model.predict()
    assert estimate.value == pytest.approx(2400.0) and estimate.low < 2200.0 and estimate.high > 2600.0


def test_an_unseen_number_of_executors_is_the_average_and_less_sure_the_further_away() -> None:
    model = JobCapacity().learn(QUIET.ramp(random.Random(0), rising(0.1, 0.9, 40)))
    near, far = model.predict(executors=4), model.predict(executors=12)
    assert [near.value, far.value] == pytest.approx([3200.0, 9600.0])
    assert near.high / near.low < far.high / far.low


def test_a_number_of_executors_seen_before_is_remembered_and_fades_into_the_average() -> None:
    three = QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20))
    pair = UnevenExecutors(proportions=(1.0, 1.0), speeds=(1000.0, 1000.0), idle=0.0, utilization_noise=0.0, throughput_noise=0.0)
    two = moved(pair.ramp(random.Random(0), rising(0.1, 0.5, 20)), later_s=1000.0, prefix="b")
    model = JobCapacity().learn([*three, *two])
    assert model.predict().value == pytest.approx(2000.0)
    assert model.predict(executors=3).value == pytest.approx(2400.0, rel=0.02)
    much_later = model.learn(moved(two, later_s=model.half_life_s, prefix=""))
    assert much_later.predict(executors=3).value == pytest.approx(2700.0, rel=0.02)
    assert much_later.predict(executors=3).high > model.predict(executors=3).high


def test_as_many_new_executors_begin_anew_and_lean_on_memory() -> None:
    first = QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20))
    second = moved(replace(QUIET, speeds=(900.0, 900.0, 900.0)).ramp(random.Random(0), rising(0.1, 0.5, 20)), later_s=1000.0, prefix="new")
    model = JobCapacity().learn(first)
    assert model.learn(second[:2]).predict().value == pytest.approx(2400.0)
    assert model.learn(second).predict().value == pytest.approx(2160.0, rel=0.02) and len(model.learn(second).each_executor()) == 3


@settings(max_examples=20)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 9), st.integers(0, 1000))
def test_rescales_are_learnt_the_same_in_any_batching(executor_counts: list[int], size: int, seed: int) -> None:
    chance = random.Random(seed)
    seen: list[ExecutorUses] = []
    for stay, executors in enumerate(executor_counts):
        uneven = skewed(chance, executors)
        seen += moved(uneven.ramp(chance, rising(0.1, 0.4, 12)), later_s=600.0 * stay, prefix=f"{stay}-")
    whole, pieces = JobCapacity().learn(seen), JobCapacity()
    for start in range(0, len(seen), size):
        pieces = pieces.learn(seen[start : start + size])
    for executors in (1, 3, 5):
        assert pieces.predict(executors=executors).value == pytest.approx(whole.predict(executors=executors).value, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_executors_that_process_nothing_are_ignored_and_alone_give_no_capacity_of_zero(method: Method) -> None:
    idle = ExecutorUse(executor="z", utilization=0.0, throughput_rows_per_s=0.0)
    with_idle = [replace(reading, executors=4, uses=(*reading.uses, idle)) for reading in QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20))]
    assert JobCapacity(method=method).learn(with_idle).predict().value == pytest.approx(2400.0)
    assert isinstance(JobCapacity(method=method).learn([moment(15.0 * i, (0.0, 0.0)) for i in range(9)]).predict(), NotReady)
    busy = [moment(15.0 * i, (0.1 + 0.02 * i, 0.0)) for i in range(12)]
    assert JobCapacity(method=method).learn(busy).predict() == NotReady(why="no executor processed anything in them")


def test_the_same_readings_in_less_time_make_it_less_sure() -> None:
    uneven = skewed(random.Random(4))
    slow, quick = (JobCapacity().learn(uneven.ramp(random.Random(4), rising(0.1, 0.5, 60), period_s=period_s)).predict() for period_s in (60.0, 1.0))
    assert slow.value == pytest.approx(quick.value, rel=0.02)
    assert quick.high - quick.low > 1.2 * (slow.high - slow.low)


def test_readings_close_together_make_it_surer_where_each_is_an_average_over_less_time() -> None:
    seen = skewed(random.Random(4)).ramp(random.Random(4), rising(0.1, 0.5, 60), period_s=5.0)
    by_minutes, by_seconds = (JobCapacity(averaging_s=averaging_s).learn(seen).predict() for averaging_s in (60.0, 5.0))
    assert by_seconds.value == pytest.approx(by_minutes.value, rel=0.02)
    assert by_minutes.high - by_minutes.low > 1.2 * (by_seconds.high - by_seconds.low)


def test_throughput_is_predicted_from_the_mean_utilisation_and_not_from_the_highest_noise() -> None:
    chance = random.Random(5)
    uneven = skewed(chance, utilization_noise=0.05)
    model = JobCapacity().learn(uneven.ramp(chance, rising(0.1, 0.5, 80))).settled()
    said = [model.predict_throughput(reading) for reading in uneven.ramp(chance, [0.8] * 30)]
    assert mean(each.value for each in said if isinstance(each, Estimate)) == pytest.approx(0.8 * uneven.capacity, rel=0.03)


def test_settled_it_answers_the_same_and_before_anything_was_learnt_there_are_no_executors_and_no_skew() -> None:
    model = JobCapacity().learn(QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20)))
    assert model.waiting and not model.settled().waiting
    assert model.settled().predict() == model.predict() and model.settled().each_executor() == model.each_executor()
    assert JobCapacity().each_executor() == () and isinstance(JobCapacity().skew(), NotReady)


def alone(*seen: tuple[float, float]) -> list[ExecutorUses]:
    """One executor, read every minute, with these utilisations and throughputs."""
    return [moment(60.0 * number, each) for number, each in enumerate(seen)]


@settings(max_examples=30)
@given(st.floats(-0.1, 0.1), st.floats(0.3, 1.0), st.floats(10.0, 1e6), st.sampled_from(METHODS))
def test_without_noise_an_executor_is_exact_at_any_utilisation(idle: float, asked: float, capacity: float, method: Method) -> None:
    seen = alone(*((utilization, capacity * (utilization - idle)) for utilization in (0.15, 0.2, 0.3, 0.5)))
    assert JobCapacity(method=method).learn(seen).predict(at_utilization=asked).value == pytest.approx(capacity * (asked - idle), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_ratio_at_one_utilisation_is_less_sure_the_further_one_asks_from_it(method: Method) -> None:
    model = JobCapacity(method=method).learn(alone(*[(0.7, 35_000.0)] * 10))
    near, far = model.predict(at_utilization=0.75), model.predict(at_utilization=1.0)
    assert far.value == pytest.approx(50_000.0) and near.high / near.low < far.high / far.low < 1.25
    low = JobCapacity(method=method).learn(alone(*[(0.2, 10_000.0)] * 10)).predict()
    assert low.high - low.low > 2 * (far.high - far.low)


@pytest.mark.parametrize("method", METHODS)
def test_more_readings_make_it_surer(method: Method) -> None:
    few, many = (JobCapacity(method=method).learn(skewed(random.Random(5)).ramp(random.Random(5), rising(0.1, 0.9, n))).predict() for n in (20, 400))
    assert many.high - many.low < 0.7 * (few.high - few.low)


@pytest.mark.parametrize("method", METHODS)
def test_two_readings_are_not_enough(method: Method) -> None:
    assert isinstance(JobCapacity(method=method).learn(alone((0.2, 1.0), (0.4, 2.0))).predict(), NotReady)


@pytest.mark.parametrize("bad", [(float("nan"), 1.0), (0.1, float("inf")), (-1.0, 1.0), (0.5, -5.0)])
def test_what_is_not_a_number_or_negative_is_left_out(bad: tuple[float, float]) -> None:
    good = alone((0.2, 200.0), (0.4, 400.0), (0.6, 600.0))
    assert JobCapacity().learn([*good, *alone(bad)]) == JobCapacity().learn(good)


MEASURED = Path("/work/shared/data/workers_p12_saturated.csv")
"""Twelve executors at maximum load, as measured for Daedalus."""
with_measured = pytest.mark.skipif(not MEASURED.exists(), reason="the measured data is not here")


@cache
def measured() -> list[ExecutorUses]:
    moments: dict[float, list[ExecutorUse]] = defaultdict(list)
    with MEASURED.open() as lines:
        for row in csv.DictReader(lines):
            executor = ExecutorUse(executor=row["worker"], utilization=float(row["cpu"]), throughput_rows_per_s=float(row["throughput"]))
            moments[float(row["t_s"])].append(executor)
    return [ExecutorUses(at_s=at_s, executors=len(each), since_change_s=None, uses=tuple(each)) for at_s, each in sorted(moments.items())]


def total(reading: ExecutorUses) -> float:
    return sum(use.throughput_rows_per_s for use in reading.uses)


def busiest(reading: ExecutorUses) -> float:
    return max(use.utilization for use in reading.uses)


@with_measured
@pytest.mark.parametrize("method", METHODS)
def test_at_the_utilisation_measured_the_capacity_is_the_throughput_measured_also_of_later_minutes(method: Method) -> None:
    whole, third = measured(), len(measured()) // 3
    for learnt, asked, within in ((whole, whole, 0.03), (whole[:third], whole[third:], 0.1)):
        estimate = JobCapacity(method=method).learn(learnt).predict(at_utilization=mean(map(busiest, asked)))
        assert estimate.value == pytest.approx(mean(map(total, asked)), rel=within)


@with_measured
def test_the_executors_are_skewed() -> None:
    model = JobCapacity().learn(measured())
    skew = model.skew()
    assert isinstance(skew, float) and 1.1 < skew < 1.4
    assert max(use.proportion for use in model.each_executor()) == 1.0
