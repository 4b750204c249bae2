import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from example_run import example_run
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.remote import SocketServer
from penstock.runtime.home import JobFolder
from penstock.stores.codec import encode

READING = example_run()[0][10]
AT_S = READING.at_s
AUTOPILOT: dict[str, Any] = {
    "mode": "ask",
    "policy": "auto",
    "last": {
        "at_s": AT_S - 12, "executors": 3, "current": 4, "direction": "down", "effect": "proposed",
        "words": "auto:daedalus: executors 4 -> 3, the fewest executors that hold (proposed, waiting for an answer)",
    },
    "proposal": {"number": 7, "executors": 3, "change": "executors 4 -> 3", "expires_s": AT_S + 500, "policy": "auto:daedalus"},
    "paused": {"who": "ann", "until_s": AT_S + 600, "reason": "release day"},
    "infeasible": ["recovery time"],
}  # fmt: skip


def state(**autopilot: Any) -> dict[str, Any]:
    events = [("Graded", "capacity was", True), ("Decided", "auto keeps", True), ("PromiseBroken", "promise broken: latency p95 3 s, 2 s were promised", False)]
    listed = [{"at_s": AT_S, "kind": kind, "words": words, "routine": routine} for kind, words, routine in events]
    return {
        "job": "orders", "master": "local", "mode": "ask", "history": "h.db", "metrics": None, "reading": json.loads(encode(READING)), "holds": [], "feeds": [],
        "promises": {"latency_p95_s": 5.0, "recovery_s": None}, "events": listed,
        "report": {"duration_s": 600.0, "executor_s": 1500.0, "average_executors": 2.5, "within_promise": 0.981, "violation_s": 15.0},
        "autopilot": {**AUTOPILOT, **autopilot},
    }  # fmt: skip


@pytest.fixture
def status_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What the job answers."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    answer = state()
    server = SocketServer(JobFolder("orders").create().socket, lambda verb, asked, who: answer)
    yield answer
    server.close()


def shown() -> str:
    done = CliRunner().invoke(app, ["status"], catch_exceptions=False, env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def test_everything_about_the_autopilot_is_shown(status_answer: dict[str, Any]) -> None:
    text = shown()
    for words in (
        "orders · ask · up",
        "12s ago: auto:daedalus: executors 4 -> 3, the fewest executors that hold (proposed, waiting for an answer)",
        "7: executors 4 -> 3; penstock approve 7, or reject 7, within 8m20s",
        "by ann for 10m more (release day); penstock resume",
        "keep the promised recovery time",
        "last 10m: 1,500 executor-seconds, 2.5 executors on average, 98% of rows within the promise, promises broken for 15 s",
        "promise broken: latency p95 3 s, 2 s were promised",
    ):
        assert words in text
    assert "auto keeps" not in text and "capacity was" not in text, "what comes all the time is left to history and grade"


def test_the_object_is_what_the_job_says_and_a_job_that_is_only_observed_names_no_autopilot(status_answer: dict[str, Any]) -> None:
    assert json.loads(CliRunner().invoke(app, ["status", "--json"], catch_exceptions=False).stdout)["autopilot"] == AUTOPILOT
    status_answer["autopilot"] = {"mode": "observe", "policy": "auto", "last": None, "proposal": None, "paused": None, "infeasible": []}
    assert "autopilot" not in shown() and "orders · observe" in shown()
