"""A queue that stands still at every checkpoint."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.latency.pauses import Measure, Pauses, PausesForm
from penstock.core.models.surrogate.points import Points, point

INTERVALS = np.repeat([10.0, 30.0, 60.0, 90.0, 120.0], 6)
RATES = np.tile(np.linspace(100, 700, 6), 5)
GRID = Points(interval_s=INTERVALS, rate=RATES)
MEASURES = st.sampled_from(["mean", "tail"])
JOBS = st.builds(
    Pauses,
    measure=MEASURES,
    base_s=st.floats(0.01, 2),
    queue_s=st.floats(0, 1),
    pause=st.floats(0, 5),
    capacity_rows_per_s=st.floats(10, 1e5),
    knee_s=st.floats(0, 500),
)


@given(JOBS, st.floats(1, 500), st.floats(1, 500), st.floats(0, 2))
def test_latency_falls_with_the_interval(job: Pauses, one: float, other: float, load: float) -> None:
    short, long = sorted((one, other))
    rate = load * job.capacity_rows_per_s
    assert job.at(point(short, rate, None))[0] >= job.at(point(long, rate, None))[0] * (1 - 1e-9)


@given(JOBS, st.floats(1, 500), st.floats(0, 2), st.floats(0, 2))
def test_latency_rises_with_the_rate(job: Pauses, interval_s: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    slow, fast = (job.at(point(interval_s, load * job.capacity_rows_per_s, None))[0] for load in (low, high))
    assert slow <= fast * (1 + 1e-9)


@pytest.mark.parametrize("measure", ["mean", "tail"])
def test_the_fit_reproduces_what_a_queue_with_pauses_did(measure: Measure) -> None:
    job = Pauses(measure=measure, base_s=0.4, queue_s=0.05, pause={"mean": 2.0, "tail": 1e-3}[measure], capacity_rows_per_s=910, knee_s=240)
    seen = job.at(GRID)
    seen[4] *= 3
    found = PausesForm(name="pauses", measure=measure).fit(GRID, seen).at(GRID)
    assert found == pytest.approx(job.at(GRID), rel=0.08)


def test_load_is_shared_by_the_workers() -> None:
    job = Pauses(measure="mean", base_s=0.4, queue_s=0.1, pause=1, capacity_rows_per_s=100)
    assert job.at(point(10, 80, 1))[0] == pytest.approx(job.at(point(10, 320, 4))[0])
