"""How a simulated run went, in a few numbers, from its record."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.core.domain.job import Promises
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.ground_truth import Record, Seconds, Struck


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyMs:
    """Of rows from their arrival to their result, in milliseconds, each row once for each time it finished.

    A row that still waits, and has for longer than half of the others took, counts with what it has waited: it takes at least that.
    """

    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a run cost and what it kept; None where no row finished, or nothing was promised."""

    duration_s: float
    worker_seconds: float
    average_workers: float
    rescales: int
    latency: LatencyMs | None
    within_latency: float | None
    """Share of the rows within the promise, of those that finished and those that wait for longer than it."""
    violation_s: float
    """Seconds beyond the promised latency or in recoveries beyond the promised time, each once."""
    recoveries: tuple[Struck, ...]
    arrived_rows: float
    processed_rows: float
    """Replays included."""
    waiting_rows: float
    """That no batch or task had finished by the end."""
    oldest_waiting_s: float


def score(record: Record, promises: Promises, from_s: float = -math.inf) -> Score:
    """The run from `from_s` on: rows by when they finished, rescales by when they were asked for, recoveries by when they began."""
    first = 0 if from_s <= record.start_s else math.ceil(from_s - record.start_s)
    seconds = record.seconds(first)
    duration = len(seconds.workers)
    finished_s, *told = record.delivered
    latency_s, rows = (column[finished_s > from_s] for column in told)
    age_s, waits = waiting(record)
    struck = tuple(each for each in record.struck if each.at_s >= from_s)
    worker_seconds = float(seconds.workers.sum())
    return Score(
        duration_s=float(duration),
        worker_seconds=worker_seconds,
        average_workers=worker_seconds / duration if duration else 0.0,
        rescales=sum(each.asked_s >= from_s for each in record.rescales),
        latency=with_waiting(latency_s, rows, age_s, waits),
        within_latency=within(latency_s, rows, promises.latency_p95_s, overdue_rows=overdue(age_s, waits, promises.latency_p95_s)),
        violation_s=broken_s(seconds, record.start_s + first, struck, promises),
        recoveries=struck,
        arrived_rows=float(seconds.arrived_rows.sum()),
        processed_rows=float(seconds.finished_rows.sum()),
        waiting_rows=float(waits.sum()),
        oldest_waiting_s=float(record.column("oldest_s")[-1]) if len(record) else 0.0,
    )


def with_waiting(latency_s: FloatArray, rows: FloatArray, age_s: FloatArray, waits: FloatArray) -> LatencyMs | None:
    """With the rows that wait for longer than half of those that finished took; of the others nothing is known yet.

    >>> with_waiting(np.array([0.1]), np.array([90.0]), np.array([0.05, 7.0]), np.array([5.0, 10.0]))
    LatencyMs(mean=790.0, p50=100.0, p95=7000.0, p99=7000.0)
    """
    finished = latency_ms(latency_s, rows)
    late = np.zeros(len(age_s), dtype=bool) if finished is None else 1000.0 * age_s > finished.p50
    return latency_ms(np.append(latency_s, age_s[late]), np.append(rows, waits[late])) if waits[late].any() else finished


def latency_ms(latency_s: FloatArray, rows: FloatArray) -> LatencyMs | None:
    """Mean and quantiles, weighted by rows; a quantile is the least latency that this share of the rows do not exceed.

    >>> latency_ms(np.array([0.3, 0.1]), np.array([10.0, 90.0]))
    LatencyMs(mean=120.0, p50=100.0, p95=300.0, p99=300.0)
    """
    total = float(rows.sum())
    if total <= 0:
        return None
    order = np.argsort(latency_s)
    up_to = np.cumsum(rows[order])
    places = np.minimum(np.searchsorted(up_to, np.array([0.5, 0.95, 0.99]) * up_to[-1]), len(order) - 1)
    p50, p95, p99 = (round(1000.0 * each, 3) for each in latency_s[order][places].tolist())
    return LatencyMs(mean=round(1000.0 * float(latency_s @ rows) / total, 3), p50=p50, p95=p95, p99=p99)


def overdue(age_s: FloatArray, waits: FloatArray, promised_s: float | None) -> float:
    """Rows that have waited for longer than promised."""
    return 0.0 if promised_s is None else float(waits[age_s > promised_s].sum())


def within(latency_s: FloatArray, rows: FloatArray, promised_s: float | None, *, overdue_rows: float = 0.0) -> float | None:
    """The share of the rows that took no longer than promised; `overdue_rows` did not finish, and are late already."""
    total = float(rows.sum()) + overdue_rows
    return None if promised_s is None or total <= 0 else float(rows[latency_s <= promised_s].sum()) / total


def broken_s(seconds: Seconds, start_s: float, struck: tuple[Struck, ...], promises: Promises) -> float:
    """Seconds from `start_s` on in which a promise was broken; one in which several were counts once."""
    late, overdue_part = lateness(seconds, promises.latency_p95_s), overdue_parts(struck, promises.recovery_s, start_s, len(seconds.workers))
    return float(np.maximum(late, overdue_part).sum())


def lateness(seconds: Seconds, promised_s: float | None) -> FloatArray:
    """1 for each second whose rows took longer than promised, or, where none finished, in which a row has waited for longer; else 0."""
    if promised_s is None:
        return np.zeros(len(seconds.workers))
    shown_s = np.where(seconds.finished_rows > 0, seconds.latency_s, seconds.oldest_s)
    return np.where(shown_s > promised_s, 1.0, 0.0)


def overdue_parts(struck: tuple[Struck, ...], promised_s: float | None, start_s: float, count: int) -> FloatArray:
    """The part of each of `count` seconds in which a recovery, or several, had taken longer than is promised; one that is not over counts until the end.

    >>> overdue_parts((Struck(at_s=1.0, kind="crash", recovered_s=4.5), Struck(at_s=2.0, kind="crash", recovered_s=4.5)), 2.0, 0.0, 6).tolist()
    [0.0, 0.0, 0.0, 1.0, 0.5, 0.0]
    """
    parts, edges_s, counted_s = np.zeros(count), start_s + np.arange(count + 1.0), start_s
    if promised_s is None:
        return parts
    for each in sorted(struck, key=lambda each: each.at_s):
        from_s, until_s = max(counted_s, each.at_s + promised_s), start_s + count if each.recovered_s is None else each.recovered_s
        if until_s > from_s:
            parts += np.diff(np.clip(edges_s, from_s, until_s))
            counted_s = until_s
    return parts


def waiting(record: Record) -> tuple[FloatArray, FloatArray]:
    """How long they have waited, and how many rows each number stands for. Rows are taken in their order, so those that wait are the last that came.

    A row is as old as the middle of the second it came in, but none is older than the oldest.
    """
    if record.parts:
        told = [waiting(part) for part in record.parts]
        return np.concatenate([age_s for age_s, _ in told]), np.concatenate([rows for _, rows in told])
    if len(record) == 0:
        return np.zeros(0), np.zeros(0)
    lag, oldest_s = float(record.column("lag_rows")[-1]), float(record.column("oldest_s")[-1])
    arrived = record.column("arrived_rows")[::-1]
    newer = np.cumsum(arrived) - arrived
    rows = np.clip(lag - newer, 0.0, arrived)
    known = rows > 0
    from_before = max(0.0, lag - float(rows.sum()))
    age_s = np.append(np.minimum(np.arange(len(arrived))[known] + 0.5, oldest_s), oldest_s)
    return age_s, np.append(rows[known], from_before)
