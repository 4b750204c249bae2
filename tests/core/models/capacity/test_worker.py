"""One worker's capacity, from its throughput and utilisation."""

from __future__ import annotations

import random
from statistics import mean

import pytest
from conformance import Case, Conformance, World
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.readings import WorkerReading
from penstock.core.models.capacity.worker import WorkerCapacity
from penstock.core.models.estimate import Estimate, NotReady

CAPACITY = 50_000.0


def reading(utilization: float, throughput: float) -> WorkerReading:
    return WorkerReading(worker="1", utilization=utilization, throughput_rows_per_s=throughput)


def seen(
    chance: random.Random, *, idle: float, cpu_noise: float, rate_noise: float = 0.04, low: float = 0.1, high: float = 0.5, readings: int = 80
) -> list[WorkerReading]:
    loads = [low + (high - low) * index / (readings - 1) for index in range(readings)]
    return [reading(max(0.0, idle + (1 - idle) * load + chance.gauss(0.0, cpu_noise)), CAPACITY * load * (1 + chance.gauss(0.0, rate_noise))) for load in loads]


def at_full(model: WorkerCapacity) -> Estimate:
    answer = model.predict(1.0)
    assert isinstance(answer, Estimate)
    return answer


def by_law(model: WorkerCapacity) -> Estimate:
    answer = model.predict_by_utilization_law(1.0)
    assert isinstance(answer, Estimate)
    return answer


INDEPENDENT = "readings are taken to overlap, as averages over a minute do, and these do not"


class TestConformanceOfTheRegression(Conformance):
    """The paper's regression is for utilisation without noise."""

    case = Case(
        empty=WorkerCapacity(),
        world=lambda chance: World(seen=seen(chance, idle=0.03, cpu_noise=0.0, low=0.2, high=0.8), truth=CAPACITY),
        ask=lambda model: model.predict(1.0),
        wide=INDEPENDENT,
    )


class TestConformanceOfTheUtilizationLaw(Conformance):
    case = Case(
        empty=WorkerCapacity(),
        world=lambda chance: World(seen=seen(chance, idle=0.03, cpu_noise=0.03), truth=CAPACITY),
        ask=lambda model: model.predict_by_utilization_law(1.0),
        wide=INDEPENDENT,
    )


@settings(max_examples=30)
@given(st.floats(-0.1, 0.1), st.floats(0.3, 1.0), st.floats(10.0, 1e6))
def test_without_noise_both_are_exact_at_any_utilisation(idle: float, asked: float, capacity: float) -> None:
    model = WorkerCapacity().learn([reading(utilization, capacity * (utilization - idle)) for utilization in (0.15, 0.2, 0.3, 0.5)])
    truth = capacity * (asked - idle)
    law = model.predict_by_utilization_law(asked)
    regression = model.predict(asked)
    assert isinstance(law, Estimate) and isinstance(regression, Estimate)
    assert [law.value, regression.value] == pytest.approx([truth, truth], rel=1e-6)


def test_noise_of_utilisation_flattens_the_regression_and_not_the_law() -> None:
    models = [WorkerCapacity().learn(seen(random.Random(seed), idle=0.02, cpu_noise=0.05)) for seed in range(30)]
    assert mean(at_full(model).value for model in models) < 0.93 * CAPACITY
    assert mean(by_law(model).value for model in models) == pytest.approx(CAPACITY, rel=0.03)


def test_without_variance_in_utilisation_it_is_the_ratio_and_less_sure_the_further_one_asks() -> None:
    model = WorkerCapacity().learn([reading(0.7, 35_000.0)] * 10)
    near, far = model.predict(0.75), model.predict(1.0)
    assert isinstance(near, Estimate) and isinstance(far, Estimate)
    assert far.value == pytest.approx(50_000.0)
    assert near.high / near.low < far.high / far.low < 1.2


def test_the_ratio_at_low_utilisation_is_less_sure_than_at_high() -> None:
    low, high = (at_full(WorkerCapacity().learn([reading(u, 50_000.0 * u)] * 10)) for u in (0.2, 0.8))
    assert low.high - low.low > 3 * (high.high - high.low)


def test_more_readings_make_it_surer() -> None:
    few, many = (at_full(WorkerCapacity().learn(seen(random.Random(5), idle=0.0, cpu_noise=0.01, readings=n))) for n in (20, 400))
    assert many.high - many.low < 0.5 * (few.high - few.low)


def test_two_readings_are_not_enough_and_idle_ones_never_are() -> None:
    assert isinstance(WorkerCapacity().learn([reading(0.2, 1.0), reading(0.4, 2.0)]).predict(1.0), NotReady)
    idle = WorkerCapacity().learn([reading(0.0, 0.0)] * 9)
    assert isinstance(idle.predict(1.0), NotReady) and isinstance(idle.predict_by_utilization_law(1.0), NotReady)


def test_what_is_not_a_number_or_negative_is_left_out() -> None:
    good = [reading(0.2, 200.0), reading(0.4, 400.0), reading(0.6, 600.0)]
    bad = [reading(float("nan"), 1.0), reading(0.1, float("inf")), reading(-1.0, 1.0), reading(0.5, -5.0)]
    assert WorkerCapacity().learn(good + bad) == WorkerCapacity().learn(good)
