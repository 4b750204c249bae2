import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner, Result

from penstock.cli.app import app
from penstock.core.domain.autopilot import Autopilot
from penstock.core.errors import UserMistake
from penstock.runtime.jobfile import load_job
from penstock.runtime.jobfile.tables import JobTable, SettingsTable
from penstock.trace.state import KNOWN


def init(*words: str) -> Result:
    return CliRunner().invoke(app, ["init", *words])


def test_a_job_is_written_that_penstock_understands(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "averages"
    assert init(str(folder)).output == f"wrote {folder}/job.toml and {folder}/job.py; run it: penstock run {folder}/job.toml\n"
    spec = load_job(folder / "job.toml").spec
    assert (spec.name, spec.master, spec.mode) == ("averages", "embedded", "observe")
    functions = {node.name for node in ast.parse((folder / "job.py").read_text()).body if isinstance(node, ast.FunctionDef)}
    assert {query.function for query in spec.queries} == {f"{folder}/job.py:{name}" for name in functions}


def test_it_is_written_here_when_no_folder_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert init().exit_code == 0
    assert {each.name for each in tmp_path.iterdir()} == {"job.toml", "job.py"}
    tomllib.loads((tmp_path / "job.toml").read_text())


@pytest.mark.parametrize("name", ["job.toml", "job.py"])
def test_what_is_there_stays_as_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    result = init(str(tmp_path))
    assert isinstance(result.exception, UserMistake)
    assert str(result.exception) == f"{tmp_path}/{name} is already there; choose another folder (penstock init FOLDER), nothing was written"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [(name, "mine")]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = init(str(tmp_path / "file" / "job"))
    assert isinstance(result.exception, UserMistake) and str(result.exception) == f"{tmp_path}/file/job: cannot be written: Not a directory"


def keys_of(table: type[BaseModel]) -> Iterator[str]:
    """The keys of a table and of those in it, as a file has them."""
    for name, field in table.model_fields.items():
        yield field.alias or name
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from keys_of(inner)


def test_every_key_is_explained_but_for_the_settings_which_have_a_page_of_their_own(tmp_path: Path) -> None:
    init(str(tmp_path))
    text = (tmp_path / "job.toml").read_text()
    keys = set(keys_of(JobTable)) - set(SettingsTable.model_fields) - set(KNOWN)
    assert len(keys) > 60 and {"bootstrap", "prometheus", "guards", "rollback_pause", "lead", "arrival_field"} <= keys
    assert [key for key in sorted(keys) if not re.search(rf"(?m)^#? ?(\[.*\b{key}\b.*\]|{key} =)", text)] == []


def test_what_is_commented_out_is_right_too(tmp_path: Path) -> None:
    init(str(tmp_path))
    path = tmp_path / "job.toml"
    (tmp_path / "profile.csv").write_text("scaleout,rate,latency_ms\n2,100,250\n")
    path.write_text(re.sub(rf'(?m)^# (?=\[|["\w.]+ = )(?!{"|".join(("foreach_batch", "from", "until"))})', "", path.read_text()))
    spec = load_job(path, environ={"KAFKA_PASSWORD": "secret"}).spec
    assert (len(spec.queries), spec.kafka.bootstrap, spec.autopilot.guards, spec.ask_executors_cpu) == (2, "broker:9092", "auto", True)
    assert ([each.name for each in spec.sources], spec.queries[0].rate_limit_rows_per_s) == (["events", "clicks"], 20_000)
    assert (spec.autopilot.only, [each.name for each in spec.autopilot.calendar]) == ("up", ["sale"])


def test_every_mode_of_trust_is_explained_and_observe_is_the_one_taken(tmp_path: Path) -> None:
    init(str(tmp_path))
    text = (tmp_path / "job.toml").read_text()
    assert load_job(tmp_path / "job.toml").spec.autopilot == Autopilot()
    section = text[text.index("[autopilot]") : text.index("[settings]")]
    assert 'mode = "observe" ' in section
    assert [mode for mode in ("shadow", "ask", "active") if f'# "{mode}": ' not in section] == []


def test_a_benchmark_job_is_written_with_its_code(tmp_path: Path) -> None:
    folder = tmp_path / "ysb"
    assert init("--workload", "ysb", "--kafka", "--real-time", str(folder)).exit_code == 0
    spec = load_job(folder / "job.toml").spec
    assert [query.function for query in spec.queries] == [f"{folder}/job.py:viewed"] and spec.queries[0].trigger.kind == "real_time"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workload", "yb"), '--workload: found "yb", wordcount, ysb, topspeed, traffic, iot_vehicles, taxi, knn, nexmark are allowed'),
        (("--kafka",), "--kafka, --real-time: add --workload NAME, the benchmark job to write"),
    ],
)
def test_a_benchmark_that_is_not_there_is_one_line_and_nothing_is_written(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = init(*words, str(tmp_path / "new"))
    assert isinstance(done.exception, UserMistake) and str(done.exception) == said and not (tmp_path / "new").exists()
