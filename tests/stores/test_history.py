import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from changes import changing, scaling
from histories import KNOWLEDGE, events_in, knowledge_in, opened, rows_in

from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import MemoryLost, MemoryRegained
from penstock.core.domain.events.query_events import QueryEnded
from penstock.core.domain.events.run_events import NothingToDo, RunStarted, TurnFailed
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.knowledge import Hold, Knowledge
from penstock.ports import KnowledgeStore
from penstock.stores.history import History
from penstock.stores.reader import EventRow, HistoryReader
from penstock.stores.snapshot import take_snapshot

SECRET = 'tops3cret/"ü'


def reading_at(at_s: float, queries: tuple[QueryReading, ...] = ()) -> Reading:
    return Reading(
        at_s=at_s, uptime_s=at_s, since_disturbance_s=None, executors_running=1, executors_requested=1, arrival_rows_per_s=0.1, throughput_rows_per_s=None,
        lag_rows=None, lag_s=None, excess_lag_rows=None, latency=None, busyness=None, failures=0, queries=queries,
    )  # fmt: skip


def test_a_turn_is_read_back_as_it_was_given(history: History, path: Path) -> None:
    scale, change = scaling(1, 2, 3), changing(2, "q", trigger=(Trigger(interval_s=2.0), Trigger()), rate_limit=(None, 50.0))
    outcome, event = Outcome(number=1, done=True, took_s=0.3), QueryEnded(at_s=7.0, query="q", reason="stopped")
    said = history.append(
        7.0, reading=reading_at(7.0), events=[event], instructions=[(scale, 7.0), (change, 7.1)], outcomes=[(outcome, 7.2)], knowledge=KNOWLEDGE
    )
    assert said == ()
    with HistoryReader.open(path) as reader:
        assert list(reader.readings()) == [reading_at(7.0)]
        assert list(reader.events()) == [EventRow(event=event, count=1, last_at_s=7.0)]
        assert list(reader.instructions()) == [(scale, 7.0), (change, 7.1)] and list(reader.outcomes()) == [(outcome, 7.2)]
        assert reader.knowledge() == KNOWLEDGE and reader.span() == (7.0, 7.0)


def test_only_the_owner_may_look_into_the_folder_and_the_files(history: History, path: Path) -> None:
    history.append(1.0, reading=reading_at(1.0))
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()} == {0o600}


def test_runs_of_nothing_to_do_are_one_row_until_something_else_happens(history: History, path: Path) -> None:
    idle = [NothingToDo(at_s=float(each)) for each in range(5)]
    for event in idle[:3]:
        history.append(event.at_s, events=[event])
    history.append(3.0, events=[TurnFailed(at_s=3.0, error="x"), idle[3], idle[4], NothingToDo(at_s=4.5, reason="held")])
    assert [(row.event, row.count, row.last_at_s) for row in rows_in(path)] == [
        (idle[0], 3, 2.0),
        (TurnFailed(at_s=3.0, error="x"), 1, 3.0),
        (idle[3], 2, 4.0),
        (NothingToDo(at_s=4.5, reason="held"), 1, 4.5),
    ]


def test_a_run_goes_on_in_the_next_process(path: Path) -> None:
    for at_s in (1.0, 2.0):
        with opened(path) as history:
            history.append(at_s, events=[NothingToDo(at_s=at_s)])
    assert [(row.count, row.last_at_s) for row in rows_in(path)] == [(2, 2.0)]


def test_a_span_cuts_readings_and_keeps_runs_that_reach_into_it(history: History, path: Path) -> None:
    for at_s in map(float, range(10)):
        history.append(at_s, reading=reading_at(at_s), events=[NothingToDo(at_s=at_s)])
    with HistoryReader.open(path) as reader:
        assert [each.at_s for each in reader.readings(3.0, 5.0)] == [3.0, 4.0, 5.0]
        assert [row.count for row in reader.events(8.0)] == [10]
        assert list(reader.events(9.5)) == []


