import csv
import random
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import mean

import pytest
from conformance import World, conforming
from hypothesis import given, settings
from hypothesis import strategies as st
from worker_moments import moment, moved

from penstock.core.models.capacity.job_capacity import JobCapacity, Method
from penstock.core.models.capacity.worker_readings import WorkerReading, WorkersReading, as_arrays
from penstock.core.models.estimate import Estimate, NotReady
from penstock.selftest.worlds.workers import Workers, rising, skewed, waving

QUIET = Workers(proportions=(1.0, 0.8, 0.6), speeds=(1000.0, 1000.0, 1000.0), idle=0.0, utilization_noise=0.0, throughput_noise=0.0)
METHODS: list[Method] = ["utilization_law", "daedalus"]


def world(chance: random.Random, utilization_noise: float = 0.03) -> World:
    workers = skewed(chance, utilization_noise=utilization_noise)
    return World(seen=workers.ramp(chance, rising(0.1, 0.5, 80)), truth=workers.capacity)


STEADY = "there is room for rows that come to cost more, and here they do not"
TestConformance = conforming(empty=JobCapacity(), world=world, wide=STEADY)


def drifting(chance: random.Random) -> World:
    """Rows come to cost up to 6 % more or less while they are learnt, and noise of utilisation lasts for a minute."""
    workers = replace(skewed(chance, 4), noise_lasts_s=60.0, dearer=1.0 + chance.uniform(-0.06, 0.06))
    return World(seen=workers.ramp(chance, waving(0.1, 0.5, 50)), truth=workers.capacity)


def every_second(chance: random.Random) -> World:
    """Averages of a minute, read every second."""
    workers = replace(skewed(chance, 3), noise_lasts_s=60.0, utilization_noise=0.04, idle=chance.uniform(0.0, 0.05))
    return World(seen=workers.ramp(chance, rising(0.25, 0.5, 150), period_s=1.0), truth=workers.capacity)


def late(chance: random.Random) -> World:
    """Utilisation is the average of the minute before, and throughput is not."""
    workers = skewed(chance, 3)
    ramp = workers.ramp(chance, waving(0.1, 0.5, 60))
    busy, _ = as_arrays(ramp)
    means = [busy[max(0, place - 3) : place + 1].mean(axis=0).tolist() for place in range(len(ramp))]
    seen = [replace(each, workers=tuple(map(at_utilization, each.workers, mean))) for each, mean in zip(ramp, means, strict=True)]
    return World(seen=seen, truth=workers.capacity)


def at_utilization(worker: WorkerReading, utilization: float) -> WorkerReading:
    return replace(worker, utilization=utilization)


TestConformanceWhereUtilisationComesLater = conforming(empty=JobCapacity(), world=late, wide=STEADY)
TestConformanceWhereRowsComeToCostMore = conforming(empty=JobCapacity(), world=drifting)
TestConformanceOfReadingsThatOverlap = conforming(empty=JobCapacity(), world=every_second)


def idle_apart(chance: random.Random) -> World:
    """Workers without load are at 0 to 15 %, each at its own; rows come to cost up to 6 % more or less."""
    workers = replace(skewed(chance, 6), dearer=1.0 + chance.uniform(-0.06, 0.06), noise_lasts_s=60.0)
    workers = replace(workers, idles=tuple(max(0.0, chance.gauss(0.06, 0.04)) for _ in workers.proportions))
    return World(seen=workers.ramp(chance, waving(0.1, 0.5, 50)), truth=workers.capacity)


TestConformanceWhereIdleDiffersByWorker = conforming(empty=JobCapacity(), world=idle_apart)


def half_the_workers(chance: random.Random) -> World:
    """Twelve workers were seen, and six are asked for: the truth is half the capacity, give or take the split of the data."""
    whole = world(chance)
    return World(seen=whole.seen, truth=0.5 * whole.truth * (1.0 + chance.gauss(0.0, 0.08)))


TestConformanceAtOtherExecutors = conforming(empty=JobCapacity(), world=half_the_workers, ask=lambda model: model.predict(executors=6))
TestConformanceOfThePaper = conforming(empty=JobCapacity(method="daedalus"), world=lambda chance: world(chance, utilization_noise=0.003), wide=STEADY)


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_it_is_exact_and_the_workers_add_up(method: Method) -> None:
    model = JobCapacity(method=method).learn(QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20)))
    assert model.predict().value == pytest.approx(2400.0)
    assert model.predict(at_utilization=0.5).value == pytest.approx(1200.0)
    assert [worker.proportion for worker in model.workers()] == pytest.approx([1.0, 0.8, 0.6])
    assert [worker.capacity_rows_per_s for worker in model.workers()] == pytest.approx([1000.0, 800.0, 600.0])
    assert model.skew() == pytest.approx(3000.0 / 2400.0)


def test_an_idle_share_of_utilisation_is_separated_from_load() -> None:
    workers = replace(QUIET, idle=0.1)
    assert JobCapacity().learn(workers.ramp(random.Random(0), rising(0.1, 0.5, 20))).predict().value == pytest.approx(2400.0)


