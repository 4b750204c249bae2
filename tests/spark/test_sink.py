import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.core.errors import UserMistake
from penstock.spark.sink import LedgerWriter, count_rows


def writer_of(folder: Path, owner: str = "a", *, replaces: bool = False) -> LedgerWriter:
    return LedgerWriter(folder, owner=owner, replaces=replaces)


def rows(*values: int) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"n": list(values)})


def test_a_batch_that_is_committed_again_changes_nothing(tmp_path: Path) -> None:
    writer = writer_of(tmp_path)
    for _ in range(2):
        writer.commit([writer.write(rows(1, 2)), writer.write(iter([]))], 0)
    writer.commit([writer.write(rows(3))], 1)
    assert count_rows(tmp_path) == 3


def test_an_abort_after_a_commit_whose_answer_was_lost_takes_nothing_away(tmp_path: Path) -> None:
    writer = writer_of(tmp_path)
    messages = [writer.write(rows(1, 2))]
    writer.commit(messages, 0)
    writer.abort(messages, 0)
    page = json.loads((tmp_path / "batches" / "0.json").read_text())
    assert all((tmp_path / "data" / name).exists() for name in page["files"])


def test_rows_of_a_task_that_failed_are_not_counted_and_not_left(tmp_path: Path) -> None:
    def breaks() -> Iterator[pa.RecordBatch]:
        yield from rows(1)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        writer_of(tmp_path).write(breaks())
    assert not list((tmp_path / "data").glob("*"))


def test_a_complete_result_replaces_the_one_before_and_another_query_is_refused(tmp_path: Path) -> None:
    writer, other = writer_of(tmp_path, replaces=True), writer_of(tmp_path, "b")
    writer.commit([writer.write(rows(1, 2, 3))], 0)
    writer.commit([writer.write(rows(4))], 1)
    assert count_rows(tmp_path) == 1
    with pytest.raises(UserMistake, match="belongs to the query"):
        other.commit([other.write(rows(1))], 0)