def test_more_rows_than_are_read_at_once_come_complete_and_in_order(history: History, path: Path) -> None:
    times = [float(each // 3) for each in range(1203)]
    history.append(0.0, events=[QueryEnded(at_s=at_s, query=str(number), reason="") for number, at_s in enumerate(times)])
    rows = events_in(path)
    assert [row.at_s for row in rows] == times and [row.query for row in rows if isinstance(row, QueryEnded)] == [str(each) for each in range(1203)]


def test_it_is_a_knowledge_store_that_outlives_its_controller(path: Path) -> None:
    with opened(path) as history:
        store: KnowledgeStore = history
        assert store.load() is None
        store.save(KNOWLEDGE)
        store.save(replace(KNOWLEDGE, next_number=9))
    with opened(path) as history:
        assert history.load() == replace(KNOWLEDGE, next_number=9)


def test_knowledge_that_cannot_be_read_is_one_line_with_the_place(history: History, path: Path) -> None:
    history._connection.execute("INSERT INTO knowledge (id, json) VALUES (1, '{\"desired\": 4}')")
    with pytest.raises(UserMistake, match=rf"{path}: the knowledge in the history cannot be read .*declared.*: use the Penstock that wrote it"):
        history.load()


def test_closing_twice_or_writing_after_it_does_no_harm(history: History, path: Path) -> None:
    history.close()
    history.close()
    assert history.append(1.0, reading=reading_at(1.0)) == ()
    with HistoryReader.open(path) as reader:
        assert reader.span() is None


def test_threads_may_write_and_close_at_the_same_time(history: History, path: Path) -> None:
    def write(first: int) -> None:
        for number in range(30):
            history.append(float(first + number), reading=reading_at(float(first + number)), knowledge=KNOWLEDGE)

    threads = [threading.Thread(target=write, args=(100 * each,)) for each in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history.close()
    with HistoryReader.open(path) as reader:
        assert sum(1 for _ in reader.readings()) == 120


def test_no_secret_reaches_the_bytes_of_the_file(path: Path) -> None:
    query = QueryReading(name=f"q {SECRET}", state=SECRET, trigger=Trigger(), rate_limit_rows_per_s=None)
    knowledge = Knowledge(
        declared=Configuration(executors=1, queries={SECRET: QueryConfiguration()}),
        desired=Configuration(executors=1),
        holds=(Hold(knob="k", value=SECRET, who=SECRET, until_s=1.0),),
    )
    url_form, json_form = "tops3cret%2F%22%C3%BC", 'tops3cret/\\"\\u00fc'
    with opened(path, SECRET) as history:
        history.append(
            1.0, reading=reading_at(1.0, (query,)),
            events=[
                TurnFailed(at_s=1.0, error=f"jdbc:{url_form} {json_form} {SECRET}"),
                RunStarted(at_s=1.0, job=SECRET, master="m", mode="observe", spark_version="4", resumed=False),
            ],
            instructions=[(changing(1, SECRET, partitions=(4, 8)), 1.0)], outcomes=[(Outcome(number=1, done=False, took_s=1.0, reason=SECRET), 1.0)],
            knowledge=knowledge,
        )  # fmt: skip
        history.save(knowledge)
        history._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"tops3cret" not in raw
    assert b"jdbc:*** *** ***" in raw


@pytest.mark.parametrize("trouble", ["PRAGMA max_page_count = 1", "PRAGMA query_only = ON"])
def test_a_disk_that_fails_later_is_said_once_and_so_is_its_return(history: History, path: Path, trouble: str) -> None:
    fat = TurnFailed(at_s=2.0, error="x" * 20_000)
    history.append(1.0, reading=reading_at(1.0))
    history._connection.execute(trouble)
    said = history.append(2.0, reading=reading_at(2.0), events=[fat], knowledge=KNOWLEDGE)
    assert [type(event) for event in said] == [MemoryLost]
    assert said[0].at_s == 2.0 and str(path) in said[0].words()
    assert history.append(3.0, events=[fat]) == ()
    history._connection.execute("PRAGMA max_page_count = 1000000")
    history._connection.execute("PRAGMA query_only = OFF")
    regained = history.append(4.0, events=[NothingToDo(at_s=4.0)])
    assert regained == (MemoryRegained(at_s=4.0, forgotten=3),)
    with HistoryReader.open(path) as reader:
        assert [each.at_s for each in reader.readings()] == [1.0] and reader.knowledge() == KNOWLEDGE
    assert events_in(path) == [*said, *regained, NothingToDo(at_s=4.0)]


def test_a_failed_turn_leaves_nothing_half_written(history: History, path: Path) -> None:
    history._connection.execute("PRAGMA max_page_count = 1")
    history.append(1.0, reading=reading_at(1.0), events=[NothingToDo(at_s=1.0), TurnFailed(at_s=1.0, error="x" * 50_000)])
    assert not history._connection.in_transaction
    with HistoryReader.open(path) as reader:
        assert reader.span() is None


def test_knowledge_that_could_not_be_saved_is_kept_and_saved_later(history: History, path: Path) -> None:
    history._connection.execute("PRAGMA query_only = ON")
    history.save(KNOWLEDGE)
    assert history.load() == KNOWLEDGE
    history._connection.execute("PRAGMA query_only = OFF")
    history.close()
    assert knowledge_in(path) == KNOWLEDGE


def test_a_fault_of_the_program_is_not_taken_for_a_fault_of_the_disk(history: History) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        history.append(1.0, reading=reading_at(float("nan")))
    assert history.append(2.0, reading=reading_at(2.0)) == ()


def test_a_folder_that_cannot_be_made_and_a_history_that_is_missing_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserMistake, match=r"the history cannot be written \(.+\): put that right, or give another state folder$"):
        opened(tmp_path / "file" / "history.db")
    with pytest.raises(UserMistake, match="there is no history"):
        HistoryReader.open(tmp_path / "history.db")


WRITER = """
import os, sys
from pathlib import Path
from penstock.core.config import Config
from penstock.core.domain.events.query_events import QueryEnded
from penstock.core.redaction import Redactor
from penstock.stores.history import History
history = History.open(Path(sys.argv[1]), config=Config(), redactor=Redactor())
number = 0
while True:
    number += 1
    history.append(float(number), events=[QueryEnded(at_s=float(number), query="a", reason=""), QueryEnded(at_s=float(number), query="b", reason="")])
    if number == 20:
        print("ready", flush=True)
"""


def turns(events: Iterable[Event]) -> list[float]:
    return [event.at_s for event in events]


def test_another_process_reads_whole_turns_while_one_writes_and_after_it_was_killed(path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        counts = []
        for _ in range(5):
            with HistoryReader.open(path) as reader:
                seen = turns(row.event for row in reader.events(0.0, 20.0))
                assert seen == [float(each) for each in range(1, 21) for _ in "ab"]
                span = reader.span()
                assert span is not None
                counts.append(span[1])
        assert counts == sorted(counts)
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        if writer.stdout:
            writer.stdout.close()
    assert path.with_name("history.db-wal").stat().st_size > 0
    seen = turns(events_in(path))
    assert len(seen) == 2 * int(seen[-1])
    with opened(path) as history:
        history.append(seen[-1], events=[NothingToDo(at_s=seen[-1])])
    assert len(rows_in(path)) == len(seen) + 1


def test_a_reader_leaves_a_finished_history_byte_for_byte_as_it_is(history: History, path: Path) -> None:
    history.append(1.0, reading=reading_at(1.0))
    history.close()
    before = path.read_bytes()
    with HistoryReader.open(path) as reader:
        assert len(list(reader.readings())) == 1
    assert path.read_bytes() == before


def bytes_in(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.iterdir() if not each.name.endswith("-shm"))


@pytest.mark.parametrize("size", [lambda number: 3_000, lambda number: 200 if number % 7 else 30_000], ids=["even", "uneven"])
def test_the_size_bound_bounds_the_file_and_keeps_the_newest(tmp_path: Path, size: Callable[[int], int]) -> None:
    path, largest = tmp_path / "history.db", 0
    with opened(path, history_mb=1) as history:
        history.save(KNOWLEDGE)
        for number in range(1500):
            history.append(float(number), events=[TurnFailed(at_s=float(number), error="x" * size(number))])
            largest = max(largest, bytes_in(tmp_path))
    assert largest < 1e6
    kept = turns(events_in(path))
    assert knowledge_in(path) == KNOWLEDGE
    assert kept == [float(each) for each in range(int(kept[0]), 1500)] and len(kept) > 100


def test_a_smaller_bound_shrinks_the_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with opened(path, history_mb=100) as history:
        history.append(0.0, events=[TurnFailed(at_s=float(number), error="x" * 3000) for number in range(2000)])
    assert bytes_in(tmp_path) > 5e6
    with opened(path, history_mb=1) as history:
        history.append(2000.0, events=[NothingToDo(at_s=2000.0)])
    assert bytes_in(tmp_path) < 1e6
    with HistoryReader.open(path) as reader:
        assert reader.span() is not None and list(reader.events())[-1].event == NothingToDo(at_s=2000.0)


def test_what_is_too_old_is_dropped_and_a_run_that_goes_on_is_not(tmp_path: Path) -> None:
    path, day_s = tmp_path / "history.db", 86400.0
    with opened(path, history_days=1) as history:
        history.save(KNOWLEDGE)
        history.append(0.0, events=[TurnFailed(at_s=0.0, error="old")])
        for number in range(60):
            at_s = number * day_s / 20
            history.append(at_s, events=[NothingToDo(at_s=at_s)])
    assert [(row.event, row.count) for row in rows_in(path)] == [(NothingToDo(at_s=0.0), 60)] and knowledge_in(path) == KNOWLEDGE


def test_the_whole_history_may_grow_too_old(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with opened(path, history_days=1) as history:
        history.append(0.0, events=[TurnFailed(at_s=0.0, error="old")])
    with opened(path, history_days=1) as history:
        history.append(1e6, knowledge=KNOWLEDGE)
    with HistoryReader.open(path) as reader:
        assert reader.span() is None and reader.knowledge() == KNOWLEDGE


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root, and where there is a mount command, can make a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small tmpfs cannot be mounted here: {mounted.stderr.strip().partition(chr(10))[0]}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path) -> Path:
    """Take all the room there is."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (65536, 4096):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return ballast


def turn(at_s: float) -> TurnFailed:
    return TurnFailed(at_s=at_s, error="x" * 100_000)


def test_a_disk_full_at_the_start_is_one_line(small_disk: Path) -> None:
    fill(small_disk)
    with pytest.raises(UserMistake, match=r"(full|written|No space).*give another state folder$"):
        opened(small_disk / "state" / "history.db")


def test_a_disk_full_at_the_next_start_is_one_line_and_the_history_is_kept(small_disk: Path) -> None:
    path = small_disk / "history.db"
    with opened(path) as history:
        history.save(KNOWLEDGE)
    ballast = fill(small_disk)
    with pytest.raises(UserMistake, match=r"(full|written).*give another state folder$"):
        opened(path)
    ballast.unlink()
    with opened(path) as history:
        assert history.load() == KNOWLEDGE


def test_a_disk_that_fills_up_later_is_survived_and_said(small_disk: Path, tmp_path: Path) -> None:
    path = small_disk / "history.db"
    with opened(path) as history:
        history.append(1.0, events=[turn(1.0)])
        ballast = fill(small_disk)
        said = [event for at_s in range(2, 40) for event in history.append(float(at_s), events=[turn(float(at_s))], knowledge=KNOWLEDGE)]
        assert [type(event) for event in said] == [MemoryLost]
        with pytest.raises(UserMistake, match="no snapshot"):
            take_snapshot(path, small_disk / "snapshot.db")
        written = len(events_in(path))
        ballast.unlink()
        regained = history.append(50.0, events=[turn(50.0)])
        assert regained == (MemoryRegained(at_s=50.0, forgotten=39 - written),)
        take_snapshot(path, tmp_path / "snapshot.db")
    assert not (small_disk / ".snapshot.db.part").exists()
    for each in (path, tmp_path / "snapshot.db"):
        assert events_in(each)[-3:] == [*said, *regained, turn(50.0)] and knowledge_in(each) == KNOWLEDGE
