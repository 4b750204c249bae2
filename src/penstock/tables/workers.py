"""Readings of workers from a CSV file, moment by moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.core.models.capacity.readings import WorkerReading, WorkersReading
from penstock.tables.column import Column
from penstock.tables.csv import read_csv

Floats = npt.NDArray[np.float64]
COLUMNS = (
    Column(name="t_s"),
    Column(name="worker", text=True),
    Column(name="utilization", lowest=0, highest=1.2),
    Column(name="throughput", lowest=0),
)
TOGETHER = 1.2
"""Workers were read together if there are hardly more moments than readings of the worker that was read most."""

LEAST_STAY = 3
"""A set of workers seen at fewer moments in a row is not a rescale but a reading that lacks some."""


def read_workers(path: Path) -> list[WorkersReading]:
    """One reading for each moment, in the order of time; moments that lack a worker are left out."""
    columns = read_csv(path, COLUMNS)
    at_s = aligned(columns["t_s"], columns["worker"])
    moments: dict[float, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for moment, worker, utilization, throughput in zip(at_s, columns["worker"], columns["utilization"], columns["throughput"], strict=True):
        moments[float(moment)][str(worker)].append((float(utilization), float(throughput)))
    stays = [list(run) for _, run in groupby(sorted(moments), key=lambda moment: sorted(moments[moment]))]
    whole = [stay for stay in stays if len(stay) >= LEAST_STAY] or stays
    readings: list[WorkersReading] = []
    changed_s: float | None = None
    for stay in whole:
        if readings and readings[-1].names != tuple(sorted(moments[stay[0]])):
            changed_s = stay[0]
        readings += [reading_at(moment, moments[moment], changed_s) for moment in stay]
    return readings


def reading_at(moment_s: float, told: Mapping[str, Sequence[tuple[float, float]]], changed_s: float | None) -> WorkersReading:
    """The workers at one moment; one that was read twice counts by its mean."""
    workers = tuple(
        WorkerReading(worker=worker, utilization=sum(u for u, _ in pairs) / len(pairs), throughput_rows_per_s=sum(t for _, t in pairs) / len(pairs))
        for worker, pairs in sorted(told.items())
    )
    return WorkersReading(at_s=moment_s, scaleout=len(workers), since_change_s=None if changed_s is None else moment_s - changed_s, workers=workers)


def aligned(at_s: Floats, worker: npt.NDArray[np.object_]) -> Floats:
    """The moments as they are, or, where workers were read at moments of their own, one for each time that all were read.

    >>> aligned(np.array([0.0, 14.9, 15.2, 30.1, 29.8, 45.0]), np.array(["a", "b"] * 3, dtype=object)).tolist()
    [0.0, 15.0, 15.0, 30.0, 30.0, 45.0]
    """
    _, numbers, counts = np.unique(worker.astype(str), return_inverse=True, return_counts=True)
    if len(counts) == 1 or len(np.unique(at_s)) <= TOGETHER * counts.max():
        return at_s
    order = np.lexsort((at_s, numbers))
    steps = np.diff(at_s[order])[np.diff(numbers[order]) == 0]
    steps = steps[steps > 0]
    step_s = float(np.round(np.median(steps), 1)) if len(steps) else 0.0
    if step_s <= 0:
        return at_s
    phases = np.sort(at_s % step_s)
    silences = np.diff(np.append(phases, phases[0] + step_s))
    begin_s = phases[int(np.argmax(silences))] + silences.max() / 2
    return np.asarray(np.round((np.floor((at_s - begin_s) / step_s) + 1) * step_s, 6))
