import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from histories import KNOWLEDGE, opened

import penstock
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Keyframe, Recorded, Turn
from penstock.runtime.fakes import blank_reading
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import Recorder, digest, this_penstock
from penstock.stores.snapshot import restore_snapshot, take_snapshot

OLD, NEW = Recorder(version="0.1.0", core="5f2a90c1b7de"), Recorder(version="0.2.0")


def run(path: Path, recorder: Recorder | None, first_s: float = 5.0) -> None:
    """Two turns, of which the first has a keyframe."""
    with opened(path, recorder=recorder) as history:
        knowledge, terms = KNOWLEDGE, Terms()
        for at_s in (first_s, first_s + 5.0):
            reading, events = blank_reading(at_s), (NothingToDo(at_s=at_s),)
            done = Turn(knowledge=knowledge, instructions=(), events=events)
            recorded = Recorded(before=Keyframe(knowledge=knowledge, terms=terms), inputs=Inputs(at_s=at_s, reading=reading), done=done)
            history.append(at_s, reading=reading, events=events, knowledge=knowledge, recorded=recorded)


def recorders(path: Path) -> dict[int, Recorder]:
    with HistoryReader.open(path) as reader:
        return reader.recorders()


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_each_run_says_who_recorded_it(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run(path, OLD)
    run(path, NEW, first_s=100.0)
    run(path, None, first_s=200.0)
    assert recorders(path) == {1: OLD, 3: NEW, 5: this_penstock()}, "each run begins with a keyframe"


def test_what_is_compared_is_the_same_whoever_recorded_it(tmp_path: Path) -> None:
    histories = [tmp_path / "old.db", tmp_path / "new.db", tmp_path / "this.db"]
    for path, recorder in zip(histories, (OLD, NEW, None), strict=True):
        run(path, recorder)
    compared = ("SELECT * FROM turns", "SELECT * FROM readings", "SELECT turn_id, at_s, json FROM keyframes", "SELECT * FROM events")
    first, *others = [[rows(path, query) for query in compared] for path in histories]
    assert others == [first, first] and first[0][0][-1], "with marks"


def test_a_snapshot_carries_who_recorded_it(tmp_path: Path) -> None:
    path, copy, elsewhere = (tmp_path / name for name in ("history.db", "snapshot.db", "elsewhere.db"))
    run(path, OLD)
    take_snapshot(path, copy)
    assert restore_snapshot(copy, elsewhere) and recorders(elsewhere) == {1: OLD}


def package(folder: Path, **sources: str) -> Path:
    for name, text in sources.items():
        file = folder / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_it_is_found_once_of_the_sources_and_without_them_nothing_is_known(tmp_path: Path) -> None:
    core = Path(penstock.__file__).parent / "core"
    assert this_penstock() is this_penstock()
    assert (this_penstock().version, this_penstock().core) == (penstock.__version__, digest(core))
    (tmp_path / "loop.pyc").write_bytes(b"compiled")
    assert digest(tmp_path) is None


def test_the_digest_changes_with_a_byte_a_place_and_a_file_more(tmp_path: Path) -> None:
    found = [
        digest(package(tmp_path / "a", loop="x = 1", plan__guard="y = 2")),
        digest(package(tmp_path / "b", loop="x = 2", plan__guard="y = 2")),
        digest(package(tmp_path / "c", loop="x = 1", guard="y = 2")),
        digest(package(tmp_path / "d", loop="x = 1", plan__guard="y = 2", plan__more="")),
    ]
    assert len({*found}) == 4 and None not in found


def test_the_digest_is_the_same_elsewhere_and_whatever_python_compiled(tmp_path: Path) -> None:
    first, second = (package(tmp_path / name, loop="x = 1", plan__guard="y = 2") for name in ("here", "there"))
    (second / "__pycache__").mkdir()
    (second / "__pycache__/loop.cpython-311.pyc").write_bytes(b"compiled")
    assert digest(first) == digest(second)
