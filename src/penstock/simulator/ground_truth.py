"""The exact record of a simulated run, second by second. Scores are computed from it, never from readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from penstock.core.domain.fault import FaultKind
from penstock.core.shapes.chance import FloatArray

ROOM = 4096
"""The initial capacity of a growing array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A fault that happened, and when the job had recovered from it (None: not by the end of the record)."""

    at_s: float
    kind: FaultKind
    recovered_s: float | None = None

    @property
    def recovery_s(self) -> float | None:
        return None if self.recovered_s is None else self.recovered_s - self.at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaled:
    """A change of the number of executors: when it was asked for and done, and the downtime in between (None: the job kept running)."""

    asked_s: float
    done_s: float
    before: int
    after: int
    down_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seconds:
    """Consecutive whole seconds of a run, with one entry for each second.

    `executors` are those that are paid for. `finished_rows` includes replays; `replayed_rows` are those that are put back in that second.
    `lag_rows` and `oldest_s` (the age of the oldest waiting row) are at the second's end. `latency_s` is the mean of the rows that finished in it,
    0 where none did. `down` is the share of the second in which the job was down.
    """

    executors: FloatArray
    arrived_rows: FloatArray
    finished_rows: FloatArray
    replayed_rows: FloatArray
    lag_rows: FloatArray
    latency_s: FloatArray
    oldest_s: FloatArray
    down: FloatArray

    def part(self, part: slice) -> Seconds:
        """Return some of the seconds, as views."""
        return Seconds(**{name: getattr(self, name)[part] for name in COLUMNS})


COLUMNS = tuple(each.name for each in fields(Seconds))


class Growing:
    """An array to append to; its capacity doubles when it is full.

    >>> numbers = Growing(room=1)
    >>> numbers.extend(np.array([1.0, 2.0, 3.0]))
    >>> numbers.extend(np.array([4.0]))
    >>> numbers.values.tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def __init__(self, room: int = ROOM) -> None:
        self._kept = np.empty(room, dtype=np.float64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> FloatArray:
        """A view of all values, valid until the next `extend`."""
        return self._kept[: self._count]

    def extend(self, more: FloatArray) -> None:
        count = self._count + len(more)
        if count > len(self._kept):
            grown = np.empty(max(count, 2 * len(self._kept)), dtype=np.float64)
            grown[: self._count] = self.values
            self._kept = grown
        self._kept[self._count : count] = more
        self._count = count


class Record:
    """A run from `start_s` on: its seconds, the latencies of its rows, its rescales and its faults.

    An engine appends whole seconds in order, and samples of the latencies of finished rows, each with the number of rows it stands for.
    `parts` are the records of the queries that this record sums up, if any.
    """

    def __init__(self, start_s: float) -> None:
        self.start_s = start_s
        self.rescales: list[Rescaled] = []
        self.struck: list[Struck] = []
        self.parts: tuple[Record, ...] = ()
        self._columns = {name: Growing() for name in COLUMNS}
        self._delivered = (Growing(), Growing(), Growing())

    def __len__(self) -> int:
        """Return the number of recorded seconds."""
        return len(self._columns["executors"])

    @property
    def end_s(self) -> float:
        return self.start_s + len(self)

    def append(self, seconds: Seconds) -> None:
        """Append the seconds that follow the recorded ones."""
        columns = [getattr(seconds, name) for name in COLUMNS]
        if len({len(each) for each in columns}) > 1:
            raise ValueError(f"every column has an entry a second, found {dict(zip(COLUMNS, map(len, columns), strict=True))}")
        for column, more in zip(self._columns.values(), columns, strict=True):
            column.extend(more)

    def deliver(self, finished_s: FloatArray, latency_s: FloatArray, rows: FloatArray) -> None:
        """Append samples of finished rows: their times, their latencies, and the number of rows each stands for."""
        for column, more in zip(self._delivered, (finished_s, latency_s, rows), strict=True):
            column.extend(more)

    def seconds(self, first: int = 0, end: int | None = None) -> Seconds:
        """Return the seconds from number `first` until before `end`, as views."""
        return Seconds(**{name: self.column(name, first, end) for name in COLUMNS})

    def column(self, name: str, first: int = 0, end: int | None = None) -> FloatArray:
        """Return one column of these seconds, as a view."""
        return self._columns[name].values[first:end]

    @property
    def delivered(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The samples of finished rows: their times, their latencies, and the number of rows each stands for."""
        finished_s, latency_s, rows = self._delivered
        return finished_s.values, latency_s.values, rows.values

    def recovered(self, at_s: float) -> None:
        """Mark the faults before `at_s` as recovered at that time."""
        self.struck = [replace(each, recovered_s=at_s) if each.recovered_s is None and each.at_s <= at_s else each for each in self.struck]


def together(records: Sequence[Record]) -> Record:
    """Return the record of a job from those of its queries: rows are summed, and a job has recovered when all of its queries have.

    Queries share their executors, so every record has the same number of them and the same rescales.
    """
    if len(records) == 1:
        return records[0]
    job, parts = Record(records[0].start_s), [record.seconds() for record in records]
    finished = sum_of(parts, "finished_rows")
    waited = sum((part.finished_rows * part.latency_s for part in parts), np.zeros(len(finished)))
    job.append(
        Seconds(
            executors=parts[0].executors,
            arrived_rows=sum_of(parts, "arrived_rows"),
            finished_rows=finished,
            replayed_rows=sum_of(parts, "replayed_rows"),
            lag_rows=sum_of(parts, "lag_rows"),
            latency_s=np.divide(waited, finished, out=np.zeros(len(finished)), where=finished > 0),
            oldest_s=np.max([part.oldest_s for part in parts], axis=0),
            down=np.max([part.down for part in parts], axis=0),
        )
    )
    for record in records:
        job.deliver(*record.delivered)
    job.parts = tuple(records)
    job.rescales = list(records[0].rescales)
    job.struck = [last_of(each) for each in zip(*(record.struck for record in records), strict=True)]
    return job


def sum_of(parts: Sequence[Seconds], column: str) -> FloatArray:
    return np.asarray(np.sum([getattr(part, column) for part in parts], axis=0))


def last_of(struck: Sequence[Struck]) -> Struck:
    """Return the recovery from a fault that ended last.

    >>> last_of([Struck(at_s=1.0, kind="kill", recovered_s=9.0), Struck(at_s=1.0, kind="kill", recovered_s=7.0)]).recovered_s
    9.0
    """
    ends_s = [each.recovered_s for each in struck]
    return replace(struck[0], recovered_s=None if None in ends_s else max(end_s for end_s in ends_s if end_s is not None))
