"""Rows made ready a little before they are due, so that sending them costs little."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.core.shapes.schedule import Schedule, TraceRecipe
from penstock.kafka.records import keys_of, partitions_of_rows, values_of
from penstock.trace.rows import RowMaker, make_rows

Ints = npt.NDArray[np.int64]
Report = Callable[[int, int, Any, Any], None]
_MICROS = 1_000_000


@dataclass(slots=True, kw_only=True)
class Block:
    """The rows up to `end` that the topic does not hold yet, as columns; the first `sent` of them have been sent.

    `reports` has a delivery callback for the last row of each partition. `offsets` and `held` are those before the block. `all_partitions` is the
    partition of each row, those included that the topic already holds and that are left out.
    """

    end: int
    positions: Sequence[int]
    arrival_us: Ints
    stamps_ms: list[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    partitions: list[int]
    reports: list[Callable[[Any, Any], None] | None]
    offsets: Ints
    held: Ints
    all_partitions: Ints
    sent: int = 0

    @property
    def is_sent(self) -> bool:
        return self.sent == len(self.positions)

    @property
    def position(self) -> int:
        """The row to be sent next."""
        return self.end if self.is_sent else self.positions[self.sent]

    def due(self, now_s: float) -> int:
        """Return how many of its rows are due."""
        return int(np.searchsorted(self.arrival_us, round(now_s * _MICROS), side="right"))

    def arrival_s(self) -> float:
        """Return when the row to be sent next is due."""
        return float(self.arrival_us[self.sent]) / _MICROS

    def offsets_now(self) -> Ints:
        """Return where the rows before the next one end in each partition."""
        return self.offsets + self._passed()

    def held_now(self) -> Ints:
        """Return how many rows of each partition, from the next one on, the topic already holds."""
        return (self.held - self._passed()).clip(min=0)

    def _passed(self) -> Ints:
        passed = len(self.all_partitions) - (self.end - self.position)
        return count_by_partition(self.all_partitions[:passed], len(self.offsets))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMaker:
    """Makes the records of a trace; `report(partition, end, ...)` is called with each delivery that brings a partition to offset `end`."""

    rows: RowMaker
    seed: int
    value_format: str
    partitions: int
    report: Report

    def try_out(self) -> None:
        """Make one row before any is due: this finds errors in the row maker, and loads its modules."""
        schedule = Schedule.begin(TraceRecipe(shape="constant(1)"), 0.0)
        self.make(schedule, 0, 1, np.zeros(self.partitions, dtype=np.int64), np.zeros(self.partitions, dtype=np.int64))

    def make(self, schedule: Schedule, first: int, end: int, offsets: Ints, held: Ints) -> Block:
        """Return the block of positions first to end - 1, without the first `held` rows of each partition, which the topic already holds."""
        (batch,) = make_rows(self.rows, self.seed, first, end, schedule.slice(first, end).arrival_of)
        positions = np.arange(first, end, dtype=np.int64)
        keys = keys_of(batch)
        placed = partitions_of_rows(keys, positions, self.partitions)
        arrival_us = batch.column("arrival").cast("int64").to_numpy()
        values = values_of(batch, self.value_format)
        named: list[bytes | None] = [None] * len(values) if keys is None else keys.to_pylist()
        wanted: Sequence[int] = range(len(values))
        if held.any():
            kept = not_held(placed, held)
            wanted = kept.tolist()
            values, named = [values[at] for at in wanted], [named[at] for at in wanted]
            positions, arrival_us = positions[kept], arrival_us[kept]
        return Block(
            end=end, positions=positions.tolist(), arrival_us=arrival_us, stamps_ms=(arrival_us // 1000).tolist(), keys=named, values=values,
            partitions=placed[wanted].tolist(), reports=self._reports(placed, wanted, offsets), offsets=offsets, held=held,
            all_partitions=placed,
        )  # fmt: skip

    def _reports(self, placed: Ints, wanted: Sequence[int], offsets: Ints) -> list[Callable[[Any, Any], None] | None]:
        reports: list[Callable[[Any, Any], None] | None] = [None] * len(wanted)
        ends, sent = offsets + count_by_partition(placed, self.partitions), placed[wanted]
        for partition in np.unique(sent).tolist():
            reports[int(np.flatnonzero(sent == partition)[-1])] = partial(self.report, partition, int(ends[partition]))
        return reports


def count_by_partition(placed: Ints, partitions: int) -> Ints:
    """Return how many rows go to each partition.

    >>> count_by_partition(np.array([0, 2, 2]), 4).tolist()
    [1, 0, 2, 0]
    """
    return np.bincount(placed, minlength=partitions)


def not_held(placed: Ints, held: Ints) -> Ints:
    """Return the indices of the rows to send, without the first `held` of each partition, which the topic already holds.

    >>> not_held(np.array([0, 1, 0, 1, 0]), np.array([2, 0])).tolist()
    [1, 3, 4]
    """
    keep = np.ones(len(placed), dtype=bool)
    for partition in np.flatnonzero(held):
        keep[np.flatnonzero(placed == partition)[: held[partition]]] = False
    return np.flatnonzero(keep)