def test_workers_may_differ_in_idle_utilisation_and_the_first_to_be_full_decides() -> None:
    workers = replace(QUIET, proportions=(0.95, 1.0, 0.6), idles=(0.2, 0.0, 0.1))
    model = JobCapacity(idle_spread=0.2).learn(workers.ramp(random.Random(0), rising(0.1, 0.4, 20)))
    assert model.predict().value == pytest.approx(2550.0, rel=1e-3), "worker 1 is full first, though worker 0 was the busiest of all that was seen"
    assert [worker.proportion for worker in model.workers()] == pytest.approx([0.96, 1.0, 0.64], rel=1e-3)
    assert model.skew() == pytest.approx((0.8 + 1.0 + 0.9) / (0.76 + 1.0 + 0.54), rel=1e-3)
    half = model.predict_throughput(workers.ramp(random.Random(0), [0.5])[0])
    assert isinstance(half, Estimate) and half.value == pytest.approx(1275.0, rel=1e-3)


def test_idle_that_differs_by_worker_costs_less_than_five_per_cent() -> None:
    errors = []
    for seed in range(20):
        chance = random.Random(seed)
        alike = skewed(chance, 6, utilization_noise=0.02)
        workers = replace(alike, idles=tuple(max(0.0, chance.gauss(0.06, 0.036)) for _ in alike.proportions))
        errors.append(abs(JobCapacity().learn(workers.ramp(chance, rising(0.1, 0.5, 80))).predict().value / workers.capacity - 1.0))
    assert mean(errors) < 0.03 and max(errors) < 0.08


def test_workers_that_differ_beyond_belief_are_taken_for_alike() -> None:
    """One that is full cannot become busier: its line is flat, and says that it is full without any load."""
    workers = replace(QUIET, throughput_noise=0.02)
    ramp = workers.ramp(random.Random(0), waving(0.9, 1.0, 60))
    full = [replace(reading, workers=(at_utilization(reading.workers[0], 0.98), *reading.workers[1:])) for reading in ramp]
    assert JobCapacity().learn(full).predict().value == pytest.approx(mean(map(total, full)) / 0.98, rel=0.02)


def test_noise_of_utilisation_does_not_bend_the_law_as_it_bends_the_paper() -> None:
    errors: dict[Method, list[float]] = {method: [] for method in METHODS}
    for seed in range(20):
        chance = random.Random(seed)
        workers = skewed(chance, utilization_noise=0.04)
        seen = workers.ramp(chance, rising(0.05, 0.5, 60))
        for method, found in errors.items():
            found.append(abs(JobCapacity(method=method).learn(seen).predict().value / workers.capacity - 1.0))
    assert mean(errors["utilization_law"]) < 0.03
    assert mean(errors["daedalus"]) > 0.07


def test_a_few_glitches_change_little() -> None:
    chance = random.Random(3)
    workers = skewed(chance)
    seen = workers.ramp(chance, rising(0.1, 0.5, 80))
    spoiled = list(seen)
    for index in (5, 21, 22, 50, 79):
        broken = (index % 2 or worker.worker == "03" for worker in seen[index].workers)
        workers = (replace(each, utilization=0.95, throughput_rows_per_s=0.0) if bad else each for each, bad in zip(seen[index].workers, broken, strict=True))
        spoiled[index] = replace(seen[index], workers=tuple(workers))
    assert JobCapacity().learn(spoiled).predict().value == pytest.approx(JobCapacity().learn(seen).predict().value, rel=0.02)


def test_warming_up_and_incomplete_readings_are_left_out() -> None:
    seen = QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20))
    cold = [replace(reading, since_change_s=59.0, workers=tuple(replace(w, throughput_rows_per_s=1.0) for w in reading.workers)) for reading in seen]
    partial = [replace(reading, workers=reading.workers[:2]) for reading in seen]
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
    pair = Workers(proportions=(1.0, 1.0), speeds=(1000.0, 1000.0), idle=0.0, utilization_noise=0.0, throughput_noise=0.0)
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
    assert model.learn(second).predict().value == pytest.approx(2160.0, rel=0.02) and len(model.learn(second).workers()) == 3


@settings(max_examples=20)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(1, 9), st.integers(0, 1000))
def test_rescales_are_learnt_the_same_in_any_batching(executor_counts: list[int], size: int, seed: int) -> None:
    chance = random.Random(seed)
    seen: list[WorkersReading] = []
    for stay, executors in enumerate(executor_counts):
        workers = skewed(chance, executors)
        seen += moved(workers.ramp(chance, rising(0.1, 0.4, 12)), later_s=600.0 * stay, prefix=f"{stay}-")
    whole, pieces = JobCapacity().learn(seen), JobCapacity()
    for start in range(0, len(seen), size):
        pieces = pieces.learn(seen[start : start + size])
    for executors in (1, 3, 5):
        assert pieces.predict(executors=executors).value == pytest.approx(whole.predict(executors=executors).value, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_workers_that_process_nothing_are_ignored_and_alone_give_no_capacity_of_zero(method: Method) -> None:
    idle = WorkerReading(worker="z", utilization=0.0, throughput_rows_per_s=0.0)
    with_idle = [replace(reading, executors=4, workers=(*reading.workers, idle)) for reading in QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20))]
    assert JobCapacity(method=method).learn(with_idle).predict().value == pytest.approx(2400.0)
    assert isinstance(JobCapacity(method=method).learn([moment(15.0 * i, (0.0, 0.0)) for i in range(9)]).predict(), NotReady)
    busy = [moment(15.0 * i, (0.1 + 0.02 * i, 0.0)) for i in range(12)]
    assert JobCapacity(method=method).learn(busy).predict() == NotReady(why="no worker processed anything in them")


