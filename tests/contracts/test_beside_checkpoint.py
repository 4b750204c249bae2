import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.ports import BesideCheckpoint
from penstock.runtime.fakes import FolderBeside

ON_A_DISK: list[Any] = ["local_folder", pytest.param("spark_folder", marks=pytest.mark.spark)]
FOLDERS: list[Any] = [*ON_A_DISK, pytest.param("mounted_folder", marks=pytest.mark.spark)]
EVERY_BYTE = bytes(range(256)) * 5


@pytest.fixture
def local_folder(tmp_path: Path) -> BesideCheckpoint:
    return FolderBeside(tmp_path / "checkpoint" / "_penstock")


@pytest.fixture(params=FOLDERS)
def beside(request: pytest.FixtureRequest) -> BesideCheckpoint:
    made: BesideCheckpoint = request.getfixturevalue(request.param)
    return made


def test_what_is_not_there_is_nothing(beside: BesideCheckpoint, tmp_path: Path) -> None:
    assert beside.read("lease.json") is None
    assert beside.download("history.db", tmp_path / "local") is False
    assert not (tmp_path / "local").exists()


def test_what_was_written_is_read_and_replaces_what_was_there_and_nothing_else(beside: BesideCheckpoint) -> None:
    beside.write("other", b"other")
    for content in (EVERY_BYTE, b"", b"{}"):
        beside.write("lease.json", content)
        assert (beside.read("lease.json"), beside.read("other")) == (content, b"other")


def test_a_local_file_goes_there_comes_back_and_replaces_the_one_before(beside: BesideCheckpoint, tmp_path: Path) -> None:
    here, back = tmp_path / "here", tmp_path / "back"
    back.write_bytes(b"left over")
    for content in (EVERY_BYTE, b"shorter"):
        here.write_bytes(content)
        beside.upload(here, "history.db")
        assert here.read_bytes() == content, "the local file stays"
        assert beside.read("history.db") == content
        assert beside.download("history.db", back) is True and back.read_bytes() == content


@pytest.mark.parametrize("beside", ON_A_DISK, indirect=True)
def test_there_is_never_a_moment_without_the_file_while_it_is_replaced(beside: BesideCheckpoint, tmp_path: Path) -> None:
    here, stop = tmp_path / "here", threading.Event()
    here.write_bytes(EVERY_BYTE)
    beside.upload(here, "history.db")
    (kept,) = tmp_path.rglob("history.db")
    missing = []

    def look() -> None:
        while not stop.is_set():
            if not kept.exists():
                missing.append(kept)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(150):
            beside.upload(here, "history.db")
    finally:
        stop.set()
        watcher.join()
    assert not missing
