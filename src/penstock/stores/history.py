"""The history of a job: one SQLite file that one controller writes, and that others may read meanwhile."""

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Self

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import MemoryLost, MemoryRegained
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.loop import Recorded
from penstock.core.redaction import Redactor
from penstock.stores.database import explained, is_disk_trouble, open_writer, page_bytes, transaction
from penstock.stores.recorder import Recorder, this_penstock
from penstock.stores.turn_rows import Entry, read_knowledge, write_entry

_AGES = {"readings": "at_s", "events": "last_at_s", "instructions": "at_s", "outcomes": "at_s", "turns": "at_s", "keyframes": "at_s"}
_LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The maximum age and size of a history: four fifths for the file, the rest for its write-ahead log, which a clean-up fills for a moment."""

    age_s: float
    size_bytes: float

    @classmethod
    def of(cls, config: Config) -> Self:
        return cls(age_s=config.history_days * 86400, size_bytes=config.history_mb * 1e6)

    @property
    def file_bytes(self) -> float:
        return 0.8 * self.size_bytes

    @property
    def wal_bytes(self) -> int:
        """The size at which the write-ahead log is moved into the file: SQLite's usual 4 MB, less in a small history."""
        return int(min(4e6, 0.05 * self.size_bytes))


def is_too_large(connection: sqlite3.Connection, bounds: Bounds) -> bool:
    """Return whether the file is too large; cheap enough for every turn."""
    return _used_bytes(connection) > bounds.file_bytes


def keep_within(connection: sqlite3.Connection, bounds: Bounds, now_s: float) -> None:
    """Drop rows that are too old, then the oldest until the file is small enough, and free the space."""
    with transaction(connection):
        _drop_until(connection, now_s - bounds.age_s)
    while is_too_large(connection, bounds):
        share = max(_LEAST_SHARE, 1 - bounds.file_bytes / _used_bytes(connection))
        cut_s = _time_at_share(connection, share)
        if cut_s is None:
            break
        with transaction(connection):
            _drop_until(connection, cut_s)
    _return_space(connection)


def _used_bytes(connection: sqlite3.Connection) -> int:
    pages, free = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
    return int(pages - free) * page_bytes(connection)


def _drop_until(connection: sqlite3.Connection, cut_s: float) -> None:
    for table, age in _AGES.items():
        connection.execute(f"DELETE FROM {table} WHERE {age} <= ?", (cut_s,))


def _time_at_share(connection: sqlite3.Connection, share: float) -> float | None:
    """Return the time before which the given share of all rows lies; None if there is no row."""
    times = " UNION ALL ".join(f"SELECT {age} AS at_s FROM {table}" for table, age in _AGES.items())
    rows = connection.execute(f"SELECT count(*) FROM ({times})").fetchone()[0]
    found = connection.execute(f"SELECT at_s FROM ({times}) ORDER BY at_s LIMIT 1 OFFSET ?", (min(int(share * rows), max(rows - 1, 0)),)).fetchone()
    return None if found is None else float(found[0])


def _return_space(connection: sqlite3.Connection) -> None:
    """Return free pages to the disk; only a script runs the pragma to its end, which frees one page a step."""
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()


_CLEAN_EVERY = 20

LEARNT_SAVE_S = 60.0
"""What was learnt is written at most this often, and with each rescale."""
KEYFRAME_S = 900.0
"""Time between two keyframes, from which a replay can start."""


