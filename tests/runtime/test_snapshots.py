import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from histories import events_in, opened
from waiting import wait_until

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import LeaseLost, LeaseNotRenewed, SnapshotFailed
from penstock.core.domain.events.query_events import QueryEnded
from penstock.core.errors import UserMistake
from penstock.runtime.fakes import FolderBeside
from penstock.runtime.joblease import NOTE, CheckpointLease
from penstock.runtime.snapshots import COPY, NAME, Restored, Snapshots, restore_history
from penstock.runtime.steady_clock import SteadyClock

EVENT = QueryEnded(at_s=7.0, query="q", reason="stopped")


class Kept:
    """A history, what lies beside the checkpoint, and what the snapshots said."""

    def __init__(self, folder: Path, expiry_s: float = 60.0) -> None:
        self.path = folder / "here" / "history.db"
        self.history = opened(self.path)
        self.history.append(7.0, events=[EVENT])
        self.beside = FolderBeside(folder / "_penstock")
        self.lease = CheckpointLease(self.beside, "job", expiry_s)
        self.lease.take()
        self.said: list[Event] = []
        self.lost = threading.Event()

    def snapshots(self, interval_s: float = 3600.0) -> Snapshots:
        return Snapshots(
            beside=self.beside, history=self.path, lease=self.lease, interval_s=interval_s, clock=SteadyClock(), note=self.said.extend, on_lost=self.lost.set
        )

    def steal(self) -> None:
        thief = {"token": "other", "host": "elsewhere", "pid": 77, "born_s": 0.0, "renewed_s": time.time(), "job": "job"}
        self.beside.write(NOTE, json.dumps(thief).encode())


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.history.close()


def test_a_history_that_is_gone_comes_back_and_one_that_is_there_stays_as_it_is(kept: Kept, tmp_path: Path) -> None:
    kept.snapshots().take()
    elsewhere = tmp_path / "elsewhere" / "history.db"
    assert restore_history(kept.beside, elsewhere) and events_in(elsewhere) == [EVENT]
    later = QueryEnded(at_s=8.0, query="q", reason="again")
    kept.history.append(8.0, events=[later])
    assert not restore_history(kept.beside, kept.path) and events_in(kept.path) == [EVENT, later]


def test_a_copy_on_its_way_is_in_the_jobs_own_folder_and_what_a_killed_driver_left_there_does_not_stay(kept: Kept, tmp_path: Path) -> None:
    left = kept.path.with_name(COPY)
    left.write_text("half a copy")
    sent: list[Path] = []
    upload = kept.beside.upload
    kept.beside.upload = lambda local, name: (sent.append(local), upload(local, name))[1]  # type: ignore[method-assign]
    kept.snapshots().take()
    assert sent == [left] and not left.exists()
    elsewhere = tmp_path / "elsewhere" / "history.db"
    assert restore_history(kept.beside, elsewhere) and [each.name for each in elsewhere.parent.iterdir()] == ["history.db"]


