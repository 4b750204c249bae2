"""The report of a simulated run from its exact record: every row counts, not what readings show of it."""

import math

import numpy as np

from penstock.core.domain.job_spec import PROMISED_SHARE, Promises
from penstock.core.domain.reading import Quantiles
from penstock.core.monitor.latency import quantiles_of
from penstock.core.report.run_report import OFTEN, Recovery, RunReport, Span, violation_of
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.ground_truth import Record


def exact_report(record: Record, promises: Promises, from_s: float = -math.inf) -> RunReport:
    """Return the report of the run from `from_s` on: rows by when they finished, rescales by when they were asked for, recoveries by when they began.

    A row that still waits, for longer than the median latency of the others, counts with its wait so far, a lower bound of its latency.
    """
    first = 0 if from_s <= record.start_s else math.ceil(from_s - record.start_s)
    seconds = record.seconds(first)
    duration = len(seconds.executors)
    finished_s, latency_s, rows = (column[record.delivered[0] > from_s] for column in record.delivered)
    age_s, waits = waiting(record)
    recoveries = tuple(Recovery(kind=each.kind, at_s=each.at_s, recovered_s=each.recovered_s) for each in record.struck if each.at_s >= from_s)
    latency, mean_s = with_waiting(latency_s, rows, age_s, waits)
    late = late_spans(record, first, finished_s, latency_s, rows, promises.latency_p95_s)
    return RunReport(
        from_s=record.start_s + first, until_s=record.end_s, duration_s=float(duration), gap_s=0.0, executor_s=float(seconds.executors.sum()),
        executors_used=sum(float((seconds.executors == executors).sum()) >= OFTEN * duration for executors in np.unique(seconds.executors)),
        rescales=sum(each.asked_s >= from_s for each in record.rescales), arrived_rows=float(seconds.arrived_rows.sum()),
        processed_rows=float(seconds.finished_rows.sum()), peak_arrival_rows_per_s=float(seconds.arrived_rows.max()) if duration else None, latency=latency,
        latency_mean_s=mean_s, within_promise=within(latency_s, rows, age_s, waits, promises.latency_p95_s),
        violation=violation_of(late, recoveries, promises, record.end_s), recoveries=recoveries, restarts=sum(each.kind == "restart" for each in recoveries),
        failures=len(recoveries), waiting_rows=float(waits.sum()), oldest_waiting_s=float(record.column("oldest_s")[-1]) if len(record) else 0.0,
    )  # fmt: skip


def with_waiting(latency_s: FloatArray, rows: FloatArray, age_s: FloatArray, waits: FloatArray) -> tuple[Quantiles | None, float | None]:
    """Return quantiles and mean, including the rows that have waited for longer than the median latency of the finished ones.

    >>> with_waiting(np.array([0.1]), np.array([90.0]), np.array([0.05, 7.0]), np.array([5.0, 10.0]))
    (Quantiles(p50_s=0.1, p95_s=7.0, p99_s=7.0), 0.79)
    """
    finished, mean_s = quantiles(latency_s, rows)
    late = np.zeros(len(age_s), dtype=bool) if finished is None else age_s > finished.p50_s
    return quantiles(np.append(latency_s, age_s[late]), np.append(rows, waits[late])) if waits[late].any() else (finished, mean_s)


def quantiles(latency_s: FloatArray, rows: FloatArray) -> tuple[Quantiles | None, float | None]:
    """Return quantiles and mean, weighted by rows; None without rows.

    >>> quantiles(np.array([0.3, 0.1]), np.array([10.0, 90.0]))
    (Quantiles(p50_s=0.1, p95_s=0.3, p99_s=0.3), 0.12)
    """
    total = float(rows.sum())
    return (quantiles_of(latency_s, rows), float(latency_s @ rows) / total) if total > 0 else (None, None)


def within(latency_s: FloatArray, rows: FloatArray, age_s: FloatArray, waits: FloatArray, promised_s: float | None) -> float | None:
    """Return the share of rows no later than promised, of those that finished and those that have waited for longer."""
    if promised_s is None:
        return None
    total = float(rows.sum()) + float(waits[age_s > promised_s].sum())
    return float(rows[latency_s <= promised_s].sum()) / total if total > 0 else None


def late_spans(record: Record, first: int, finished_s: FloatArray, latency_s: FloatArray, rows: FloatArray, promised_s: float | None) -> list[Span]:
    """Return the seconds whose p95 is later than promised; where no row finished, those in which a row has waited for longer."""
    count = len(record) - first
    if promised_s is None or count <= 0:
        return []
    start_s = record.start_s + first
    second = np.clip(np.ceil(finished_s - start_s).astype(int) - 1, 0, count - 1)
    finished = np.bincount(second, weights=rows, minlength=count)
    on_time = np.bincount(second, weights=np.where(latency_s <= promised_s, rows, 0.0), minlength=count)
    waited = record.column("oldest_s", first) > promised_s
    late = np.where(finished > 0, on_time < PROMISED_SHARE * finished, waited)
    return [(start_s + number, start_s + number + 1.0) for number in np.flatnonzero(late).tolist()]


def waiting(record: Record) -> tuple[FloatArray, FloatArray]:
    """Return how long rows have waited, and how many rows each number stands for. Rows are taken in order, so those that wait are the last that came.

    A row is as old as the middle of the second it came in, but none is older than the oldest.
    """
    if record.parts:
        parts = [waiting(part) for part in record.parts]
        return np.concatenate([age_s for age_s, _ in parts]), np.concatenate([rows for _, rows in parts])
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