class History:
    """The writer of a history, and the controller's knowledge store; safe to use from several threads.

    A disk that fails later does not stop a job: `append` and `save` do not raise for it. Lost rows are counted and reported, the newest knowledge
    is kept in memory and written as soon as the disk allows.

    A replay can start at a keyframe. One is written with every turn that does not follow from the last one written, and at intervals.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, config: Config, redactor: Redactor, recorder: Recorder) -> None:
        self.path = path
        self._connection = connection
        self._config = config
        self._bounds = Bounds.of(config)
        self._redactor = redactor
        self._recorder = recorder
        self._lock = Lock()
        self._closed = False
        self._lost: MemoryLost | None = None
        self._forgotten = 0
        self._unsaved: Knowledge | None = None
        self._learnt: Learnt | None = None
        self._learnt_written: Learnt | None = None
        self._learnt_written_s = -math.inf
        self._turn_written: Recorded | None = None
        self._keyframe_s = -math.inf
        self._until_cleaning = 0

    @classmethod
    def open(cls, path: Path, *, config: Config, redactor: Redactor, recorder: Recorder | None = None) -> Self:
        """Open or create the history at `path`; `UserMistake` if it cannot be written. `recorder` is the running Penstock unless given."""
        return cls(path, open_writer(path, wal_bytes=Bounds.of(config).wal_bytes), config=config, redactor=redactor, recorder=recorder or this_penstock())

    def append(
        self, at_s: float, *, reading: Reading | None = None, events: Sequence[Event] = (), instructions: Sequence[tuple[Instruction, float]] = (),
        outcomes: Sequence[tuple[Outcome, float]] = (), knowledge: Knowledge | None = None, recorded: Recorded | None = None,
    ) -> tuple[Event, ...]:  # fmt: skip
        """Write one turn, whole or not at all; return the events of memory lost or regained, which it writes too. Do nothing after `close`."""
        entry = Entry(reading=reading, events=events, instructions=instructions, outcomes=outcomes, knowledge=knowledge, recorded=recorded)
        with self._lock:
            if self._closed:
                return ()
            memory_events = self._write(entry, at_s)
            self._clean(at_s)
            return memory_events

    def load(self) -> Knowledge | None:
        """Return the knowledge of the last controller of this job."""
        with self._lock:
            if self._unsaved is not None:
                return self._unsaved
            with explained("the knowledge in the history cannot be read", self.path, "use the Penstock that wrote it, or give another state folder"):
                return read_knowledge(self._connection)

    def save(self, knowledge: Knowledge) -> None:
        """Write all knowledge; if that fails, the next `append` tries again and reports it."""
        with self._lock:
            self._unsaved, self._learnt = knowledge, knowledge.learnt
            if not self._closed:
                self._save_unsaved()

    def close(self) -> None:
        """Write what is unsaved and close the file; a second call does nothing."""
        with self._lock:
            if not self._closed:
                self._save_unsaved()
                self._closed = True
                self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, entry: Entry, at_s: float) -> tuple[Event, ...]:
        if entry.knowledge is not None:
            self._unsaved, self._learnt = entry.knowledge, entry.knowledge.learnt
        regained = MemoryRegained(at_s=at_s, forgotten=self._forgotten)
        gap = (self._lost, regained) if self._lost else ()
        whole = replace(
            entry, knowledge=self._unsaved, events=(*gap, *entry.events), learnt=self._learnt_due(entry, at_s), 
            keyframe_by=self._recorder if self._keyframe_due(entry) else None,
        )  # fmt: skip
        trouble = self._try_to_write(whole)
        if trouble is None:
            self._written(whole, at_s)
            self._lost, self._forgotten = None, 0
            return gap[1:]
        self._forgotten += entry.rows
        if self._lost:
            return ()
        self._lost = MemoryLost(at_s=at_s, reason=self._redactor.text(f"{self.path}: {trouble}"))
        return (self._lost,)

    def _learnt_due(self, entry: Entry, at_s: float) -> Learnt | None:
        """What was learnt since it was last written, where that is a while ago or the job is rescaled."""
        rescaled = any(instruction.change.executors is not None for instruction, _ in entry.instructions)
        due = rescaled or at_s - self._learnt_written_s >= LEARNT_SAVE_S
        return self._learnt if due and self._learnt is not self._learnt_written else None

    def _keyframe_due(self, entry: Entry) -> bool:
        turn = entry.recorded
        return turn is not None and (not turn.follows(self._turn_written) or turn.inputs.at_s - self._keyframe_s >= KEYFRAME_S)

    def _written(self, entry: Entry, at_s: float) -> None:
        """Remember what the file now holds."""
        self._unsaved = None
        if entry.learnt is not None:
            self._learnt_written, self._learnt_written_s = entry.learnt, at_s
        if entry.recorded is not None:
            self._turn_written = entry.recorded
            self._keyframe_s = entry.recorded.inputs.at_s if entry.keyframe_by else self._keyframe_s

    def _save_unsaved(self) -> None:
        rest = Entry(knowledge=self._unsaved, learnt=None if self._learnt is self._learnt_written else self._learnt)
        if (rest.knowledge or rest.learnt) and self._try_to_write(rest) is None:
            self._written(rest, self._learnt_written_s)

    def _try_to_write(self, entry: Entry) -> str | None:
        """Write an entry in one transaction; return the reason if the disk refuses it."""
        try:
            with transaction(self._connection):
                write_entry(self._connection, entry, self._redactor)
        except sqlite3.Error as error:
            if not is_disk_trouble(error):
                raise
            return str(error)
        return None

    def _clean(self, now_s: float) -> None:
        """Drop what exceeds the bounds; a disk error is ignored here, as the next turn meets and reports it."""
        try:
            self._until_cleaning -= 1
            if self._until_cleaning < 0 or is_too_large(self._connection, self._bounds):
                self._until_cleaning = _CLEAN_EVERY
                keep_within(self._connection, self._bounds, now_s)
        except sqlite3.Error as error:
            if not is_disk_trouble(error):
                raise
