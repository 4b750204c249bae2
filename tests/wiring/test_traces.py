import json
from pathlib import Path
from typing import Any

import pytest

from penstock.core.domain.job_spec import JobSpec, SourceSpec
from penstock.core.errors import UserMistake
from penstock.runtime.fakes import FolderBeside
from penstock.wiring.running_job import open_traces, rate_setter

SOURCES = (SourceSpec(name="events", format="trace", options={"rate": "constant(100)"}), SourceSpec(name="clicks", format="kafka", options={}))
JOB = JobSpec(name="j", folder=".", checkpoint="unused", sources=SOURCES, queries=())
NAME = "trace-events.json"


class Elsewhere(FolderBeside):
    def local_path(self, name: str) -> Path | None:
        return None


class Here(FolderBeside):
    def local_path(self, name: str) -> Path | None:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """The state folders of a job on two machines."""
    made = [tmp_path / "one", tmp_path / "other"]
    for each in made:
        each.mkdir()
    return made


def opened(beside: Any, folder: Path) -> Any:
    return open_traces(JOB, beside, folder)


def test_a_driver_on_another_machine_goes_on_with_the_trace_that_lies_beside_the_checkpoint(tmp_path: Path, folders: list[Path]) -> None:
    beside: Any = Elsewhere(tmp_path / "away")
    first = opened(beside, folders[0])
    assert list(first) == ["events"], "other sources have no trace"
    assert rate_setter(first, {}, beside)(None, "250/s")[0] == "events"
    second = opened(beside, folders[1])
    assert second["events"].state.path == folders[1] / NAME
    assert second["events"].state.schedule() == first["events"].state.schedule(), "begun at the same moment, with the rate that was set"
    assert beside.read(NAME) == (folders[0] / NAME).read_bytes()


def test_what_lies_beside_the_checkpoint_wins_over_a_copy_that_was_left_here(tmp_path: Path, folders: list[Path]) -> None:
    beside: Any = Elsewhere(tmp_path / "away")
    kept = opened(beside, folders[0])["events"].state.schedule()
    (folders[1] / NAME).write_text("left over")
    assert opened(beside, folders[1])["events"].state.schedule() == kept
    beside.folder.joinpath(NAME).unlink()
    opened(beside, folders[1])
    assert json.loads(beside.read(NAME)) == json.loads((folders[1] / NAME).read_text()), "a new checkpoint begins a new trace"


def test_on_this_machine_there_is_one_file_and_no_copy(tmp_path: Path, folders: list[Path]) -> None:
    beside: Any = Here(tmp_path / "checkpoint")
    traces = opened(beside, folders[0])
    rate_setter(traces, {}, beside)("events", "250/s")
    assert traces["events"].state.path == tmp_path / "checkpoint" / NAME
    assert not list(folders[0].iterdir()) and [each.name for each in beside.folder.iterdir()] == [NAME]


def test_a_source_that_is_not_there_is_refused_in_one_line(tmp_path: Path, folders: list[Path]) -> None:
    beside: Any = Elsewhere(tmp_path / "away")
    with pytest.raises(UserMistake, match=r"^found source 'clicks', one of events is needed$"):
        rate_setter(opened(beside, folders[0]), {}, beside)("clicks", "5/s")
