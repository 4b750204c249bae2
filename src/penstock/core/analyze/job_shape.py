"""What a reading tells of how the job is run: its interval, its batches, its executors."""

from __future__ import annotations

from penstock.core.domain.job import Promises
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.usage.utilization import plant_of

ASAP_S = 10.0
"""A query that starts its next batch at once is held to batches this long, unless a latency is promised."""


def interval_of(reading: Reading, promises: Promises) -> float:
    """The longest interval between two commits, in seconds; a trigger without one counts as half the latency that is promised: wait and batch are alike."""
    asap_s = ASAP_S if promises.latency_p95_s is None else promises.latency_p95_s / 2
    return max((query.trigger.interval_s or asap_s for query in reading.queries), default=asap_s)


def batch_of(reading: Reading) -> float | None:
    """The longest of the queries' average batches, in seconds; None where tasks run all the time, or nothing is known."""
    if plant_of(reading) == "continuous":
        return None
    return max((query.batch.total_s for query in reading.queries if query.batch is not None), default=None)


def share_of(query: QueryReading, reading: Reading) -> float:
    """The share of all arrivals that one query gets; an even one while nobody knows."""
    if query.arrival_rows_per_s is None or not reading.arrival_rows_per_s:
        return 1.0 / len(reading.queries)
    return query.arrival_rows_per_s / reading.arrival_rows_per_s


def slots_of(reading: Reading) -> int:
    """Slots of one executor; 1 while there is none."""
    return max((executor.slots for executor in reading.executors), default=1)
