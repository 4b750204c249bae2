from dataclasses import replace
from pathlib import Path

import pytest

from penstock.selftest.overhead_cost import Kept, Start, Turn

TURN = Turn(wall_s=9.5, work_s=9.1, driver_cpu_s=0.4)
FIRST = Start(alone=(TURN,), plain=(TURN, TURN), under=(TURN, TURN), driver_extra_mb=7.25)
SECOND = replace(FIRST, alone=(), driver_extra_mb=None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "overhead.jsonl"


def test_what_was_measured_is_there_again_in_its_order(file: Path) -> None:
    before = Kept(file, pairs=2)
    assert list(before.starts()) == []
    before.add(FIRST)
    before.add(SECOND)
    assert list(Kept(file, pairs=2).starts()) == [FIRST, SECOND]


def test_what_other_code_measured_does_not_count(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.selftest.overhead_cost.digest", lambda _: "other code")
    Kept(file, pairs=2).add(FIRST)
    monkeypatch.undo()
    assert list(Kept(file, pairs=2).starts()) == []


def test_a_torn_line_or_a_plan_with_other_pairs_does_not_count_and_without_a_file_nothing_is_kept(file: Path) -> None:
    Kept(file, pairs=2).add(FIRST)
    file.write_text(file.read_text() + file.read_text()[:40])
    assert list(Kept(file, pairs=2).starts()) == [FIRST]
    Kept(file, pairs=2).add(FIRST)
    assert list(Kept(file, pairs=3).starts()) == []
    kept = Kept(None, pairs=2)
    kept.add(FIRST)
    assert list(kept.starts()) == []
