"""What a run cost and kept, by its readings: those of a recorded run and of a simulated one alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from penstock.core.analyze.disturbances import failure_in, followed, told_of_failures
from penstock.core.config import EVEN
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.domain.rescales import rescales
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import FAILURES
from penstock.core.models.latency.pooled import pooled_quantiles
from penstock.core.shapes.chance import FloatArray

OFTEN = 0.05
LONGEST = 3.0
"""A reading stands for the time until the next one, and for at most this many times the usual one: after that nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """None where nothing is known, or nothing was promised.

    Readings hold quantiles of a few seconds each, not rows: `latency` is pooled from them, weighted by what was processed; `within_latency` is the share
    of the rows within the promise, taken to lie evenly between the quantiles; `violation_s` is how long the median was above it, and how much longer than
    promised recoveries from failures took. `sizes` are those that the job had for a twentieth of the time at least.
    """

    duration_s: float
    worker_seconds: float
    average_workers: float
    rescales: int
    sizes: int
    latency: Quantiles | None
    within_latency: float | None
    violation_s: float | None


def ran(readings: Sequence[Reading], promises: Promises, window_s: float = EVEN.reading_window_s) -> Ran:
    """How the job ran from the first of these readings to the last; they look back over `window_s`, so latencies count so long after the first, if any do."""
    lasted_s = lasted(readings)
    workers = np.array([float(reading.executors_running) for reading in readings])
    duration_s = float(lasted_s.sum())
    worker_seconds = float(workers @ lasted_s)
    told = [(reading, stood_s) for reading, stood_s in zip(readings, lasted_s.tolist(), strict=True) if reading.latency is not None]
    known = [each for each in told if each[0].at_s >= readings[0].at_s + window_s] or told
    late = [reading for reading, _ in known]
    return Ran(
        duration_s=duration_s,
        worker_seconds=worker_seconds,
        average_workers=worker_seconds / duration_s if duration_s else 0.0,
        rescales=rescales(readings),
        sizes=sum(float(lasted_s[workers == size].sum()) >= OFTEN * duration_s for size in np.unique(workers)),
        latency=pooled_latency(late),
        within_latency=within(late, promises.latency_p95_s),
        violation_s=None if promises == Promises() else above_s(known, promises.latency_p95_s) + overdue_s(readings, promises.recovery_s, window_s),
    )


def lasted(readings: Sequence[Reading]) -> FloatArray:
    """For how long each reading stands, in seconds.

    >>> from penstock.core.domain.reading import Reading
    >>> from dataclasses import fields
    >>> blank = {each.name: None for each in fields(Reading)} | {"executors": (), "queries": (), "unable": {}}
    >>> lasted([Reading(**blank | {"at_s": at_s}) for at_s in (0.0, 15.0, 30.0, 1000.0)]).tolist()
    [15.0, 15.0, 45.0, 0.0]
    """
    apart_s = [after.at_s - before.at_s for before, after in pairwise(readings)]
    longest_s = LONGEST * median(apart_s) if apart_s else 0.0
    return np.array([*(min(max(each, 0.0), longest_s) for each in apart_s), 0.0][: len(readings)])


def pooled_latency(readings: Sequence[Reading]) -> Quantiles | None:
    weights = np.array([rows_of(reading) for reading in readings])
    if weights.sum() <= 0:
        return None
    return pooled_quantiles([reading.latency for reading in readings if reading.latency is not None], weights)


def above_s(known: Sequence[tuple[Reading, float]], promised_s: float | None) -> float:
    """Seconds of the readings whose median is above what is promised."""
    if promised_s is None:
        return 0.0
    return sum(stood_s for reading, stood_s in known if reading.latency is not None and reading.latency.p50_s > promised_s)


def within(readings: Sequence[Reading], promised_s: float | None) -> float | None:
    rows = sum(map(rows_of, readings))
    if promised_s is None or rows <= 0:
        return None
    return sum(rows_of(reading) * share_within(reading.latency, promised_s) for reading in readings if reading.latency) / rows


def share_within(latency: Quantiles, promised_s: float) -> float:
    """The share of rows that took no longer: rows lie evenly between quantiles, and beyond them as close as beside them.

    >>> uniform = Quantiles(p50_s=6.0, p95_s=10.5, p99_s=10.9)
    >>> [round(share_within(uniform, promised_s), 3) for promised_s in (0.9, 3.5, 6.0, 10.5, 11.0)]
    [0.0, 0.25, 0.5, 0.95, 1.0]
    """
    p50_s, p95_s, p99_s = latency.p50_s, latency.p95_s, latency.p99_s
    ends_s = p50_s - (p95_s - p50_s) * 0.5 / 0.45, p99_s + (p99_s - p95_s) * 0.01 / 0.04
    if promised_s >= ends_s[1]:
        return 1.0
    return float(np.interp(promised_s, (ends_s[0], p50_s, p95_s, p99_s, ends_s[1]), (0.0, 0.5, 0.95, 0.99, 1.0)))


def rows_of(reading: Reading) -> float:
    return reading.throughput_rows_per_s or 0.0


UNSEEN = 3.0
"""A failure shows in the readings within this many windows."""


def overdue_s(readings: Sequence[Reading], promised_s: float | None, window_s: float) -> float:
    """Return the seconds by which recoveries from failures exceeded the promised duration."""
    return 0.0 if promised_s is None else sum(max(0.0, took_s - promised_s) for took_s in recoveries_s(readings, window_s))


def recoveries_s(readings: Sequence[Reading], window_s: float) -> list[float]:
    """Return the duration of each recovery from a failure, as the loop measures it; one that is not over counts until the last reading."""
    took_s: list[float] = []
    if not readings:
        return took_s
    first = readings[0]
    learnt = Learnt(failures=first.failures, query_failures=sum(query.failures for query in first.queries))
    for reading in readings:
        told = told_of_failures(learnt, reading, failure_in(learnt, reading), UNSEEN * window_s)
        learnt, measured = followed(told, reading, window_s)
        took_s += [each.recovery_s for each in measured if each.kind in FAILURES]
    normal_s = learnt.health.row_since_s
    end_s = readings[-1].at_s if normal_s is None else normal_s
    return took_s + [max(0.0, end_s - each.at_s) for each in learnt.health.open if each.kind in FAILURES]
