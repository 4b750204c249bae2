"""Readings of executors from a CSV file, one for each moment."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.core.errors import UserMistake
from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses
from penstock.core.models.capacity.job_capacity import WARM_UP_S
from penstock.tables.csv import Column, read_csv, refuse_milliseconds

Numbers = npt.NDArray[np.intp]
COLUMNS = (
    Column(name="t_s"),
    Column(name="worker", text=True),
    Column(name="utilization", lowest=0, highest=1.2, may_lack=True),
    Column(name="throughput", lowest=0, may_lack=True),
)
TOGETHER = 1.2
"""Executors are read together if there are at most this many times more moments than readings of one executor."""

LONGEST_LACK, LONGEST_LACK_S = 5, 90.0
"""An executor missing for at most this many moments in a row, or this long, was not read; one missing for longer was not running."""

SPARED_SHARE = 0.25
"""Gaps count as restarts if warm-ups after them drop at most this share of the readings: a file read in short bursts would lose all."""

MOST_MOMENTS = 20_000
"""More moments than this are thinned to every second, third and so on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorTable:
    """One reading for each moment at which every running executor was read, in the order of time; `lacking` rows had no utilisation or throughput."""

    readings: tuple[ExecutorUses, ...]
    lacking: int


def read_executors(path: Path, columns: Mapping[str, str] | None = None) -> ExecutorTable:
    """Return the readings of a file; `columns` maps columns to other names. Several readings of an executor at one moment are averaged."""
    named = columns or {}
    wanted = tuple(replace(column, name=named.get(column.name, column.name)) for column in COLUMNS)
    found = read_csv(path, wanted)
    at_s, executor, utilization, throughput = (found[column.name] for column in wanted)
    refuse_milliseconds(path, wanted[0].name, at_s)
    read = ~(np.isnan(utilization) | np.isnan(throughput))
    unread = set(executor) - set(executor[read])
    if unread:
        raise UserMistake(f"{path}: no row of the executor {min(unread)} has both {wanted[2].name} and {wanted[3].name}")
    return ExecutorTable(readings=tuple(readings_of(at_s, executor, utilization, throughput)), lacking=int((~read).sum()))


def readings_of(at_s: Floats, executor: npt.NDArray[Any], utilization: Floats, throughput: Floats) -> list[ExecutorUses]:
    """Return the readings of all executors by moment from rows in any order; NaN is what was not read of a running executor."""
    names, number = np.unique(executor.astype(str), return_inverse=True)
    moments, moment = np.unique(aligned(at_s, number), return_inverse=True)
    keys, place = np.unique(moment * len(names) + number, return_inverse=True)
    read = ~(np.isnan(utilization) | np.isnan(throughput))
    counts, *sums = (np.bincount(place[read], of, minlength=len(keys)) for of in (None, utilization[read], throughput[read]))
    each_utilization, each_throughput = (total / np.maximum(counts, 1) for total in sums)
    moment, number = keys // len(names), keys % len(names)
    first = np.searchsorted(moment, np.arange(len(moments) + 1))
    stretches = whole_moments(moment, number, moments, counts > 0)
    stride = -(-sum(map(len, stretches)) // MOST_MOMENTS)
    readings: list[ExecutorUses] = []
    resumed_s, changed_s = after_gaps(moments), -math.inf
    for stretch in stretches:
        for place, at in enumerate(stretch[::stride]):
            here = slice(first[at], first[at + 1])
            uses = tuple(
                ExecutorUse(executor=str(names[n]), utilization=float(u), throughput_rows_per_s=float(z))
                for n, u, z in zip(number[here], each_utilization[here], each_throughput[here], strict=True)
            )
            if place == 0 and readings and [each.executor for each in uses] != [each.executor for each in readings[-1].uses]:
                changed_s = float(moments[at])
            changed_s = max(changed_s, float(resumed_s[at]))
            since_s = None if changed_s == -math.inf else float(moments[at]) - changed_s
            readings.append(ExecutorUses(at_s=float(moments[at]), executors=len(uses), since_change_s=since_s, uses=uses))
    return readings


def after_gaps(moments: Floats) -> Floats:
    """Return for each moment the end of the last gap of the whole file before it, -inf if there is none: executors may have restarted in a gap.

    >>> after_gaps(np.append(15.0 * np.arange(20), [900.0, 915.0]))[[0, 19, 20, 21]].tolist()
    [-inf, -inf, 900.0, 900.0]
    """
    apart_s = np.diff(moments)
    silent = apart_s > max(LONGEST_LACK_S, (LONGEST_LACK + 1) * float(np.median(apart_s))) if len(apart_s) else np.zeros(0, dtype=bool)
    if silent.sum() * WARM_UP_S > SPARED_SHARE * apart_s[~silent].sum():
        silent = np.zeros_like(silent)
    return np.asarray(np.maximum.accumulate(np.where(np.append(False, silent), moments, -np.inf)))


def whole_moments(moment: Numbers, number: Numbers, moments: Floats, read: Flags) -> list[Numbers]:
    """Return for each stretch of time with the same executors the moments at which all of them were read.

    Short stretches count only if there is no other, or if they end the file with a new executor: then they are the present executors.
    `moment` and `number` are the moment and the executor of each row, in the order of moments; `read` marks complete rows. An executor runs from its first
    row to its last, except for gaps too long to be missing readings; one whose rows end shortly before the end, with no new executor after that, still runs.

    >>> moment, number = np.array([0, 0, 1, 2, 2, 3, 3, 4, 4]), np.array([0, 1, 0, 0, 1, 0, 1, 0, 1])
    >>> [stretch.tolist() for stretch in whole_moments(moment, number, 15.0 * np.arange(5), moment < 4)]
    [[0, 2, 3]]
    """
    order, size = np.lexsort((moment, number)), len(moments)
    at, who = moment[order], number[order]
    away = (np.diff(at) > LONGEST_LACK + 1) & (np.diff(moments[at]) > LONGEST_LACK_S)
    comes = np.append(True, (np.diff(who) != 0) | away)
    ends = at[np.append(comes[1:], True)] + 1
    ragged = (size - ends <= LONGEST_LACK) | (moments[-1] - moments[ends - 1] <= LONGEST_LACK_S)
    ends[ragged & (ends > at[comes].max())] = size
    there = np.cumsum(np.bincount(at[comes], minlength=size + 1) - np.bincount(ends, minlength=size + 1))[:size]
    edges = np.unique(np.concatenate([[0, size], at[comes], ends]))
    whole = np.bincount(moment[read], minlength=size) == there
    stretches = [start + np.flatnonzero(whole[start:end]) for start, end in pairwise(edges)]
    lasting_s = moments[np.minimum(edges[1:], size - 1)] - moments[np.maximum(edges[:-1] - 1, 0)]
    long = [each for each, lasts_s in zip(stretches, lasting_s, strict=True) if lasts_s > LONGEST_LACK_S and len(each) > LONGEST_LACK]
    newcomers = long and len(stretches[-1]) > 0 and long[-1] is not stretches[-1] and bool(np.any(at[comes] == edges[-2]))
    return [*long, stretches[-1]] if newcomers else long or [each for each in stretches if len(each)]


def aligned(at_s: Floats, number: Numbers) -> Floats:
    """Return the moments unchanged, or rounded to common ones where executors (by `number`) were read at different moments.

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
