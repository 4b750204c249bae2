from io import StringIO
from pathlib import Path

import pytest
from example_run import example_run
from recorded_history import written
from rich.console import Console

from penstock.cli.demo import prepare, show
from penstock.core.domain.job_spec import JobSpec
from penstock.runtime.home import JobFolder


@pytest.fixture
def demonstration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[JobSpec, Path]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    folder = tmp_path / "out" / "demo"
    return prepare(folder, "lookup"), folder


def test_it_says_what_happened_and_where_picture_page_and_history_are(demonstration: tuple[JobSpec, Path]) -> None:
    spec, folder = demonstration
    readings, events = example_run()
    history = written(JobFolder(spec.name).create().history, events, readings)
    console = Console(file=StringIO(), width=120)
    show(console, spec, folder, beside_a_static_one=True)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    for what, path in (("picture", folder / "demo.png"), ("page", folder / "demo.html"), ("history", history)):
        assert f"{what}: {path}\n" in said and path.stat().st_size > 10_000
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG") and "<html" in (folder / "demo.html").read_text()
    assert "rescales" in said and "executor-seconds" in said and "was not run" in said, "a summary, and what the policy saved"


def test_it_begins_afresh_every_time(demonstration: tuple[JobSpec, Path]) -> None:
    spec, folder = demonstration
    (folder / "checkpoint").mkdir()
    (folder / "demo.png").write_text("of the last time")
    JobFolder(spec.name).create().history.write_text("of the last time")
    prepare(folder, "lookup")
    assert {each.name for each in folder.iterdir()} == {"job.toml", "job.py"} and not JobFolder(spec.name).path.exists()
