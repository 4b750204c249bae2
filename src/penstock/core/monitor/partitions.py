"""The partitions of a query's sources: what arrives at each, and what waits there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.domain.reading import PartitionReading
from penstock.core.monitor.facts import PartitionFact
from penstock.core.monitor.lag import waiting_rows
from penstock.core.monitor.rate import Samples, rate_per_s


def partition_readings(partitions: Iterable[PartitionFact], newest: Mapping[str, Samples], window_s: float) -> tuple[PartitionReading, ...]:
    """Each partition with its arrival rate over the window and its lag now."""
    return tuple(
        PartitionReading(
            name=partition.name,
            arrival_rows_per_s=rate_per_s(newest.get(partition.name, ()), window_s),
            lag_rows=waiting_rows(partition.newest_rows, partition.processed_rows),
        )
        for partition in partitions
    )
