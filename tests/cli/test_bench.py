import json
from pathlib import Path

import pytest
from asked import found, mistake, written
from recorded_history import simulated
from short_comparison import short
from typer.testing import CliRunner

from penstock.bench import comparisons
from penstock.cli.app import app


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparisons, "quick", short)


@pytest.mark.usefixtures("quick")
def test_a_comparison_prints_a_table_writes_three_reports_and_goes_on_where_it_was(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert all(label in done.stdout for label in ("static(4)", "hpa(80)", "daedalus", "oracle"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs.jsonl", "short.html", "short.json", "short.md"]
    again = found("bench", "--quick", "--out", tmp_path)
    assert again == json.loads((tmp_path / "short.json").read_text()) and again["command"] == "penstock bench --quick"
    assert [row["label"] for row in again["workloads"]["wave"]["rows"]][-1] == "oracle" and again["failed"] == {}


def test_a_users_own_trace_is_compared_on_an_engine_like_the_one_of_his_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = simulated(tmp_path / "history.db", minutes=15, mode="observe")
    trace = written(tmp_path / "trace.csv", "t,rate\n0,1500\n600,5500\n1200,1500\n")
    monkeypatch.setattr(comparisons, "live_policies", lambda most: (f"static({most})", "hpa(80)"))
    answer = found("bench", "--mine", trace, "--job", history, "--out", tmp_path / "out")
    rows = {row["label"]: row for row in answer["workloads"]["trace.csv"]["rows"]}
    assert set(rows) == {"static(8)", "hpa(80)", "oracle"} and answer["command"] == f"penstock bench --mine {trace} --job {history}"
    broken_s, executor_s = ({label: row[name]["median"] for label, row in rows.items()} for name in ("violation_s", "executor_s"))
    assert broken_s["oracle"] == broken_s["static(8)"] == 0.0 < broken_s["hpa(80)"] and executor_s["oracle"] <= executor_s["static(8)"]


def test_a_job_file_whose_job_has_no_history_is_one_line_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    CliRunner().invoke(app, ["init", str(tmp_path)])
    trace, job = written(tmp_path / "trace.csv", "t,rate\n0,15\n600,55\n"), tmp_path / "job.toml"
    said = mistake("bench", "--mine", trace, "--job", job)
    assert said.startswith("--job: ") and said.endswith(f"has no history on this machine: run it for a while (penstock run {job}), or give a HISTORY.DB")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([], "bench: one of --quick, --paper NAME, --mine TRACE.CSV and --random COUNT says what to compare"),
        (["--quick", "--paper", "phoebe"], "bench: one of --quick, --paper NAME, --mine TRACE.CSV and --random COUNT says what to compare"),
        (["--paper", "khaos"], '--paper: found "khaos", daedalus or phoebe is allowed'),
        (["--mine", "trace.csv"], "bench: --mine TRACE.CSV and --job go together: the job says how the engine behaves"),
        (["--quick", "--job", "clicks"], "bench: --mine TRACE.CSV and --job go together: the job says how the engine behaves"),
        (["--quick", "--runs", "0"], "--runs: found 0, a number of at least 1 is needed"),
        (["--quick", "--out", "/dev/null/x"], "--out: /dev/null/x cannot be written: Not a directory"),
    ],
)
def test_a_mistake_is_one_line(asked: list[str], said: str) -> None:
    assert mistake("bench", *asked) == said