def test_a_snapshot_that_is_damaged_or_missing_takes_the_place_of_no_history(kept: Kept, tmp_path: Path) -> None:
    kept.beside.write(NAME, b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(UserMistake, match="snapshot"):
        restore_history(kept.beside, tmp_path / "elsewhere.db")
    assert not (tmp_path / "elsewhere.db").exists()
    kept.history.close()
    assert restore_history(kept.beside, kept.path) is None and events_in(kept.path) == [EVENT]
    assert not restore_history(FolderBeside(tmp_path / "empty"), tmp_path / "history.db")
    assert not (tmp_path / "history.db").exists()


def test_a_snapshot_with_another_schema_version_is_refused_with_its_place(kept: Kept, tmp_path: Path) -> None:
    kept.snapshots().take()
    with closing(sqlite3.connect(kept.beside.folder / NAME)) as snapshot:
        snapshot.execute("PRAGMA user_version = 3")
    for history in (kept.path, tmp_path / "elsewhere" / "history.db"):
        with pytest.raises(
            UserMistake, match=r"^history\.db beside the checkpoint: the history has schema version 3, this Penstock needs version 1: .*move it away"
        ):
            restore_history(kept.beside, history)


def test_snapshots_are_taken_again_and_again_and_once_more_at_the_end(kept: Kept, tmp_path: Path) -> None:
    snapshots = kept.snapshots(interval_s=0.02)
    snapshots.start()
    wait_until(lambda: kept.beside.read(NAME))
    kept.beside.write(NAME, b"")
    kept.history.append(8.0, events=[EVENT])
    wait_until(lambda: kept.beside.read(NAME))
    last = QueryEnded(at_s=9.0, query="q", reason="last words")
    kept.history.append(9.0, events=[last])
    snapshots.close()
    assert restore_history(kept.beside, tmp_path / "elsewhere.db") and events_in(tmp_path / "elsewhere.db") == [EVENT, EVENT, last]
    assert kept.said == []
    CheckpointLease(kept.beside, "job", 60.0).take()


def test_a_failure_is_said_once_until_it_works_again(kept: Kept) -> None:
    snapshots = kept.snapshots()
    for _ in range(2):
        kept.beside.broken = OSError(28, "No space left on device")
        for _ in range(3):
            snapshots.take()
        kept.beside.broken = None
        snapshots.take()
        kept.history.append(8.0, events=[EVENT])
    assert [event.reason for event in kept.said if isinstance(event, SnapshotFailed)] == ["[Errno 28] No space left on device"] * 2


def test_a_lease_that_is_renewed_does_not_hide_that_snapshots_fail(kept: Kept) -> None:
    def refuse(local: Path, name: str) -> None:
        tries.append(name)
        raise OSError(28, "No space left on device")

    tries: list[str] = []
    kept.beside.upload = refuse  # type: ignore[method-assign]
    snapshots = kept.snapshots(interval_s=0.01)
    snapshots.start()
    wait_until(lambda: len(tries) >= 4)
    snapshots.close()
    assert [type(event) for event in kept.said] == [SnapshotFailed]


def test_a_lease_that_cannot_be_renewed_is_said_as_such_and_once(kept: Kept) -> None:
    def refuse(name: str, content: bytes) -> None:
        if name == NOTE:
            raise PermissionError(13, "Permission denied")
        write(name, content)

    write = kept.beside.write
    kept.beside.write = refuse  # type: ignore[method-assign]
    kept.snapshots().close()
    assert [(type(event), event.words()) for event in kept.said] == [
        (LeaseNotRenewed, "the lease beside the checkpoint could not be written: [Errno 13] Permission denied; it runs out unless a later try succeeds")
    ]
    assert kept.beside.read(NAME) is not None, "a snapshot is another matter"


def test_the_lease_is_renewed_in_time_however_seldom_snapshots_are_taken(tmp_path: Path) -> None:
    kept = Kept(tmp_path, expiry_s=0.06)
    signed = kept.beside.read(NOTE)
    snapshots = kept.snapshots(interval_s=3600.0)
    snapshots.start()
    wait_until(lambda: kept.beside.read(NOTE) != signed)
    assert kept.beside.read(NAME) is None
    snapshots.close()
    kept.history.close()


def test_one_who_has_taken_over_is_noticed_and_what_he_wrote_is_not_touched(kept: Kept) -> None:
    snapshots = kept.snapshots(interval_s=0.02)
    kept.steal()
    kept.beside.write(NAME, b"his")
    snapshots.start()
    assert kept.lost.wait(30)
    snapshots.close()
    assert [event.holder for event in kept.said if isinstance(event, LeaseLost)][:1] == ["the driver with process id 77 on elsewhere"]
    assert kept.beside.read(NAME) == b"his"
    assert b'"other"' in (kept.beside.read(NOTE) or b"")


def test_one_who_has_taken_over_unnoticed_is_noticed_at_the_end(kept: Kept) -> None:
    snapshots = kept.snapshots()
    kept.steal()
    snapshots.close()
    assert kept.lost.is_set() and kept.beside.read(NAME) is None


def test_a_job_that_comes_back_from_another_machine_brings_its_newer_history_and_the_older_one_is_kept(kept: Kept, tmp_path: Path) -> None:
    kept.snapshots().take()
    there, later = tmp_path / "there" / "history.db", QueryEnded(at_s=86_400.0, query="q", reason="on the other machine")
    assert restore_history(kept.beside, there) == Restored(aside=None)
    other = opened(there)
    other.append(later.at_s, events=[later])
    other.close()
    kept.beside.upload(there, NAME)
    kept.history.close()
    aside = kept.path.with_name("history-until-19700101T000007Z.db")
    assert restore_history(kept.beside, kept.path) == Restored(aside=aside)
    assert events_in(kept.path) == [EVENT, later] and events_in(aside) == [EVENT]
    assert restore_history(kept.beside, kept.path) is None, "once is enough"


def test_the_lease_is_renewed_while_a_snapshot_is_slow(tmp_path: Path) -> None:
    kept = Kept(tmp_path, expiry_s=0.06)
    begun, over = threading.Event(), threading.Event()

    def slowly(local: Path, name: str) -> None:
        begun.set()
        over.wait(30)

    kept.beside.upload = slowly  # type: ignore[method-assign]
    snapshots = kept.snapshots(interval_s=0.01)
    snapshots.start()
    assert begun.wait(30)
    signed = kept.beside.read(NOTE)
    wait_until(lambda: kept.beside.read(NOTE) != signed)
    over.set()
    snapshots.close()
    kept.history.close()


def test_a_history_in_which_nothing_was_written_is_not_sent_again(kept: Kept) -> None:
    sent: list[str] = []
    kept.beside.upload = lambda local, name: sent.append(name)  # type: ignore[method-assign]
    snapshots = kept.snapshots()
    snapshots.take()
    snapshots.take()
    assert sent == [NAME]
    kept.history.append(8.0, events=[EVENT])
    snapshots.take()
    assert sent == [NAME, NAME]