def test_the_same_readings_in_less_time_make_it_less_sure() -> None:
    workers = skewed(random.Random(4))
    slow, quick = (JobCapacity().learn(workers.ramp(random.Random(4), rising(0.1, 0.5, 60), period_s=period_s)).predict() for period_s in (60.0, 1.0))
    assert slow.value == pytest.approx(quick.value, rel=0.02)
    assert quick.high - quick.low > 1.2 * (slow.high - slow.low)


def test_readings_close_together_make_it_surer_where_each_is_an_average_over_less_time() -> None:
    seen = skewed(random.Random(4)).ramp(random.Random(4), rising(0.1, 0.5, 60), period_s=5.0)
    by_minutes, by_seconds = (JobCapacity(averaging_s=averaging_s).learn(seen).predict() for averaging_s in (60.0, 5.0))
    assert by_seconds.value == pytest.approx(by_minutes.value, rel=0.02)
    assert by_minutes.high - by_minutes.low > 1.2 * (by_seconds.high - by_seconds.low)


def test_throughput_is_predicted_from_the_mean_utilisation_and_not_from_the_highest_noise() -> None:
    chance = random.Random(5)
    workers = skewed(chance, utilization_noise=0.05)
    model = JobCapacity().learn(workers.ramp(chance, rising(0.1, 0.5, 80))).settled()
    said = [model.predict_throughput(reading) for reading in workers.ramp(chance, [0.8] * 30)]
    assert mean(each.value for each in said if isinstance(each, Estimate)) == pytest.approx(0.8 * workers.capacity, rel=0.03)


def test_settled_it_answers_the_same_and_before_anything_was_learnt_there_are_no_workers_and_no_skew() -> None:
    model = JobCapacity().learn(QUIET.ramp(random.Random(0), rising(0.1, 0.5, 20)))
    assert model.waiting and not model.settled().waiting
    assert model.settled().predict() == model.predict() and model.settled().workers() == model.workers()
    assert JobCapacity().workers() == () and isinstance(JobCapacity().skew(), NotReady)


def alone(*seen: tuple[float, float]) -> list[WorkersReading]:
    """One worker, read every minute, with these utilisations and throughputs."""
    return [moment(60.0 * number, each) for number, each in enumerate(seen)]


@settings(max_examples=30)
@given(st.floats(-0.1, 0.1), st.floats(0.3, 1.0), st.floats(10.0, 1e6), st.sampled_from(METHODS))
def test_without_noise_a_worker_is_exact_at_any_utilisation(idle: float, asked: float, capacity: float, method: Method) -> None:
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
"""Twelve workers at maximum load, as measured for Daedalus."""
with_measured = pytest.mark.skipif(not MEASURED.exists(), reason="the measured data is not here")


@cache
def measured() -> list[WorkersReading]:
    moments: dict[float, list[WorkerReading]] = defaultdict(list)
    with MEASURED.open() as lines:
        for row in csv.DictReader(lines):
            worker = WorkerReading(worker=row["worker"], utilization=float(row["cpu"]), throughput_rows_per_s=float(row["throughput"]))
            moments[float(row["t_s"])].append(worker)
    return [WorkersReading(at_s=at_s, executors=len(each), since_change_s=None, workers=tuple(each)) for at_s, each in sorted(moments.items())]


def total(reading: WorkersReading) -> float:
    return sum(worker.throughput_rows_per_s for worker in reading.workers)


def busiest(reading: WorkersReading) -> float:
    return max(worker.utilization for worker in reading.workers)


@with_measured
@pytest.mark.parametrize("method", METHODS)
def test_at_the_utilisation_measured_the_capacity_is_the_throughput_measured_also_of_later_minutes(method: Method) -> None:
    whole, third = measured(), len(measured()) // 3
    for learnt, asked, within in ((whole, whole, 0.03), (whole[:third], whole[third:], 0.1)):
        estimate = JobCapacity(method=method).learn(learnt).predict(at_utilization=mean(map(busiest, asked)))
        assert estimate.value == pytest.approx(mean(map(total, asked)), rel=within)


@with_measured
def test_the_workers_are_skewed() -> None:
    model = JobCapacity().learn(measured())
    skew = model.skew()
    assert isinstance(skew, float) and 1.1 < skew < 1.4
    assert max(worker.proportion for worker in model.workers()) == 1.0
