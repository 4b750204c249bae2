"""Twelve workers at maximum load, as measured for Daedalus."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from statistics import mean

import pytest

from penstock.core.models.capacity.job import JobCapacity, Method
from penstock.core.models.capacity.readings import WorkerReading, WorkersReading
from penstock.core.models.estimate import Estimate

MEASURED = Path("/work/shared/data/workers_p12_saturated.csv")
pytestmark = pytest.mark.skipif(not MEASURED.exists(), reason="the measured data is not here")
METHODS: list[Method] = ["utilization_law", "daedalus"]


def measured() -> list[WorkersReading]:
    moments: dict[float, list[WorkerReading]] = defaultdict(list)
    with MEASURED.open() as lines:
        for row in csv.DictReader(lines):
            moments[float(row["t_s"])].append(
                WorkerReading(worker=row["worker"], utilization=float(row["cpu"]), throughput_rows_per_s=float(row["throughput"]))
            )
    return [WorkersReading(at_s=at_s, scaleout=len(each), since_change_s=None, workers=tuple(each)) for at_s, each in sorted(moments.items())]


def total(reading: WorkersReading) -> float:
    return sum(worker.throughput_rows_per_s for worker in reading.workers)


def busiest(reading: WorkersReading) -> float:
    return max(worker.utilization for worker in reading.workers)


@pytest.mark.parametrize("method", METHODS)
def test_at_the_utilisation_measured_the_capacity_is_the_throughput_measured(method: Method) -> None:
    readings = measured()
    estimate = JobCapacity(method=method).learn(readings).predict(at_utilization=mean(map(busiest, readings)))
    assert isinstance(estimate, Estimate)
    assert estimate.value == pytest.approx(mean(map(total, readings)), rel=0.03)


@pytest.mark.parametrize("method", METHODS)
def test_the_first_minutes_predict_the_rest(method: Method) -> None:
    readings = measured()
    first, rest = readings[: len(readings) // 3], readings[len(readings) // 3 :]
    estimate = JobCapacity(method=method).learn(first).predict(at_utilization=mean(map(busiest, rest)))
    assert isinstance(estimate, Estimate)
    assert estimate.value == pytest.approx(mean(map(total, rest)), rel=0.1)


def test_the_workers_are_skewed() -> None:
    model = JobCapacity().learn(measured())
    skew = model.skew()
    assert isinstance(skew, float) and 1.1 < skew < 1.4
    assert max(worker.proportion for worker in model.workers()) == 1.0
