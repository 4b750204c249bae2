"""Readings as arrays to draw: one column for each quantity, NaN for unknown values and gaps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.core.domain.events.autopilot_events import Decided, PolicyPaused
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import mode_in
from penstock.core.domain.events.run_events import RunEnded
from penstock.core.domain.reading import Reading
from penstock.core.report.run_report import GAP

Array = NDArray[np.float64]

AVERAGED = ("arrival_rows_per_s", "throughput_rows_per_s")
WORST = ("lag_rows", "excess_lag_rows", "p50_s", "p95_s", "p99_s", "executors_running", "executors_requested", "executors_decided")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    at_s: Array
    arrival_rows_per_s: Array
    throughput_rows_per_s: Array
    lag_rows: Array
    excess_lag_rows: Array
    p50_s: Array
    p95_s: Array
    p99_s: Array
    executors_running: Array
    executors_requested: Array
    executors_decided: Array


def series(readings: Sequence[Reading], events: Sequence[Event] = (), at_most: int = 1500) -> Series:
    """Return the columns in order of time, reduced to `at_most` points: rates by their mean, the rest by their maximum."""
    ordered = sorted(readings, key=lambda reading: reading.at_s)
    rows = [(*_row(reading), decided) for reading, decided in zip(ordered, decided_executors(ordered, events), strict=True)]
    table = np.array(rows, dtype=np.float64).reshape(len(ordered), 1 + len(AVERAGED) + len(WORST))
    columns = _with_gaps(_folded(table, at_most)).T
    return Series(**dict(zip(("at_s", *AVERAGED, *WORST), columns, strict=True)))


def decided_executors(readings: Sequence[Reading], events: Sequence[Event]) -> list[int | None]:
    """Return the executors that the policy wanted at each reading; None before its first decision, paused, in mode "observe" and not running."""
    steps: list[tuple[float, int | None]] = []
    for event in sorted(events, key=lambda event: event.at_s):
        if isinstance(event, Decided):
            steps.append((event.at_s, event.decision.executors))
        elif isinstance(event, (PolicyPaused, RunEnded)) or mode_in(event) == "observe":
            steps.append((event.at_s, None))
    places = np.searchsorted([at_s for at_s, _ in steps], [reading.at_s for reading in readings], side="right")
    return [None if place == 0 else steps[place - 1][1] for place in places]


def gap_s(at_s: Array) -> float:
    """Return the longest time between two readings that is no gap.

    >>> gap_s(np.array([0.0, 5.0, 10.0, 70.0, 75.0]))
    15.0
    """
    return float(np.median(np.diff(at_s))) * GAP if len(at_s) > 1 else np.inf


def _row(reading: Reading) -> tuple[float | None, ...]:
    rows = reading.at_s, reading.arrival_rows_per_s, reading.throughput_rows_per_s, reading.lag_rows, reading.excess_lag_rows
    latency = (None, None, None) if reading.latency is None else (reading.latency.p50_s, reading.latency.p95_s, reading.latency.p99_s)
    return *rows, *latency, reading.executors_running, reading.executors_requested


def _folded(table: Array, at_most: int) -> Array:
    """Combine neighbouring rows until there are few enough to draw."""
    if len(table) <= at_most:
        return table
    starts = np.linspace(0, len(table), at_most, endpoint=False).astype(int)
    known = np.add.reduceat(np.isfinite(table), starts, axis=0)
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(np.nan_to_num(table), starts, axis=0) / known
    worst = np.fmax.reduceat(table, starts, axis=0)
    averaged = 1 + len(AVERAGED)
    return np.hstack([means[:, :averaged], worst[:, averaged:]])


def _with_gaps(table: Array) -> Array:
    """Insert a row of NaN one usual step into every gap."""
    at_s = table[:, 0]
    after = np.flatnonzero(np.diff(at_s) > gap_s(at_s))
    unknown = np.full((len(after), table.shape[1]), np.nan)
    unknown[:, 0] = at_s[after] + gap_s(at_s) / GAP
    return np.insert(table, after + 1, unknown, axis=0)
