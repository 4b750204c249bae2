"""The report of a run: what it cost and what it kept, with one definition of each number. docs/readings.md lists them.

`run_report` makes it from readings and events, `simulator/exact_report.py` from the exact record of a simulated run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from penstock.core.analyze.disturbances import failure_in, followed, knowing_failure
from penstock.core.config import EVEN
from penstock.core.domain.disturbance import FAILURES, AnyDisturbance
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorLost
from penstock.core.domain.events.query_events import QueryFailed, QueryRestarted
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Quantiles, Reading, rescales
from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.arrays import Floats
from penstock.core.models.latency.pooled import pooled_quantiles

OFTEN = 0.05
"""A number of executors counts as used from this share of the time on."""
GAP = 3.0
"""Readings further apart than this many usual intervals have a gap between them: the job was not observed."""
UNSEEN_WINDOWS = 3.0
"""A failure shows in the readings within this many windows."""

Span = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """A failure, and when the job had recovered from it; None: not by the end of the run."""

    kind: str
    at_s: float
    recovered_s: float | None

    @property
    def took_s(self) -> float | None:
        return None if self.recovered_s is None else self.recovered_s - self.at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Seconds in which a promise was broken, by promise; `total_s` counts a second once in which both were."""

    latency_s: float = 0.0
    recovery_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """One run. None is "not known", or "nothing promised".

    `duration_s` is the time that was observed, `gap_s` what was not. `executor_s` are executors times seconds, of those that ran. `latency` is over all
    rows, `within_promise` the share of rows no later than promised. `executors_used` counts the numbers of executors that ran for a twentieth of the time.
    """

    from_s: float
    until_s: float
    duration_s: float
    gap_s: float
    executor_s: float
    executors_used: int
    rescales: int
    arrived_rows: float | None
    processed_rows: float | None
    peak_arrival_rows_per_s: float | None
    latency: Quantiles | None
    latency_mean_s: float | None
    within_promise: float | None
    violation: Violation | None
    recoveries: tuple[Recovery, ...]
    restarts: int
    failures: int
    waiting_rows: float | None = None
    oldest_waiting_s: float | None = None

    @property
    def average_executors(self) -> float:
        return self.executor_s / self.duration_s if self.duration_s else 0.0

    @property
    def arrival_rows_per_s(self) -> float | None:
        return None if self.arrived_rows is None or not self.duration_s else self.arrived_rows / self.duration_s

    @property
    def throughput_rows_per_s(self) -> float | None:
        return None if self.processed_rows is None or not self.duration_s else self.processed_rows / self.duration_s

    @property
    def violation_s(self) -> float | None:
        """Seconds in which any promise was broken."""
        return None if self.violation is None else self.violation.total_s

    def as_object(self) -> dict[str, Any]:
        """Return the report as plain values, with what derives from them."""
        derived = ("average_executors", "arrival_rows_per_s", "throughput_rows_per_s", "violation_s")
        return asdict(self) | {name: getattr(self, name) for name in derived}

    def cost(self, price_per_executor_hour: float) -> float:
        """Return the price of the executors that ran."""
        return self.executor_s / 3600.0 * price_per_executor_hour


