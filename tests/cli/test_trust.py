"""People answer proposals and pause a policy from another terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from asked import mistake
from asking_job import AskingJob
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.cells import day_time
from penstock.remote.server import SocketServer
from penstock.runtime.home import JobFolder


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AskingJob]:
    """A job that has proposed five executors, and hears ann."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    made = AskingJob()
    made.plant.rate = 500.0
    made.wait()

    def handle(verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        if verb == "outcomes":
            made.wait(1.0)
        return made.desk.handle(verb, asked, "ann")

    server = SocketServer(JobFolder("orders").create().socket, handle)
    yield made
    server.close()


def said(*words: str) -> list[str]:
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


def test_an_approval_is_followed_to_its_end(job: AskingJob) -> None:
    lines = said("approve")
    assert lines[0] == "proposal 1 of thumb was approved by ann" and lines[1].startswith("executors: 3 -> 5")
    assert lines[-1].startswith("executors done in") and job.plant.executors == 5


def test_an_approval_for_machines_is_one_object(job: AskingJob) -> None:
    (line,) = said("approve", "1", "--job", "orders", "--json")
    answer = json.loads(line)
    assert answer["said"][0] == "proposal 1 of thumb was approved by ann" and len(answer["numbers"]) == 1


def test_a_rejection_names_its_proposal(job: AskingJob) -> None:
    assert said("reject", "1") == ["proposal 1 of thumb was rejected by ann"]


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_proposal_that_is_not_there_is_one_line(job: AskingJob, verb: str) -> None:
    assert mistake(verb, 3).endswith("of proposal 3; refused: there was none of that number; the open proposal is 1")
    said("reject", "1")
    assert mistake(verb, 1).endswith("of proposal 1; refused: it was answered, replaced or has expired; no proposal is open")
    assert mistake(verb).endswith("of the open proposal; refused: no proposal is open")


def test_a_pause_says_until_when(job: AskingJob) -> None:
    until_s = job.clock.now_s() + 3600.0
    assert said("pause", "--for", "1h", "--reason", "release day") == [
        "ann paused the policy thumb for 1h: release day",
        f"it decides again from {day_time(until_s)} on, or after penstock resume",
    ]
    assert json.loads(said("pause", "--for", "1h", "--json")[0])["paused_until_s"] == until_s
    assert said("pause") == ["ann paused the policy thumb until it is resumed"]
    assert said("resume") == ["ann resumed the policy thumb"]
    assert mistake("resume").endswith("refused: it is not paused")
    assert "a duration such as" in mistake("pause", "--for", "ever")
