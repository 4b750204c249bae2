"""The exact record of a simulated run, second by second. Scores are computed from it, never from readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from penstock.core.domain.fault import FaultKind
from penstock.core.shapes.chance import FloatArray

ROOM = 4096
"""What an array holds at first; its room doubles when it is full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """A fault that came, and when the job had caught up with it; None: not by the end of the record."""

    at_s: float
    kind: FaultKind
    recovered_s: float | None = None

    @property
    def recovery_s(self) -> float | None:
        return None if self.recovered_s is None else self.recovered_s - self.at_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaled:
    """A change of size: when it was asked for, when it was done, and for how long of that the job stood still (None: it worked on)."""

    asked_s: float
    done_s: float
    before: int
    after: int
    down_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seconds:
    """Consecutive whole seconds of a run, an entry each.

    `workers` are those paid for; `finished_rows` counts replays too, `replayed_rows` are those put back in that second, to be finished once more;
    `lag_rows` and `oldest_s` (how long the oldest row that waits has waited) are at the second's end; `latency_s` is the mean of the rows that finished
    in it, 0 where none did; `down` is the share of the second in which the job stood still.
    """

    workers: FloatArray
    arrived_rows: FloatArray
    finished_rows: FloatArray
    replayed_rows: FloatArray
    lag_rows: FloatArray
    latency_s: FloatArray
    oldest_s: FloatArray
    down: FloatArray

    def part(self, part: slice) -> Seconds:
        """Some of them, as views."""
        return Seconds(**{name: getattr(self, name)[part] for name in COLUMNS})


COLUMNS = tuple(each.name for each in fields(Seconds))


class Growing:
    """An array that is appended to; its room doubles when it is full.

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
        """All of them, as a view that the next `extend` may leave behind."""
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
    """A run from `start_s` on: its seconds, the latencies of its rows, its rescales, and what struck it.

    An engine writes whole seconds, in their order, and for all rows that finish some latencies, each with the number of rows it stands for.
    `parts` are the records of the queries that it sums up, if it does.
    """

    def __init__(self, start_s: float) -> None:
        self.start_s = start_s
        self.rescales: list[Rescaled] = []
        self.struck: list[Struck] = []
        self.parts: tuple[Record, ...] = ()
        self._columns = {name: Growing() for name in COLUMNS}
        self._delivered = (Growing(), Growing(), Growing())

    def __len__(self) -> int:
        """How many whole seconds are known."""
        return len(self._columns["workers"])

    @property
    def end_s(self) -> float:
        return self.start_s + len(self)

    def append(self, seconds: Seconds) -> None:
        """The seconds that follow those known."""
        columns = [getattr(seconds, name) for name in COLUMNS]
        if len({len(each) for each in columns}) > 1:
            raise ValueError(f"every column has an entry a second, found {dict(zip(COLUMNS, map(len, columns), strict=True))}")
        for column, more in zip(self._columns.values(), columns, strict=True):
            column.extend(more)

    def deliver(self, finished_s: FloatArray, latency_s: FloatArray, rows: FloatArray) -> None:
        """Rows that finished: when, their latencies, and how many rows each stands for."""
        for column, more in zip(self._delivered, (finished_s, latency_s, rows), strict=True):
            column.extend(more)

    def seconds(self, first: int = 0, end: int | None = None) -> Seconds:
        """The seconds from number `first` until before `end`, as views."""
        return Seconds(**{name: self.column(name, first, end) for name in COLUMNS})

    def column(self, name: str, first: int = 0, end: int | None = None) -> FloatArray:
        """One number of each of these seconds, as a view."""
        return self._columns[name].values[first:end]

    @property
    def delivered(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """When rows finished, their latencies, and how many rows each stands for."""
        finished_s, latency_s, rows = self._delivered
        return finished_s.values, latency_s.values, rows.values

    def recovered(self, at_s: float) -> None:
        """The job has caught up at that time: whatever struck before it is over."""
        self.struck = [replace(each, recovered_s=at_s) if each.recovered_s is None and each.at_s <= at_s else each for each in self.struck]


def together(records: Sequence[Record]) -> Record:
    """Rows of all queries, each once for each query that it passes; a job has recovered when all of its queries have.

    Executors are shared, so every record has the same of them, and the same rescales.
    """
    if len(records) == 1:
        return records[0]
    job, parts = Record(records[0].start_s), [record.seconds() for record in records]
    finished = sum_of(parts, "finished_rows")
    waited = sum((part.finished_rows * part.latency_s for part in parts), np.zeros(len(finished)))
    job.append(
        Seconds(
            workers=parts[0].workers,
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
    """The one of a fault's recoveries that ended last.

    >>> last_of([Struck(at_s=1.0, kind="kill", recovered_s=9.0), Struck(at_s=1.0, kind="kill", recovered_s=7.0)]).recovered_s
    9.0
    """
    ends_s = [each.recovered_s for each in struck]
    return replace(struck[0], recovered_s=None if None in ends_s else max(end_s for end_s in ends_s if end_s is not None))
