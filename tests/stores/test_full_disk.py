import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.core.config import Config
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.memory import MemoryLost, MemoryRegained
from penstock.core.domain.events.run import TurnFailed
from penstock.core.errors import UserMistake
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.redaction import Redactor
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader
from penstock.stores.snapshot import take_snapshot

KNOWLEDGE = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=2))


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
        History.open(small_disk / "state" / "history.db", config=Config(), redactor=Redactor())


def test_a_disk_full_at_the_next_start_is_one_line_and_the_history_is_kept(small_disk: Path) -> None:
    path = small_disk / "history.db"
    with History.open(path, config=Config(), redactor=Redactor()) as history:
        history.save(KNOWLEDGE)
    ballast = fill(small_disk)
    with pytest.raises(UserMistake, match=r"(full|written).*give another state folder$"):
        History.open(path, config=Config(), redactor=Redactor())
    ballast.unlink()
    with History.open(path, config=Config(), redactor=Redactor()) as history:
        assert history.load() == KNOWLEDGE


def test_a_disk_that_fills_up_later_is_survived_and_said(small_disk: Path, tmp_path: Path) -> None:
    path = small_disk / "history.db"
    with History.open(path, config=Config(), redactor=Redactor()) as history:
        history.append(1.0, events=[turn(1.0)])
        ballast = fill(small_disk)
        said = [event for at_s in range(2, 40) for event in history.append(float(at_s), events=[turn(float(at_s))], knowledge=KNOWLEDGE)]
        assert [type(event) for event in said] == [MemoryLost]
        with pytest.raises(UserMistake, match="no snapshot"):
            take_snapshot(path, small_disk / "snapshot.db")
        with HistoryReader.open(path) as reader:
            written = sum(1 for _ in reader.events())
        ballast.unlink()
        regained = history.append(50.0, events=[turn(50.0)])
        assert regained == (MemoryRegained(at_s=50.0, forgotten=39 - written),)
        take_snapshot(path, tmp_path / "snapshot.db")
    assert not (small_disk / ".snapshot.db.part").exists()
    for each in (path, tmp_path / "snapshot.db"):
        with HistoryReader.open(each) as reader:
            assert [row.event for row in reader.events()][-3:] == [*said, *regained, turn(50.0)]
            assert reader.knowledge() == KNOWLEDGE
