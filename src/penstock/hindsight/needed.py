"""The fewest executors that would have carried what arrived at a recorded job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from penstock.core.analyze.job_shape import ASAP_S
from penstock.core.config import EVEN
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.calibrate import calibrated
from penstock.simulator.calibrated import Calibrated
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.microbatch_settings import MicroBatchSettings

Settings = MicroBatchSettings | ContinuousSettings


def settings_of_all(found: Calibrated, readings: Sequence[Reading]) -> tuple[dict[str, Settings], tuple[str, ...]]:
    """What each query of the job costs, by its name, and a note on each whose cost is not known, which counts as nothing."""
    if not found.left_out:
        return {found.settings.query: found.settings}, ()
    notes: list[str] = []
    known = {found.settings.query: by_tasks(found.settings)}
    for name in found.left_out:
        alone = [replace(reading, queries=tuple(query for query in reading.queries if query.name == name)) for reading in readings]
        try:
            known[name] = by_tasks(calibrated(alone, (), EVEN).settings)
        except UserMistake as mistake:
            notes.append(f"what query {name} needs is not known, and counted as nothing: {mistake}")
    return known, tuple(notes)


def by_tasks(settings: Settings) -> Settings:
    """With rows that cost what tasks took for them: batches that wait for the slots of another query last longer, and look like skew."""
    return replace(settings, skew=1.0) if isinstance(settings, MicroBatchSettings) else settings


def capacities(settings: Settings, promises: Promises, most: int) -> FloatArray:
    """Rows per second that each size carries, from one executor on; more never carry less."""
    sizes = range(1, most + 1)
    if isinstance(settings, MicroBatchSettings):
        carried = [settings.law.capacity_rows_per_s(size, batch_may_take_s(settings, promises)) for size in sizes]
    else:
        carried = [settings.capacity_rows_per_s * size for size in sizes]
    return np.asarray(np.maximum.accumulate(carried), dtype=np.float64)


def batch_may_take_s(settings: MicroBatchSettings, promises: Promises) -> float:
    """The interval that batches may fill; without one half of the latency that is promised: wait and batch are alike."""
    return settings.interval_s or (ASAP_S if promises.latency_p95_s is None else promises.latency_p95_s / 2)


def needed_executors(readings: Sequence[Reading], carried: Mapping[str, FloatArray]) -> FloatArray:
    """The fewest that carry what arrived at each reading, by what each size carries of each query: none without a query."""
    return np.array([float(fewest(reading, carried)) if reading.queries else 0.0 for reading in readings])


def fewest(reading: Reading, carried: Mapping[str, FloatArray]) -> int:
    """The fewest executors at which the queries' loads fit together; at least one, and the largest size where none is enough.

    Each query uses its rate divided by what that size carries of it alone, and these shares sum to at most 1.
    """
    largest = max(len(each) for each in carried.values())
    shares = np.zeros(largest)
    with np.errstate(divide="ignore"):
        for query in reading.queries:
            if query.name in carried and (rate := rate_of(query)) > 0:
                shares = shares + rate / carried[query.name]
    enough = np.flatnonzero(shares <= 1.0)
    return int(enough[0]) + 1 if len(enough) else largest


def rate_of(query: QueryReading) -> float:
    """Rows per second that arrived, or were processed where that is all there is."""
    return (query.throughput_rows_per_s or 0.0) if query.arrival_rows_per_s is None else query.arrival_rows_per_s