def run_report(
    readings: Sequence[Reading], promises: Promises, events: Iterable[Event] = (), *, window_s: float = EVEN.reading_window_s, left_out: Sequence[Span] = ()
) -> RunReport:
    """Return the report of the run from the first of these readings, in order of time, to the last.

    Readings look back over `window_s`, so latencies count from a window after the first on. Latencies read within spans that are `left_out` do not count.
    """
    held, events = held_s(readings), list(events)
    running = np.array([float(reading.executors_running) for reading in readings])
    duration_s, whole_s = float(held.sum()), readings[-1].at_s - readings[0].at_s if readings else 0.0
    known = [(reading, each) for reading, each in zip(readings, held.tolist(), strict=True) if reading.latency is not None]
    known = [each for each in known if each[0].at_s >= readings[0].at_s + window_s] or known
    known = [each for each in known if not any(start_s <= each[0].at_s < end_s for start_s, end_s in left_out)]
    late = _weighed(known)
    recoveries = recoveries_of(readings, window_s)
    return RunReport(
        from_s=readings[0].at_s if readings else 0.0,
        until_s=readings[-1].at_s if readings else 0.0,
        duration_s=duration_s,
        gap_s=max(0.0, whole_s - duration_s),
        executor_s=float(running @ held),
        executors_used=sum(float(held[running == executors].sum()) >= OFTEN * duration_s for executors in np.unique(running)),
        rescales=rescales(readings),
        arrived_rows=rows_under([reading.arrival_rows_per_s for reading in readings], held),
        processed_rows=rows_under([reading.throughput_rows_per_s for reading in readings], held),
        peak_arrival_rows_per_s=max((reading.arrival_rows_per_s for reading in readings if reading.arrival_rows_per_s is not None), default=None),
        latency=pooled_quantiles([latency for latency, _ in late], np.array([weight for _, weight in late])),
        latency_mean_s=None,
        within_promise=_within(late, promises.latency_p95_s),
        violation=_violation(known, recoveries, promises, readings[-1].at_s if readings else 0.0),
        recoveries=recoveries,
        restarts=sum(isinstance(event, QueryRestarted) for event in events),
        failures=sum(isinstance(event, QueryFailed | ExecutorLost) for event in events) or _counted_failures(readings),
    )


def usual_s(readings: Sequence[Reading]) -> float:
    """Return the usual time between two readings; 0 with fewer than two."""
    apart_s = [after.at_s - before.at_s for before, after in pairwise(readings)]
    return median(apart_s) if apart_s else 0.0


def held_s(readings: Sequence[Reading]) -> Floats:
    """Return for how many seconds each reading holds: until the next one, before a gap for one usual interval, the last one for none.

    >>> from penstock.core.domain.reading import Reading
    >>> from dataclasses import fields
    >>> blank = {each.name: None for each in fields(Reading)} | {"executors": (), "queries": (), "unable": {}}
    >>> held_s([Reading(**blank | {"at_s": at_s}) for at_s in (0.0, 15.0, 30.0, 1000.0)]).tolist()
    [15.0, 15.0, 15.0, 0.0]
    """
    usual = usual_s(readings)
    apart_s = (max(0.0, after.at_s - before.at_s) for before, after in pairwise(readings))
    return np.array([*(usual if each > GAP * usual else each for each in apart_s), 0.0][: len(readings)])


def rows_under(rates: Sequence[float | None], held: Floats) -> float | None:
    """Return the rows under a rate: each value holds as long as its reading; None if none is known, or no time was observed."""
    known = [(rate, seconds) for rate, seconds in zip(rates, held.tolist(), strict=True) if rate is not None]
    return sum(rate * seconds for rate, seconds in known) if known and held.any() else None


def share_within(latency: Quantiles, promised_s: float) -> float:
    """Return the share of rows that took no longer: linear between quantiles, and beyond them with the slope of the nearest segment.

    >>> uniform = Quantiles(p50_s=6.0, p95_s=10.5, p99_s=10.9)
    >>> [round(share_within(uniform, promised_s), 3) for promised_s in (0.9, 3.5, 6.0, 10.5, 11.0)]
    [0.0, 0.25, 0.5, 0.95, 1.0]
    """
    p50_s, p95_s, p99_s = latency.p50_s, latency.p95_s, latency.p99_s
    ends_s = p50_s - (p95_s - p50_s) * 0.5 / 0.45, p99_s + (p99_s - p95_s) * 0.01 / 0.04
    if promised_s >= ends_s[1]:
        return 1.0
    return float(np.interp(promised_s, (ends_s[0], p50_s, p95_s, p99_s, ends_s[1]), (0.0, 0.5, 0.95, 0.99, 1.0)))


