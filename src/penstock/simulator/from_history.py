"""Facts of a recorded run that a simulator needs: arrivals, durations of rescales, faults."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from penstock.core.config import Config
from penstock.core.domain.cadence import Cadence
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import QueryRestarted
from penstock.core.domain.events.steering_events import InstructionDone, InstructionGiven
from penstock.core.domain.fault import Fault
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.trigger import Plant, Trigger
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import HARDLY_LONGER
from penstock.core.monitor.flow import healthy_lag_rows

Seen = list[tuple[Reading, QueryReading]]
"""Readings in the order of time, with one query of each."""
SILENT_S = 600.0
"""Readings further apart were not of a running job."""
LONGEST = 3.0
"""A reading covers the time since the one before it, but at most this many reading intervals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """A change of the number of executors that was carried out."""

    given_s: float
    done_s: float
    took_s: float
    grows: bool


def rescales_done(events: Iterable[Event]) -> tuple[Rescale, ...]:
    """Return all rescales that were done; an instruction that repeats the executors requested already is none."""
    found: list[Rescale] = []
    given: dict[int, InstructionGiven] = {}
    for event in events:
        if isinstance(event, InstructionGiven) and event.change.executors is not None and not event.repeats:
            given[event.number] = event
        elif isinstance(event, InstructionDone) and event.number in given:
            asked = given.pop(event.number)
            grows = "rescale_up" in asked.change.costs
            found.append(Rescale(given_s=asked.at_s, done_s=event.at_s, took_s=event.took_s, grows=grows))
    return tuple(found)


def usual_took_s(rescales: Iterable[Rescale], *, grows: bool) -> float | None:
    """Return the median duration of rescales in one direction; None if there was none."""
    return median_of(each.took_s for each in rescales if each.grows == grows)


def restarted_after_s(events: Iterable[Event], query: str) -> float | None:
    """Return the median downtime of a query after a failure; None if it never failed."""
    return median_of(event.downtime_s for event in events if isinstance(event, QueryRestarted) and event.query == query)


def median_of(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


def busiest_query(readings: Sequence[Reading], only: Plant | None = None) -> str:
    """Return the query that processed most rows, of those of the kind `only` if it is given."""
    rows: dict[str, float] = {}
    for reading in readings:
        for query in reading.queries:
            if only is None or (query.trigger.kind == "real_time") == (only == "continuous"):
                rows[query.name] = rows.get(query.name, 0.0) + (query.throughput_rows_per_s or 0.0)
    if not rows:
        raise UserMistake("the history holds no reading of a query: there is nothing to simulate")
    return max(rows, key=lambda name: rows[name])


def of_query(readings: Sequence[Reading], name: str) -> Seen:
    """Return the readings that have this query."""
    return [(reading, query) for reading in readings for query in reading.queries if query.name == name]


def kind_of(seen: Seen) -> Plant:
    """Return how the query ran for most of the time."""
    flowing = sum(query.trigger.kind == "real_time" for _, query in seen)
    return "continuous" if 2 * flowing > len(seen) else "micro_batch"


def of_kind(seen: Seen, kind: Plant) -> Seen:
    """Return the readings in which the query ran that way."""
    return [each for each in seen if (each[1].trigger.kind == "real_time") == (kind == "continuous")]


def usual_plan(seen: Seen) -> tuple[Trigger, float | None]:
    """Return the trigger and the rate limit of most readings."""
    return Counter((query.trigger, query.rate_limit_rows_per_s) for _, query in seen).most_common(1)[0][0]


def caught_up(seen: Seen) -> tuple[Reading, QueryReading]:
    """Return the first reading with throughput and no more lag than batches of the usual duration leave, as simulations start warm; else the first one."""
    usual_s = HARDLY_LONGER * median([query.batch.total_s for _, query in seen if query.batch] or [0.0])

    def is_usual(query: QueryReading) -> bool:
        usual = Cadence(interval_s=query.trigger.interval_s, longest_s=usual_s)
        return query.excess_lag_rows == 0 and (query.lag_rows or 0.0) <= healthy_lag_rows(query.arrival_rows_per_s or 0.0, usual, usual_s)

    return next((each for each in seen if each[1].throughput_rows_per_s and is_usual(each[1])), seen[0])


def recorded_arrivals(seen: Seen, config: Config) -> Arrivals | None:
    """Return the measured arrival rates, each in the middle of the time it covers; None if the source does not report them."""
    points: dict[float, float] = {}
    before_s: float | None = None
    for reading, query in seen:
        if query.arrival_rows_per_s is not None:
            since_s = min(reading.at_s - before_s, LONGEST * config.reading_interval_s) if before_s is not None else config.reading_interval_s
            points[reading.at_s - since_s / 2] = query.arrival_rows_per_s
        before_s = reading.at_s
    rising = sorted(points.items())
    return Arrivals.through([at_s for at_s, _ in rising], [rate for _, rate in rising]) if rising else None


def recorded_throughput(seen: Seen) -> Arrivals | None:
    """Return the throughput, for a source that does not report arrivals."""
    points = {reading.at_s: query.throughput_rows_per_s for reading, query in seen if query.throughput_rows_per_s is not None}
    return Arrivals.through(list(points), list(points.values())) if points else None


def arrivals_of(seen: Seen, config: Config) -> tuple[Arrivals, tuple[str, ...]]:
    """Return the arrivals, or else the throughput and a note that says so."""
    arrived = recorded_arrivals(seen, config)
    if arrived is not None:
        return arrived, ()
    processed = recorded_throughput(seen)
    if processed is None:
        raise UserMistake("the history has neither arrivals nor throughput: there is nothing to simulate")
    return processed, ("the source does not report arrivals: the throughput is used instead",)


def recorded_faults(readings: Sequence[Reading], queries: Sequence[str]) -> tuple[Fault, ...]:
    """Return a fault for every failure that a reading counts more than the one before it, at the time of its last disturbance.

    The loss of an executor is a crash, a failure of one of these queries a restart; failures of other queries are ignored. A query that is missing in
    a reading, as in event logs after its end, keeps the number of failures of its last reading.
    """
    found: list[Fault] = []
    known = {name: failures_of(readings[0], name) if readings else None for name in queries}
    for before, after in pairwise(readings):
        goes_on, at_s = after.uptime_s >= before.uptime_s, after.at_s - (after.since_disturbance_s or 0.0)
        if goes_on:
            found += [Fault(at_s=at_s)] * (after.failures - after.query_failures - before.failures + before.query_failures)
        for name in queries:
            counted, before_that = failures_of(after, name), known[name]
            if goes_on and counted is not None and before_that is not None:
                found += [Fault(at_s=at_s, kind="restart", query=name if len(queries) > 1 else None)] * (counted - before_that)
            known[name] = counted if counted is not None or not goes_on else before_that
    return tuple(found)


def failures_of(reading: Reading, name: str) -> int | None:
    """Return the failures of a query; None if it is not in the reading."""
    return next((query.failures for query in reading.queries if query.name == name), None)


def longest_stretch(seen: Seen, interval_s: float) -> Seen:
    """Return the longest run of readings without a gap in which the job did not run; of equal ones the last."""
    apart_s = max(SILENT_S, LONGEST * interval_s)
    stretches: list[Seen] = [[]]
    for each in seen:
        if stretches[-1] and each[0].at_s - stretches[-1][-1][0].at_s > apart_s:
            stretches.append([])
        stretches[-1].append(each)
    return max(reversed(stretches), key=lasted_s)


def lasted_s(seen: Seen) -> float:
    return seen[-1][0].at_s - seen[0][0].at_s if seen else 0.0
