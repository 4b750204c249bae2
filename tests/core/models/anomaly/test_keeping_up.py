import random
from math import pi, sin

import pytest
from conformance import DETECTS, World, conforming

from penstock.core.models.anomaly.keeping_up import FlowSeen, KeepingUp

DELAY_S = 20.0


def load(t: float) -> float:
    return 50_000.0 + 40_000.0 * sin(2 * pi * t / 3600.0)


def flow(at_s: float, workload: float, throughput: float | None) -> FlowSeen:
    return FlowSeen(at_s=at_s, workload_rows_per_s=workload, throughput_rows_per_s=throughput)


def flows(rng: random.Random, count: int, noise: float = 200.0) -> list[FlowSeen]:
    return [flow(5.0 * n, load(5.0 * n), load(5.0 * n - DELAY_S) + rng.gauss(0.0, noise)) for n in range(count)]


def world(rng: random.Random) -> World:
    *seen, last = flows(rng, 400)
    return World(seen=seen, truth=last.difference_rows_per_s)


TestConformance = conforming(empty=KeepingUp(), world=world, unscored=DETECTS)


def test_it_finds_how_far_two_metrics_are_apart_in_time() -> None:
    assert KeepingUp().learn(flows(random.Random(1), 700)).delay_s == pytest.approx(DELAY_S, rel=0.1)


def test_the_delay_between_metrics_is_no_deviation() -> None:
    model = KeepingUp().learn(flows(random.Random(2), 700))
    without_noise = max(abs(each.difference_rows_per_s or 0.0) for each in flows(random.Random(3), 700, noise=0.0))
    assert without_noise > 1300.0 and model.deviation < 300.0


def test_watching_learns_nothing_but_the_slope() -> None:
    model = KeepingUp().learn(flows(random.Random(4), 100))
    rising = model.watch(flow(500.0, 90_000.0, 0.0))
    assert rising.slope > model.slope and (rising.moments, rising.readings) == (model.moments, model.readings)


def test_old_readings_fade() -> None:
    early, late = [flow(float(n), 100.0, 100.0) for n in range(50)], [flow(20_000.0 + n, 100.0, 90.0) for n in range(50)]
    assert KeepingUp().learn(early).learn(late).predict().value == pytest.approx(10.0, abs=0.5)


def test_a_slope_that_health_has_not_shown_is_given_more_room() -> None:
    rng = random.Random(5)
    ramp = model = KeepingUp().learn([flow(float(n), 1000.0 + rng.gauss(0, 1), 1000.0) for n in range(200)])
    for n in range(60):
        ramp = ramp.watch(flow(200.0 + n, 1000.0 + 20.0 * n, None))
    assert ramp.deviation > 10 * model.deviation
