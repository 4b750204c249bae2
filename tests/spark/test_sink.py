"""The ledger counts each batch once."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.core.errors import UserMistake
from penstock.spark.sink import LedgerWriter, count_rows


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": list(values)})


def test_a_batch_that_is_committed_again_changes_nothing(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, owner="a", replaces=False)
    for _ in range(2):
        writer.commit([writer.write(iter([batch(1, 2)])), writer.write(iter([]))], 0)
    writer.commit([writer.write(iter([batch(3)]))], 1)
    assert count_rows(tmp_path) == 3


def test_an_abort_after_a_commit_whose_answer_was_lost_takes_nothing_away(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, owner="a", replaces=False)
    messages = [writer.write(iter([batch(1, 2)]))]
    writer.commit(messages, 0)
    writer.abort(messages, 0)
    page = json.loads((tmp_path / "batches" / "0.json").read_text())
    assert all((tmp_path / "data" / name).exists() for name in page["files"])


def test_rows_of_a_task_that_failed_are_not_counted_and_not_left(tmp_path: Path) -> None:
    def breaks() -> object:
        yield batch(1)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        LedgerWriter(tmp_path, owner="a", replaces=False).write(breaks())  # type: ignore[arg-type]
    assert not list((tmp_path / "data").glob("*"))


def test_a_complete_result_replaces_the_one_before(tmp_path: Path) -> None:
    writer = LedgerWriter(tmp_path, owner="a", replaces=True)
    writer.commit([writer.write(iter([batch(1, 2, 3)]))], 0)
    writer.commit([writer.write(iter([batch(4)]))], 1)
    assert count_rows(tmp_path) == 1


def test_a_ledger_of_another_query_is_refused(tmp_path: Path) -> None:
    first = LedgerWriter(tmp_path, owner="a", replaces=False)
    first.commit([first.write(iter([batch(1)]))], 0)
    second = LedgerWriter(tmp_path, owner="b", replaces=False)
    with pytest.raises(UserMistake, match="belongs to the query"):
        second.commit([second.write(iter([batch(1)]))], 0)
