from pathlib import Path

import event_logs
import pytest
from asked import drawn, found, mistake
from event_logs import streaming_log, written
from typer.testing import CliRunner

from penstock.cli.app import app


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a history server has it: a rolling log of a streaming job, and one of a batch job."""
    folder = tmp_path_factory.mktemp("logs")
    lines = streaming_log(length_s=900.0)
    for number, part in enumerate((lines[:2000], lines[2000:]), 1):
        written(folder / f"eventlog_v2_app-counts/events_{number}_app-counts.lz4", part, "lz4")
    written(folder / "app-nightly", event_logs.batch_log())
    return folder


@pytest.mark.usefixtures("few")
def test_the_object_holds_a_job_with_all_policies_and_what_was_passed_over(logs: Path) -> None:
    answer = found("audit", logs, "--promise-latency-ms", 9000)
    (job,), (skipped,) = answer["jobs"], answer["skipped"]
    assert "nightly is a batch job" in skipped["why"] and skipped["path"].endswith("app-nightly")
    assert (job["job"], job["application_id"]) == ("counts", "app-counts")
    assert job["executor_hours"]["had"] == pytest.approx(6 * job["duration_s"] / 3600)
    assert 0 < job["executor_hours"]["needed"] < job["executor_hours"]["had"] and job["executor_hours"]["wasted"] > 0
    assert job["above_promise"] == 0.0 and job["at_risk"] == []
    assert set(job["own_error"]) == {"executors", "latency_p95", "throughput"} and 0 < job["off"] < 0.3
    assert job["confidence"]["level"] == "low" and "was recorded" in job["confidence"]["reasons"][0]
    static, hpa = job["policies"]
    assert (static["policy"], hpa["policy"]) == ("static", "hpa") and static["saved_worker_seconds"] < hpa["saved_worker_seconds"]
    assert static["error_worker_seconds"] == pytest.approx(job["off"] * static["worker_seconds"]) and static["error_is_at_least"]
    assert hpa["error_worker_seconds"] >= job["off"] * hpa["worker_seconds"] and hpa["error_is_at_least"], "the job never had other executors"
    assert any("no scale-up was seen" in note for note in job["notes"])


@pytest.mark.usefixtures("few")
def test_people_get_a_row_a_job_then_a_row_a_policy(logs: Path) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["audit", str(logs), "--promise-latency-ms", "9000"], catch_exceptions=False)
    shown = done.stdout
    for words in (
        "1 streaming job, in executor-hours", "counts (app-counts)", "wasted h", "saves h", "simulator on the recorded run", "confidence: low",
        "±: how far the simulator is off on the recorded run, the policy's executors where a row costs as much, or as little", "±: ≥ for at least", "note: ",
    ):  # fmt: skip
        assert words in shown
    assert [line.split()[0] for line in shown.splitlines() if line.strip().startswith(("static", "hpa"))] == ["static", "hpa"]
    static, hpa = (line.split() for line in shown.splitlines() if line.strip().startswith(("static", "hpa")))
    assert static[2] == "≥" and static.count("≥") == 2 and hpa.count("≥") == 2
    assert "nightly is a batch job" in done.stderr and "percent of the event logs" in done.stderr and "{" not in shown


def test_the_time_an_executor_takes_to_start_may_be_given(logs: Path) -> None:
    notes = found("audit", logs / "eventlog_v2_app-counts", "--policy", "static", "--downtime", 60)["jobs"][0]["notes"]
    assert not any("no scale-up was seen" in note for note in notes) and any("no restart of the query was seen" in note for note in notes)


def test_the_picture_shows_what_was_had_needed_and_saved(logs: Path, tmp_path: Path) -> None:
    picture = drawn(tmp_path, "audit", logs / "eventlog_v2_app-counts", "--policy", "static")
    for words in ("counts, executor-hours", "<!-- had -->", "<!-- needed, at least -->", "<!-- static -->"):
        assert words in picture


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "deadalus"), 'there is no policy "deadalus"'),
        (("--promise-latency-ms", 0), "--promise-latency-ms: found 0"),
        (("--target-recovery", -1), "--target-recovery: found -1"),
        (("--max-executors", 0), "--max-executors: found 0"),
        (("--longest-batch", -1), "--longest-batch: found -1"),
        (("--downtime", -1), "--downtime: found -1"),
        (("--last", "soon"), "--last: found 'soon'"),
        (("--last", "5s"), "--last: found 5s, at least 300s"),
        (("--plot", "picture.pdf"), "ends in .png or .svg"),
    ],
)
def test_a_bad_option_is_one_line(logs: Path, options: tuple[object, ...], said: str) -> None:
    assert said in mistake("audit", logs, *options)


def test_where_nothing_can_be_audited_each_log_is_one_line_and_one_that_is_too_short_says_from_where_it_counts(logs: Path, tmp_path: Path) -> None:
    assert "nightly is a batch job" in mistake("audit", logs / "app-nightly")
    assert "there is no event log in it" in mistake("audit", tmp_path)
    assert "there is no such file or folder" in mistake("audit", tmp_path / "absent")
    written(tmp_path / "app-counts", streaming_log(length_s=90.0))
    said = mistake("audit", tmp_path)
    assert "it is too short: " in said and "are left of it after the job had caught up with what waited at its start" in said
    assert "and only these are simulated; at least 60 s are needed" in said
