"""Readings of workers from a CSV file, moment by moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.readings import WorkerReading, WorkersReading
from penstock.tables.column import Column
from penstock.tables.csv import read_csv

Numbers = npt.NDArray[np.intp]
COLUMNS = (
    Column(name="t_s"),
    Column(name="worker", text=True),
    Column(name="utilization", lowest=0, highest=1.2),
    Column(name="throughput", lowest=0),
)
TOGETHER = 1.2
"""Workers were read together if there are hardly more moments than readings of the worker that was read most."""

LONGEST_LACK = 5
"""A worker that is missing for at most so many moments in a row was not read; one missing for longer was not there."""

MOST_MOMENTS = 20_000
"""Of more moments than this every second, third or so is taken: they tell the same."""


def read_workers(path: Path, columns: Mapping[str, str] | None = None) -> list[WorkersReading]:
    """One reading for each moment at which every worker that was there was read, in the order of time; `columns` names those with other names.

    Of two readings of a worker at one moment the mean counts.
    """
    named = columns or {}
    wanted = tuple(replace(column, name=named.get(column.name, column.name)) for column in COLUMNS)
    found = read_csv(path, wanted)
    at_s, worker, utilization, throughput = (found[column.name] for column in wanted)
    return readings_of(at_s, worker, utilization, throughput)


def readings_of(at_s: Floats, worker: npt.NDArray[Any], utilization: Floats, throughput: Floats) -> list[WorkersReading]:
    """Rows in any order as readings of all workers, moment by moment."""
    names, number = np.unique(worker.astype(str), return_inverse=True)
    moments, moment = np.unique(aligned(at_s, number), return_inverse=True)
    keys, place = np.unique(moment * len(names) + number, return_inverse=True)
    counts = np.bincount(place)
    each_utilization, each_throughput = np.bincount(place, utilization) / counts, np.bincount(place, throughput) / counts
    moment, number = keys // len(names), keys % len(names)
    first = np.searchsorted(moment, np.arange(len(moments) + 1))
    stretches = whole_moments(moment, number, len(moments))
    stride = -(-sum(map(len, stretches)) // MOST_MOMENTS)
    readings: list[WorkersReading] = []
    changed_s: float | None = None
    for stretch in stretches:
        for place, at in enumerate(stretch[::stride]):
            here = slice(first[at], first[at + 1])
            workers = tuple(
                WorkerReading(worker=str(names[n]), utilization=float(u), throughput_rows_per_s=float(z))
                for n, u, z in zip(number[here], each_utilization[here], each_throughput[here], strict=True)
            )
            if place == 0 and readings and [each.worker for each in workers] != [each.worker for each in readings[-1].workers]:
                changed_s = float(moments[at])
            since_s = None if changed_s is None else float(moments[at]) - changed_s
            readings.append(WorkersReading(at_s=float(moments[at]), scaleout=len(workers), since_change_s=since_s, workers=workers))
    return readings


def whole_moments(moment: Numbers, number: Numbers, moments: int) -> list[Numbers]:
    """For each stretch of time with the same workers, the moments at which all of them were read.

    Stretches of a few moments count only if there is no other, or if they end the file with a worker that came: then they are who is there now.
    `moment` and `number` say which worker was read at which moment, in the order of moments. A worker is there from its first reading to its last, but
    for silences of more than `LONGEST_LACK` moments.

    >>> moment, number = np.array([0, 0, 1, 2, 2, 3, 3, 4, 4]), np.array([0, 1, 0, 0, 1, 0, 1, 0, 1])
    >>> [stretch.tolist() for stretch in whole_moments(moment, number, 5)]
    [[0, 2, 3, 4]]
    """
    order = np.lexsort((moment, number))
    at, who = moment[order], number[order]
    comes = np.append(True, (np.diff(who) != 0) | (np.diff(at) > LONGEST_LACK + 1))
    goes = np.append(comes[1:], True)
    there = np.cumsum(np.bincount(at[comes], minlength=moments + 1) - np.bincount(at[goes] + 1, minlength=moments + 1))[:moments]
    edges = np.unique(np.concatenate([[0, moments], at[comes], at[goes] + 1]))
    whole = np.bincount(moment, minlength=moments) == there
    stretches = [start + np.flatnonzero(whole[start:end]) for start, end in pairwise(edges)]
    long = [each for each in stretches if len(each) > LONGEST_LACK]
    newcomers = long and 0 < len(stretches[-1]) <= LONGEST_LACK and bool(np.any(at[comes] == edges[-2]))
    return [*long, stretches[-1]] if newcomers else long or [each for each in stretches if len(each)]


def aligned(at_s: Floats, number: Numbers) -> Floats:
    """The moments as they are, or, where workers (by `number`) were read at moments of their own, one for each time that all were read.

    >>> aligned(np.array([0.0, 14.9, 15.2, 30.1, 29.8, 45.0]), np.array([0, 1] * 3)).tolist()
    [0.0, 15.0, 15.0, 30.0, 30.0, 45.0]
    """
    counts = np.bincount(number)
    if len(counts) == 1 or len(np.unique(at_s)) <= TOGETHER * counts.max():
        return at_s
    order = np.lexsort((at_s, number))
    steps = np.diff(at_s[order])[np.diff(number[order]) == 0]
    steps = steps[steps > 0]
    step_s = float(np.round(np.median(steps), 1)) if len(steps) else 0.0
    if step_s <= 0:
        return at_s
    phases = np.sort(at_s % step_s)
    silences = np.diff(np.append(phases, phases[0] + step_s))
    begin_s = phases[int(np.argmax(silences))] + silences.max() / 2
    return np.asarray(np.round((np.floor((at_s - begin_s) / step_s) + 1) * step_s, 6))
