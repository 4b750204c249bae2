from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from penstock.cli.jobs import remembered_job, running_job
from penstock.core.errors import UserMistake
from penstock.remote import SocketServer
from penstock.runtime.home import JobFolder

Start = Callable[[str], None]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Let a job run here that answers with its name."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    with ExitStack() as running:

        def begin(name: str) -> None:
            folder = JobFolder(name).create()
            folder.history.touch()
            running.enter_context(closing(SocketServer(folder.socket, lambda verb, asked, who: {"job": name})))

        yield begin


def remember(name: str) -> None:
    JobFolder(name).create().history.touch()


def test_the_only_running_job_is_meant_when_none_is_named(start: Start) -> None:
    remember("yesterday")
    start("today")
    assert running_job(None).ask("status") == {"job": "today"}
    assert running_job("today").ask("status") == {"job": "today"}


def test_among_several_one_has_to_be_named(start: Start) -> None:
    start("a")
    start("b")
    with pytest.raises(UserMistake, match=r"^several jobs run here: say which with --job; running: a, b$"):
        running_job(None)
    assert running_job("b").ask("status") == {"job": "b"}


def test_a_job_that_does_not_run_is_refused_with_those_that_do(start: Start, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=rf"^no job runs here \(state in {tmp_path}\); start one with `penstock run job.toml`$"):
        running_job(None)
    start("a")
    remember("b")
    with pytest.raises(UserMistake, match=r"^no job 'b' runs here; running: a "):
        running_job("b")


def test_a_history_is_found_without_its_job(start: Start) -> None:
    remember("yesterday")
    JobFolder("never-ran").create()
    assert remembered_job(None).name == remembered_job("yesterday").name == "yesterday"


def test_among_several_histories_that_of_the_only_running_job_is_meant(start: Start) -> None:
    remember("a")
    remember("c")
    with pytest.raises(UserMistake, match=r"^say which with --job; histories here: a, c "):
        remembered_job(None)
    start("b")
    assert remembered_job(None).name == "b"
    assert remembered_job("a").name == "a"


def test_a_history_that_is_not_there_is_refused_with_those_that_are(start: Start) -> None:
    with pytest.raises(UserMistake, match=r"^run a job first: penstock run job.toml; histories here: none "):
        remembered_job(None)
    remember("a")
    with pytest.raises(UserMistake, match=r"^there is no history of a job 'b'; there are: a "):
        remembered_job("b")