def violation_of(late: Sequence[Span], recoveries: Sequence[Recovery], promises: Promises, until_s: float) -> Violation | None:
    """Return the seconds of violation: spans of a late p95, and what recoveries took beyond the promised time; None if nothing is promised.

    >>> slow = Recovery(kind="executor_loss", at_s=10.0, recovered_s=50.0)
    >>> violation_of([(0.0, 5.0), (35.0, 45.0)], [slow], Promises(latency_p95_s=1.0, recovery_s=30.0), 100.0)
    Violation(latency_s=15.0, recovery_s=10.0, total_s=20.0)
    """
    if promises == Promises():
        return None
    overdue: list[Span] = []
    if promises.recovery_s is not None:
        ends = ((each.at_s + promises.recovery_s, until_s if each.recovered_s is None else each.recovered_s) for each in recoveries)
        overdue = [span for span in ends if span[1] > span[0]]
    return Violation(latency_s=covered_s(late), recovery_s=covered_s(overdue), total_s=covered_s([*late, *overdue]))


def covered_s(spans: Iterable[Span]) -> float:
    """Return the seconds that spans cover, overlaps once.

    >>> covered_s([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)])
    4.0
    """
    total, reached_s = 0.0, -np.inf
    for start_s, end_s in sorted(spans):
        total += max(0.0, end_s - max(start_s, reached_s))
        reached_s = max(reached_s, end_s)
    return float(total)


def recoveries_of(readings: Sequence[Reading], window_s: float) -> tuple[Recovery, ...]:
    """Return each failure that the readings count, with the end of its recovery; readings look back over `window_s`."""
    found: list[Recovery] = []
    if not readings:
        return ()
    first = readings[0]
    learnt = Learnt(failures=first.failures, query_failures=first.query_failures)
    for reading in readings:
        knowing = knowing_failure(learnt, reading, failure_in(learnt, reading), UNSEEN_WINDOWS * window_s)
        learnt, measured = followed(knowing, reading, window_s)
        found += [Recovery(kind=each.kind, at_s=each.started_s, recovered_s=each.recovered_s) for each in measured if each.kind in FAILURES]
    normal_s = learnt.health.row_since_s
    left = [_open(each.kind, each.at_s, normal_s) for each in learnt.health.open if each.kind in FAILURES]
    return (*found, *left)


def _open(kind: AnyDisturbance, at_s: float, normal_s: float | None) -> Recovery:
    """Return a recovery that the run did not see the end of; readings that are normal again, if not for long enough yet, end it."""
    return Recovery(kind=kind, at_s=at_s, recovered_s=None if normal_s is None else max(at_s, normal_s))


def _weighed(known: Sequence[tuple[Reading, float]]) -> list[tuple[Quantiles, float]]:
    """Return each latency with the rows that it is of: those of the time for which its reading holds."""
    rows = [(reading.throughput_rows_per_s or 0.0) * seconds for reading, seconds in known]
    weights = rows if any(rows) else [reading.throughput_rows_per_s or 0.0 for reading, _ in known]
    return [(reading.latency, weight) for (reading, _), weight in zip(known, weights, strict=True) if reading.latency is not None]


def _within(late: Sequence[tuple[Quantiles, float]], promised_s: float | None) -> float | None:
    rows = sum(weight for _, weight in late)
    if promised_s is None or rows <= 0:
        return None
    return sum(weight * share_within(latency, promised_s) for latency, weight in late) / rows


def _violation(known: Sequence[tuple[Reading, float]], recoveries: Sequence[Recovery], promises: Promises, until_s: float) -> Violation | None:
    promised_s = promises.latency_p95_s
    above = [reading.latency is not None and promised_s is not None and reading.latency.p95_s > promised_s for reading, _ in known]
    late = [(reading.at_s, reading.at_s + seconds) for (reading, seconds), is_late in zip(known, above, strict=True) if is_late]
    return violation_of(late, recoveries, promises, until_s)


def _counted_failures(readings: Sequence[Reading]) -> int:
    """Return the failures that the readings count, where no events are given; a driver that starts again counts from 0."""
    return sum(after.failures - (before.failures if after.failures >= before.failures else 0) for before, after in pairwise(readings))
