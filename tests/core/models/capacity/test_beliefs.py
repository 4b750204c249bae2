import math
import random

import numpy as np
import pytest
from executor_moments import moved
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.capacity.beliefs import UNSEEN_SPREAD, Remembered, beliefs_elsewhere
from penstock.core.models.capacity.executor_lines import CapacityLine
from penstock.core.models.capacity.job_capacity import JobCapacity
from penstock.core.models.estimate import student_estimate
from penstock.selftest.worlds.uneven_executors import UnevenExecutors, rising

LINES = st.builds(
    CapacityLine,
    intercept=st.floats(-500.0, 500.0),
    slope=st.floats(0.0, 1e5),
    variance=st.tuples(st.floats(0.0, 1e4), st.floats(-1e4, 1e4), st.floats(0.0, 1e4)),
    freedom=st.floats(-1.0, 50.0),
)


def elsewhere(known: Remembered, at_utilization: float, executors: int) -> tuple[float, float]:
    """The average per executor times the number of executors, less certain the further away."""
    times, value = executors / known.executors, known.line.value_at(at_utilization)
    doubts = known.doubt(at_utilization), UNSEEN_SPREAD * math.log2(times)
    return value * times, times**2 * (known.line.variance_at(at_utilization) + sum((doubt * value) ** 2 for doubt in doubts))


@given(LINES, st.integers(1, 50), st.floats(0.05, 1.0), st.lists(st.tuples(st.integers(1, 2000), st.floats(0.0, 1.0)), min_size=1, max_size=20))
def test_each_number_of_executors_is_predicted_from_the_average(line: CapacityLine, executors: int, highest: float, asked: list[tuple[int, float]]) -> None:
    known = Remembered(executors=executors, at_s=0.0, readings=10.0, line=line, highest_utilization=highest)
    beliefs = beliefs_elsewhere(known, np.array([busy for _, busy in asked]), np.array([executors for executors, _ in asked]))
    expected = [elsewhere(known, busy, executors) for executors, busy in asked]
    assert beliefs.value.tolist() == pytest.approx([value for value, _ in expected], rel=1e-9)
    assert beliefs.variance.tolist() == pytest.approx([variance for _, variance in expected], rel=1e-9)
    for said, (value, variance) in zip(beliefs.estimates().each(), expected, strict=True):
        alone = student_estimate(value, variance, line.freedom)
        assert [said.value, said.low, said.high] == pytest.approx([alone.value, alone.low, alone.high], rel=1e-9, abs=1e-6)


def learnt(*executor_counts: int) -> JobCapacity:
    """A job that stayed at each of these for a while, an hour after the one before and with other executors."""
    model = JobCapacity()
    for number, executors in enumerate(executor_counts):
        uneven = UnevenExecutors(proportions=(1.0,) * executors, speeds=(1000.0,) * executors, idle=0.0, utilization_noise=0.01, throughput_noise=0.01)
        model = model.learn(moved(uneven.ramp(random.Random(number), rising(0.1, 0.5, 20)), later_s=3600.0 * number, prefix=f"{number}-"))
    return model


def test_executors_seen_before_and_never_are_answered_together_as_alone() -> None:
    model, executor_counts = learnt(3, 6, 2, 6), [1, 2, 3, 4, 6, 60]
    busy = np.array([0.9, 0.8, 1.0, 0.7, 0.95, 0.5])
    assert [each.executors for each in model.remembered] == [2, 3, 6] and model.stay is not None and model.stay.executors == 6
    together = model.predict_each(executor_counts, busy)
    alone = [model.predict(at_utilization=float(at), executors=executors) for executors, at in zip(executor_counts, busy, strict=True)]
    assert together.each() == alone
