import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from asked import mistake
from asking_job import AskingJob
from typer.testing import CliRunner, Result

from penstock.cli.app import app
from penstock.cli.terminal import day_time
from penstock.core.errors import NotReachable, Refused, UserMistake
from penstock.remote import SocketServer
from penstock.runtime.home import JobFolder


class Host:
    """A job that takes everything, but what it is set to refuse; instructions end at the third look."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.refusal: str | None = None
        self.said = ["done what you said"]
        self.numbers = [7]
        self.looks = 0

    def handle(self, verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        if verb == "outcomes":
            self.looks += 1
            pending = asked["numbers"] if self.looks < 3 else []
            return {"pending": pending, "ended": {} if pending else {"7": "executors done in 2.0 s"}}
        self.asked.append((verb, {name: value for name, value in asked.items() if name != "do"}))
        if self.refusal:
            raise Refused(self.refusal)
        return {"said": self.said, "numbers": self.numbers}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    monkeypatch.setattr("penstock.cli.steer.time", SimpleNamespace(sleep=lambda seconds: None))
    made = Host()
    server = SocketServer(JobFolder("orders").create().socket, made.handle)
    yield made
    server.close()


def penstock(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.parametrize(
    ("words", "verb", "arguments"),
    [
        (["scale", "3"], "scale", {"value": "3"}),
        (["scale", "3", "--for", "10m"], "scale", {"value": "3", "hold_s": 600.0}),
        (["scale", "3", "--job", "orders"], "scale", {"value": "3"}),
        (["trigger", "5s"], "trigger", {"value": "5s", "query": None}),
        (["trigger", "1m30.5s", "--query", "a"], "trigger", {"value": "1m30.5s", "query": "a"}),
        (["rate-limit", "20k/s"], "rate-limit", {"value": "20k/s", "query": None}),
        (["rate-limit", "none", "--query", "a"], "rate-limit", {"value": "none", "query": "a"}),
        (["partitions", "8", "--for", "60"], "partitions", {"value": "8", "query": None, "hold_s": 60.0}),
        (["rate", "500/s", "--source", "in"], "rate", {"value": "500/s", "source": "in"}),
        (["rate", "trace"], "rate", {"value": "trace", "source": None}),
        (["rate", "restart:0.5"], "rate", {"value": "restart:0.5", "source": None}),
    ],
)
def test_each_command_reaches_the_job_as_it_was_meant(host: Host, words: list[str], verb: str, arguments: dict[str, Any]) -> None:
    result = penstock(*words)
    assert result.exit_code == 0, result.output
    assert host.asked == [(verb, {"hold_s": None, **arguments})]
    assert "done what you said" in result.output


def test_a_command_waits_until_it_is_done_and_a_refusal_is_the_users_to_put_right(host: Host) -> None:
    assert penstock("scale", "3").output.splitlines()[-1] == "executors done in 2.0 s"
    assert host.looks == 3
    host.refusal = "the job's limits allow 1 to 4 executors"
    result = penstock("scale", "9")
    assert isinstance(result.exception, UserMistake) and str(result.exception) == host.refusal


def test_it_does_not_wait_with_no_wait_nor_when_there_is_nothing_to_do(host: Host) -> None:
    assert "done in" not in penstock("scale", "3", "--no-wait").output
    host.numbers = []
    assert penstock("scale", "3").exit_code == 0
    assert host.looks == 0


@pytest.mark.parametrize("words", [["trigger", "soon"], ["rate-limit", "fast"], ["rate", "slow"], ["scale", "3", "--for", "ever"]])
def test_what_is_not_understood_never_reaches_the_job(host: Host, words: list[str]) -> None:
    assert isinstance(penstock(*words).exception, UserMistake) and host.asked == []


def test_a_release_says_what_was_held_or_that_nothing_was(host: Host) -> None:
    assert penstock("release").output == "done what you said\n"
    host.said = []
    assert penstock("release").output == "nothing was held\n"


def test_a_job_that_ends_while_it_is_followed_is_said_to_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    ending = threading.Event()

    def handle(verb: str, asked: Mapping[str, Any], who: str) -> Mapping[str, Any]:
        if verb == "outcomes":
            ending.set()
            return {"pending": asked["numbers"], "ended": {}}
        return {"said": [], "numbers": [1]}

    server = SocketServer(JobFolder("orders").create().socket, handle)
    monkeypatch.setattr("penstock.cli.steer.time", SimpleNamespace(sleep=lambda seconds: server.close()))
    result = penstock("scale", "3")
    assert ending.is_set() and isinstance(result.exception, NotReachable)


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
