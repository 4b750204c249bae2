from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.core.config import Config
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.run import NothingToDo, TurnFailed
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.redaction import Redactor
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader

KNOWLEDGE = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=2))


def bytes_in(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.iterdir() if not each.name.endswith("-shm"))


@pytest.mark.parametrize("size", [lambda number: 3_000, lambda number: 200 if number % 7 else 30_000], ids=["even", "uneven"])
def test_the_size_bound_bounds_the_file_and_keeps_the_newest(tmp_path: Path, size: Callable[[int], int]) -> None:
    path, largest = tmp_path / "history.db", 0
    with History.open(path, config=Config(history_mb=1), redactor=Redactor()) as history:
        history.save(KNOWLEDGE)
        for number in range(1500):
            history.append(float(number), events=[TurnFailed(at_s=float(number), error="x" * size(number))])
            largest = max(largest, bytes_in(tmp_path))
    assert largest < 1e6
    with HistoryReader.open(path) as reader:
        kept = [row.event.at_s for row in reader.events()]
        assert reader.knowledge() == KNOWLEDGE
    assert kept == [float(each) for each in range(int(kept[0]), 1500)]
    assert len(kept) > 100


def test_a_smaller_bound_shrinks_the_file_that_is_there(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History.open(path, config=Config(history_mb=100), redactor=Redactor()) as history:
        history.append(0.0, events=[TurnFailed(at_s=float(number), error="x" * 3000) for number in range(2000)])
    assert bytes_in(tmp_path) > 5e6
    with History.open(path, config=Config(history_mb=1), redactor=Redactor()) as history:
        history.append(2000.0, events=[NothingToDo(at_s=2000.0)])
    assert bytes_in(tmp_path) < 1e6
    with HistoryReader.open(path) as reader:
        assert reader.span() is not None and list(reader.events())[-1].event == NothingToDo(at_s=2000.0)


def test_what_is_too_old_is_dropped_and_a_run_that_goes_on_is_not(tmp_path: Path) -> None:
    path, day_s = tmp_path / "history.db", 86400.0
    with History.open(path, config=Config(history_days=1), redactor=Redactor()) as history:
        history.save(KNOWLEDGE)
        history.append(0.0, events=[TurnFailed(at_s=0.0, error="old")])
        for number in range(60):
            at_s = number * day_s / 20
            history.append(at_s, events=[NothingToDo(at_s=at_s)])
    with HistoryReader.open(path) as reader:
        rows = list(reader.events())
        assert reader.knowledge() == KNOWLEDGE
    assert [(row.event, row.count) for row in rows] == [(NothingToDo(at_s=0.0), 60)]


def test_the_whole_history_may_grow_too_old(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with History.open(path, config=Config(history_days=1), redactor=Redactor()) as history:
        history.append(0.0, events=[TurnFailed(at_s=0.0, error="old")])
    with History.open(path, config=Config(history_days=1), redactor=Redactor()) as history:
        history.append(1e6, knowledge=KNOWLEDGE)
    with HistoryReader.open(path) as reader:
        assert reader.span() is None
        assert reader.knowledge() == KNOWLEDGE
