"""What is known is in the file after every turn; what was learnt is written now and then, when the job is rescaled, and at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.core.config import Config
from penstock.core.domain.instruction import ScaleExecutors
from penstock.core.knowledge import Desired, Knowledge
from penstock.core.redaction import Redactor
from penstock.runtime.fakes import blank_reading
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History.open(path, config=Config(learnt_save_interval_s=60.0), redactor=Redactor()) as opened:
        yield opened


def knowing(number: int) -> Knowledge:
    """Knowledge of a turn: what was learnt and what is only known have the same number."""
    plain = Knowledge(declared=Desired(executors=1), desired=Desired(executors=1), next_number=number, last=blank_reading(5.0 * number))
    return replace(plain, learnt=replace(plain.learnt, failures=number))


def append(history: History, number: int, *, rescaled: bool = False) -> None:
    knowledge = knowing(number)
    instructions = [(ScaleExecutors(number=1, executors=2), 5.0 * number)] if rescaled else []
    history.append(5.0 * number, reading=knowledge.last, knowledge=knowledge, instructions=instructions)


def in_file(path: Path) -> tuple[int, int, float]:
    """Number of what is known, number of what was learnt, time of the last reading."""
    with HistoryReader.open(path) as reader:
        knowledge = reader.knowledge()
    assert knowledge is not None and knowledge.last is not None
    return knowledge.next_number, knowledge.learnt.failures, knowledge.last.at_s


def test_what_was_learnt_is_written_once_in_a_while_and_the_rest_every_turn(history: History, path: Path) -> None:
    seen = []
    for number in range(1, 27):
        append(history, number)
        seen.append(in_file(path))
    assert [known for known, _, _ in seen] == list(range(1, 27))
    assert sorted({learnt for _, learnt, _ in seen}) == [1, 13, 25], "every sixty seconds"
    assert [last_s for _, _, last_s in seen] == [5.0 * number for number in range(1, 27)]


def test_a_rescale_writes_what_was_learnt_at_once(history: History, path: Path) -> None:
    append(history, 1)
    append(history, 2, rescaled=True)
    assert in_file(path)[:2] == (2, 2)


def test_saving_and_closing_write_what_was_learnt(history: History, path: Path) -> None:
    append(history, 1)
    append(history, 2)
    assert in_file(path)[:2] == (2, 1)
    history.save(knowing(3))
    assert in_file(path)[:2] == (3, 3)
    append(history, 4)
    append(history, 5)
    history.close()
    assert in_file(path)[:2] == (5, 5)


def test_what_did_not_change_is_not_written_again(history: History) -> None:
    def written() -> int:
        return int(history._connection.execute("SELECT total_changes()").fetchone()[0])

    def cost(knowledge: Knowledge, at_s: float) -> int:
        before = written()
        history.append(at_s, knowledge=knowledge)
        return written() - before

    knowledge = knowing(1)
    assert [cost(knowledge, at_s) for at_s in (0.0, 100.0, 200.0)] == [2, 1, 1]


def test_the_last_reading_is_in_the_file_once(history: History, path: Path) -> None:
    append(history, 1)
    assert history._connection.execute("SELECT json_extract(json, '$.last'), reading_id FROM knowledge").fetchone() == (None, 1)
    history.save(knowing(9))
    assert in_file(path) == (9, 9, 45.0), "one that has no row of its own is written with what is known"


def test_knowledge_that_the_disk_refused_is_written_whole_with_the_next_turn(history: History, path: Path) -> None:
    append(history, 1)
    history._connection.execute("PRAGMA query_only = ON")
    append(history, 30)
    history._connection.execute("PRAGMA query_only = OFF")
    history.append(160.0, reading=blank_reading(160.0))
    assert in_file(path) == (30, 30, 150.0)
