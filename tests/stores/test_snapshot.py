import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest
from histories import KNOWLEDGE, events_in, opened

from penstock.core.domain.events.query_events import QueryEnded
from penstock.core.errors import UserMistake
from penstock.stores.history import History
from penstock.stores.snapshot import restore_snapshot, take_snapshot


def history_with(path: Path, *times: float) -> History:
    history = opened(path)
    for at_s in times:
        history.append(at_s, events=[QueryEnded(at_s=at_s, query="q", reason="")], knowledge=KNOWLEDGE)
    return history


def times_in(path: Path) -> list[float]:
    return [event.at_s for event in events_in(path)]


def test_a_snapshot_of_a_running_history_is_one_complete_private_file(tmp_path: Path) -> None:
    target = tmp_path / "there" / "snapshot.db"
    target.parent.mkdir()
    with history_with(tmp_path / "history.db", 1.0, 2.0):
        take_snapshot(tmp_path / "history.db", target)
    assert [each.name for each in target.parent.iterdir()] == ["snapshot.db"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with closing(sqlite3.connect(target)) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert times_in(target) == [1.0, 2.0]


def test_snapshots_taken_while_a_thread_writes_hold_whole_turns(tmp_path: Path) -> None:
    path, stop = tmp_path / "history.db", threading.Event()
    history = history_with(path, 0.0)

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            history.append(float(number), events=[QueryEnded(at_s=float(number), query=name, reason="") for name in "ab"])

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(5):
            take_snapshot(path, tmp_path / "snapshot.db")
            seen = times_in(tmp_path / "snapshot.db")
            assert len(seen) == 1 + 2 * int(seen[-1])
    finally:
        stop.set()
        thread.join()
        history.close()


def test_a_restored_history_goes_on_with_its_knowledge(tmp_path: Path) -> None:
    with history_with(tmp_path / "history.db", 1.0):
        take_snapshot(tmp_path / "history.db", tmp_path / "snapshot.db")
    elsewhere = tmp_path / "other machine" / "history.db"
    assert restore_snapshot(tmp_path / "snapshot.db", elsewhere)
    assert [each.name for each in elsewhere.parent.iterdir()] == ["history.db"]
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o600
    with opened(elsewhere) as history:
        assert history.load() == KNOWLEDGE
        history.append(2.0, events=[QueryEnded(at_s=2.0, query="q", reason="")])
    assert times_in(elsewhere) == [1.0, 2.0]


def test_a_history_that_is_there_is_not_touched(tmp_path: Path) -> None:
    history_with(tmp_path / "snapshot.db", 1.0).close()
    history_with(tmp_path / "history.db", 5.0).close()
    assert not restore_snapshot(tmp_path / "snapshot.db", tmp_path / "history.db")
    assert times_in(tmp_path / "history.db") == [5.0]


def test_an_empty_file_counts_as_gone(tmp_path: Path) -> None:
    history_with(tmp_path / "snapshot.db", 1.0).close()
    (tmp_path / "history.db").touch()
    assert restore_snapshot(tmp_path / "snapshot.db", tmp_path / "history.db")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["history.db", "snapshot.db"]
    assert times_in(tmp_path / "history.db") == [1.0]


def test_a_log_left_behind_by_the_lost_history_does_not_spoil_the_restored_one(tmp_path: Path) -> None:
    history_with(tmp_path / "snapshot.db", 1.0).close()
    lost = tmp_path / "history.db"
    with history_with(lost, *map(float, range(50, 90))):
        log = lost.with_name("history.db-wal").read_bytes()
    lost.unlink()
    lost.with_name("history.db-wal").write_bytes(log)
    assert restore_snapshot(tmp_path / "snapshot.db", lost)
    assert times_in(lost) == [1.0]


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 50])
def test_a_snapshot_that_is_none_is_refused_and_nothing_is_left(tmp_path: Path, content: bytes) -> None:
    snapshot, path = tmp_path / "snapshot.db", tmp_path / "state" / "history.db"
    snapshot.write_bytes(content)
    with pytest.raises(UserMistake, match=rf"{snapshot}: the snapshot of the history .*: .*move it away to begin a new history"):
        restore_snapshot(snapshot, path)
    assert list(path.parent.iterdir()) == []
    history_with(tmp_path / "whole.db", *map(float, range(200))).close()
    whole = (tmp_path / "whole.db").read_bytes()
    snapshot.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserMistake, match="snapshot"):
        restore_snapshot(snapshot, path)
    snapshot.unlink()
    with pytest.raises(UserMistake, match="No such file"):
        restore_snapshot(snapshot, path)
    assert not path.exists()


def test_a_snapshot_to_nowhere_is_one_line_and_the_last_one_stays(tmp_path: Path) -> None:
    with history_with(tmp_path / "history.db", 1.0), pytest.raises(UserMistake, match="no snapshot of the history could be taken"):
        take_snapshot(tmp_path / "history.db", tmp_path / "nowhere" / "snapshot.db")
