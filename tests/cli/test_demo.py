from io import StringIO
from pathlib import Path

import pytest
from example_run import example_run
from recorded_history import written
from rich.console import Console

from penstock.cli.demo import SCALING, STATIC, prepare, show
from penstock.core.domain.job_spec import JobSpec
from penstock.runtime.home import JobFolder


@pytest.fixture
def demonstration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[JobSpec, Path]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    folder = tmp_path / "out" / "demo"
    return prepare(folder, SCALING), folder


def test_it_says_what_happened_and_where_picture_page_and_history_are(demonstration: tuple[JobSpec, Path]) -> None:
    spec, folder = demonstration
    readings, events = example_run()
    history = written(JobFolder(spec.name).create().history, events, readings)
    console = Console(file=StringIO(), width=120)
    show(console, spec, folder, compares=True)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    for what, path in (("picture", folder / "demo.png"), ("page", folder / "demo.html"), ("history", history)):
        assert f"{what}: {path}\n" in said and path.stat().st_size > 10_000
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG") and "<html" in (folder / "demo.html").read_text()
    assert "rescales" in said and "executor-seconds" in said and "simulated" in said, "a summary, and what the policy saved"


def test_it_begins_afresh_every_time(demonstration: tuple[JobSpec, Path]) -> None:
    spec, folder = demonstration
    (folder / "checkpoint").mkdir()
    (folder / "demo.png").write_text("of the last time")
    JobFolder(spec.name).create().history.write_text("of the last time")
    prepare(folder, SCALING)
    assert {each.name for each in folder.iterdir()} == {"job.toml", "job.py"} and not JobFolder(spec.name).path.exists()


def test_the_static_demonstration_is_the_same_job_with_the_maximum_all_the_time(demonstration: tuple[JobSpec, Path], tmp_path: Path) -> None:
    usual, static = demonstration[0], prepare(tmp_path / "static", STATIC)
    assert static.name != usual.name and static.limits.first == usual.limits.max_executors and static.autopilot.policy == "static"
    assert (static.sources, static.promises, static.config) == (usual.sources, usual.promises, usual.config)
