"""The fewest executors that would have carried what arrived at a recorded job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.core.analyze.job_shape import ASAP_S
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.units import duration_words
from penstock.core.models.capacity.batch_law import waves
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.calibrated import Calibrated, Settings
from penstock.simulator.microbatch_settings import MicroBatchSettings

SEARCHED = 4
"""Sizes are looked at up to this many times the largest the job had, or up to where more executors carry no more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Needed:
    """The fewest executors at each reading, and whether no number of them carries what arrived."""

    executors: FloatArray
    beyond: npt.NDArray[np.bool_]


def costs_of(found: Calibrated) -> dict[str, Settings]:
    """What each query of the job costs, by its name."""
    return {query.name: query.settings for query in found.queries}


def needed_of(readings: Sequence[Reading], costs: Mapping[str, Settings], promises: Promises, had: int) -> Needed:
    """By what each query of a job costs that `had` so many executors at most."""
    most = max([SEARCHED * had, *map(useful, costs.values())])
    return needed_executors(readings, {name: capacities(each, promises, most) for name, each in costs.items()})


def useful(settings: Settings) -> int:
    """The most executors that find something to do; where tasks run all the time more always carry more, and this says nothing."""
    return waves(settings.partitions, settings.cores_per_executor) if isinstance(settings, MicroBatchSettings) else 1


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


def needed_executors(readings: Sequence[Reading], carried: Mapping[str, FloatArray]) -> Needed:
    """The fewest that carry what arrived at each reading, by what each size carries of each query: none without a query."""
    found = [fewest(reading, carried) if reading.queries else (0, True) for reading in readings]
    return Needed(executors=np.array([float(size) for size, _ in found]), beyond=np.array([not enough for _, enough in found]))


def fewest(reading: Reading, carried: Mapping[str, FloatArray]) -> tuple[int, bool]:
    """The fewest executors, at least one, at which the queries' loads fit together, and whether they do.

    Each query uses its rate divided by what that size carries of it alone, and these shares sum to at most 1. Where they never do, the fewest are those
    that carry most, and as many as there were where no number carries anything.
    """
    shares = np.zeros(max(len(each) for each in carried.values()))
    with np.errstate(divide="ignore"):
        for query in reading.queries:
            if query.name in carried and (rate := rate_of(query)) > 0:
                shares = shares + rate / carried[query.name]
    least = float(shares.min())
    if math.isinf(least):
        return max(1, reading.executors_running), False
    return int(np.flatnonzero(shares <= max(1.0, least))[0]) + 1, least <= 1.0


def why_beyond(costs: Mapping[str, Settings], promises: Promises) -> str:
    """In words, why more executors would not carry more."""
    said = []
    for name, settings in costs.items():
        if not isinstance(settings, MicroBatchSettings):
            continue
        may_take_s = batch_may_take_s(settings, promises)
        if settings.overhead_s >= may_take_s:
            said.append(f"a batch of {name} takes {duration_words(settings.overhead_s)} without any row, and may take {duration_words(may_take_s)}")
        else:
            said.append(f"a batch of {name} has {settings.partitions} tasks, and more than {useful(settings)} executors find none of them")
    return "; ".join(said)


def rate_of(query: QueryReading) -> float:
    """Rows per second that arrived, or were processed where that is all there is."""
    return (query.throughput_rows_per_s or 0.0) if query.arrival_rows_per_s is None else query.arrival_rows_per_s
