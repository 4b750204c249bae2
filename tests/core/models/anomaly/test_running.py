from __future__ import annotations

import random

import numpy as np
import pytest
from conformance import DETECTS, Case, Conformance, World
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.anomaly.flow import FlowSeen
from penstock.core.models.anomaly.running import Running, RunningDifference


def healthy(rng: random.Random, count: int) -> list[FlowSeen]:
    return [FlowSeen(at_s=float(t), workload_rows_per_s=1000.0, throughput_rows_per_s=1000.0 - rng.gauss(20.0, 30.0)) for t in range(count)]


def world(rng: random.Random) -> World:
    *seen, last = healthy(rng, 61)
    assert last.difference_rows_per_s is not None
    return World(seen=seen, truth=last.difference_rows_per_s)


class TestConformance(Conformance):
    case = Case(empty=RunningDifference(), world=world, ask=lambda model: model.predict(), unscored=DETECTS)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_mean_and_deviation_are_those_of_all_values_together(values: list[float]) -> None:
    running = Running()
    for value in values:
        running = running.with_value(value)
    assert running.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert running.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-4, rel=1e-6)


def test_one_sigma_flags_about_a_third_of_healthy_readings() -> None:
    seen = healthy(random.Random(1), 3000)
    model = RunningDifference().learn(seen)
    flagged = sum(model.anomalous(each) is True for each in seen) / len(seen)
    assert flagged == pytest.approx(0.317, abs=0.03)


def test_readings_that_lack_a_side_are_neither_learnt_nor_judged() -> None:
    model = RunningDifference().learn(healthy(random.Random(2), 10))
    unknown = FlowSeen(at_s=0.0, workload_rows_per_s=1000.0, throughput_rows_per_s=None)
    assert model.learn([unknown]) == model
    assert model.anomalous(unknown) is None
