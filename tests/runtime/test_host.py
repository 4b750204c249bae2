"""A driver host on a pretended plant: everything around the controller is real."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.core.config import Config
from penstock.core.domain.event import MemoryLost
from penstock.core.domain.job import Limits
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused, UserMistake
from penstock.core.knowledge import Desired
from penstock.core.redaction import Redactor
from penstock.core.terms import Terms
from penstock.remote.client import RemoteJob
from penstock.runtime.clock import SteadyClock
from penstock.runtime.fakes import FakePlant, FolderBeside
from penstock.runtime.home import JobFolder
from penstock.runtime.host import About, Host
from penstock.stores.reader import HistoryReader

TERMS = Terms(limits=Limits(min_executors=1, max_executors=4), config=Config(reading_interval_s=0.2))
DECLARED = Desired(executors=2, triggers={"q": Trigger(interval_s=5.0)}, rate_limits_rows_per_s={"q": None}, partitions={"q": None})


@pytest.fixture
def root() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pst-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def opened(root: Path) -> Host:
    clock = SteadyClock()
    host = Host(folder=JobFolder("orders", root), terms=TERMS, clock=clock, redactor=Redactor(frozenset({"hunter2"})))
    host.prepare()
    plant = FakePlant(clock, executors=2, triggers={"q": Trigger(interval_s=5.0)})  # type: ignore[arg-type]
    about = About(job="orders", master="spark://hunter2@host:7077", mode="observe", spark_version="4.3.0")
    host.open(plant, DECLARED, about, FolderBeside(root / "checkpoint"))
    host.start()
    return host


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true"
        time.sleep(0.02)


def test_an_operator_is_heard_and_told_how_it_ended(root: Path) -> None:
    host = opened(root)
    remote = RemoteJob(host.folder.socket)
    answer = remote.ask("scale", executors=3, hold_s=60)
    assert len(answer["numbers"]) == 1 and "set executors to 3" in answer["said"][0]
    wait_until(lambda: not remote.ask("outcomes", numbers=answer["numbers"])["pending"])
    outcome = remote.ask("outcomes", numbers=answer["numbers"])
    assert "executors done" in outcome["ended"][str(answer["numbers"][0])] and not outcome["undone"]
    with pytest.raises(Refused, match="1 to 4 executors"):
        remote.ask("scale", executors=9)
    with pytest.raises(Refused, match="no command 'fly'"):
        remote.ask("fly")
    with pytest.raises(Refused, match="no trace source"):
        remote.ask("rate", rows_per_s=5.0)
    host.close("the test is over")
    assert not host.folder.socket.exists()


def test_a_secret_does_not_leave_through_the_socket_the_metrics_or_the_history(root: Path) -> None:
    host = opened(root)
    state = RemoteJob(host.folder.socket).ask("status")
    assert state["master"] == "spark://***@host:7077" and state["job"] == "orders"
    assert host.metrics_url is not None
    with urllib.request.urlopen(host.metrics_url) as answer:
        assert b"hunter2" not in answer.read()
    with pytest.raises(Refused) as refusal:
        RemoteJob(host.folder.socket).ask("trigger", trigger="hunter2")
    assert "hunter2" not in str(refusal.value)
    host.close("the test is over")
    assert all(b"hunter2" not in path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_health_is_well_while_the_loop_turns(root: Path) -> None:
    host = opened(root)
    wait_until(lambda: host.controller.last_turn_s)
    assert host.metrics_url is not None
    with urllib.request.urlopen(host.metrics_url.replace("/metrics", "/healthz")) as answer:
        told = json.load(answer)
    assert told["ok"] and told["queries"] == {"q": "running"}
    host.close("the test is over")


def test_a_second_controller_on_the_same_job_is_refused_and_free_to_come_after_the_first(root: Path) -> None:
    host = opened(root)
    second = Host(folder=JobFolder("orders", root), terms=TERMS, clock=SteadyClock(), redactor=Redactor())
    with pytest.raises(UserMistake, match="already runs"):
        second.prepare()
    host.close("the first is over")
    again = opened(root)
    assert again.controller.resumed
    again.close("the test is over")


def test_a_disk_that_fills_up_later_is_said_and_the_loop_goes_on(root: Path) -> None:
    host = opened(root)
    wait_until(lambda: host.controller.last_turn_s)
    assert host._history is not None
    pages = host._history._connection.execute("PRAGMA page_count").fetchone()[0]
    host._history._connection.execute(f"PRAGMA max_page_count = {pages}")
    wait_until(lambda: any(isinstance(event, MemoryLost) for event in host.recent))
    turns = host.controller.last_turn_s
    wait_until(lambda: host.controller.last_turn_s != turns)
    assert RemoteJob(host.folder.socket).ask("scale", executors=4)["said"], "operators are still heard"
    host._history._connection.execute("PRAGMA max_page_count = 1000000")
    wait_until(lambda: host.events_by_kind["MemoryRegained"])
    host.close("the test is over")
    with HistoryReader.open(host.history_path) as history:
        kinds = [type(row.event).__name__ for row in history.events()]
    assert "MemoryLost" in kinds and "MemoryRegained" in kinds and kinds[-1] == "RunEnded"
