import json
import os
import shutil
import sqlite3
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from changes import scaled_to
from histories import events_in
from waiting import wait_until

from penstock.cli.pilot import Pilot
from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.command import Pause
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import AutopilotChanged, PolicyResumed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.memory_events import HistoryReplaced, MemoryLost
from penstock.core.domain.events.query_events import QueryRestarted
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.reading import PartitionReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused, UserMistake
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.core.redaction import Redactor
from penstock.remote import RemoteJob
from penstock.runtime import home
from penstock.runtime.fakes import FakePlant, FolderBeside, blank_reading
from penstock.runtime.fitter import InlineFitter
from penstock.runtime.home import JobFolder, short_folder
from penstock.runtime.host import About, Host
from penstock.runtime.inbox import Reread
from penstock.runtime.steady_clock import SteadyClock
from penstock.stores import database
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import this_penstock

TERMS = Terms(limits=Limits(min_executors=1, max_executors=4), config=Config(reading_interval_s=0.2))
DECLARED = scaled_to(2, q="5s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanting:
    """A policy that wants four executors."""

    name: str = "wanting"
    period_s: float = 1.0
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        return Decision(policy=self.name, configuration=replace(seen.current, executors=4), current=seen.current, why=Comparison(code="capacity_below_load"))


@pytest.fixture
def root() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="pst-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def opened(root: Path, terms: Terms = TERMS, **more: Any) -> Host:
    clock = SteadyClock()
    host = Host(folder=JobFolder("orders", root), terms=terms, clock=clock, redactor=Redactor(frozenset({"hunter2"})), **more)
    host.prepare()
    plant = FakePlant(clock, executors=2, triggers={"q": Trigger(interval_s=5.0)})  # type: ignore[arg-type]
    about = About(job="orders", master="spark://hunter2@host:7077", mode="observe", spark_version="4.3.0")
    host.open(plant, DECLARED, about, FolderBeside(root / "checkpoint"))
    host.start()
    return host


def test_an_operator_gets_an_answer_and_the_outcome(root: Path) -> None:
    host = opened(root)
    remote = RemoteJob(host.folder.socket)
    answer = remote.ask("scale", value="3", hold_s=60)
    assert len(answer["numbers"]) == 1 and "set executors to 3" in answer["said"][0]
    wait_until(lambda: not remote.ask("outcomes", numbers=answer["numbers"])["pending"])
    outcome = remote.ask("outcomes", numbers=answer["numbers"])
    assert "executors done" in outcome["ended"][str(answer["numbers"][0])] and not outcome["undone"]
    with pytest.raises(Refused, match="1 to 4 executors"):
        remote.ask("scale", value="9")
    with pytest.raises(Refused, match="no command 'fly'"):
        remote.ask("fly")
    with pytest.raises(Refused, match="no trace source"):
        remote.ask("rate", value="5")
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
        RemoteJob(host.folder.socket).ask("trigger", value="hunter2")
    assert "hunter2" not in str(refusal.value)
    host.close("the test is over")
    assert all(b"hunter2" not in path.read_bytes() for path in root.rglob("*") if path.is_file())


def test_health_is_well_while_the_loop_turns(root: Path) -> None:
    host = opened(root)
    wait_until(lambda: host.controller.last_turn_s)
    assert host.metrics_url is not None
    with urllib.request.urlopen(host.metrics_url.replace("/metrics", "/healthz")) as answer:
        health = json.load(answer)
    assert health["ok"] and health["queries"] == {"q": "running"}
    host.close("the test is over")


def test_the_history_says_which_penstock_recorded_it(root: Path) -> None:
    host = opened(root)
    wait_until(lambda: host.controller.last_turn_s)
    host.close("the test is over")
    with HistoryReader.open(host.history_path) as reader:
        assert {*reader.recorders().values()} == {this_penstock()}


def test_a_second_controller_on_the_same_job_is_refused_and_free_to_come_after_the_first(root: Path) -> None:
    host = opened(root)
    second = Host(folder=JobFolder("orders", root), terms=TERMS, clock=SteadyClock(), redactor=Redactor())
    with pytest.raises(UserMistake, match="already runs"):
        second.prepare()
    host.close("the first is over")
    again = opened(root)
    assert again.controller.resumed
    again.close("the test is over")


def test_a_disk_that_is_full_at_the_first_start_is_one_line_before_anything_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "FREE_AT_START_BYTES", 1 << 62)
    host = Host(folder=JobFolder("orders", root), terms=TERMS, clock=SteadyClock(), redactor=Redactor())
    with pytest.raises(UserMistake, match=r"the disk under the history is full .* give another state folder$"):
        host.prepare()
    host.close("the test is over")
    assert not host.history_path.exists()


def test_a_disk_that_fills_up_later_is_said_and_the_loop_goes_on(root: Path) -> None:
    host = opened(root)
    wait_until(lambda: host.controller.last_turn_s)
    assert host._history is not None
    pages = host._history._connection.execute("PRAGMA page_count").fetchone()[0]
    host._history._connection.execute(f"PRAGMA max_page_count = {pages}")
    wait_until(lambda: any(isinstance(event, MemoryLost) for event in host.recent))
    turns = host.controller.last_turn_s
    wait_until(lambda: host.controller.last_turn_s != turns)
    assert RemoteJob(host.folder.socket).ask("scale", value="4")["said"], "operators are still heard"
    host._history._connection.execute("PRAGMA max_page_count = 1000000")
    wait_until(lambda: host.events_by_kind["MemoryRegained"])
    host.close("the test is over")
    kinds = [type(event).__name__ for event in events_in(host.history_path)]
    assert "MemoryLost" in kinds and "MemoryRegained" in kinds and kinds[-1] == "RunEnded"


class Rereading:
    """A job file that can be changed while the job runs."""

    def __init__(self) -> None:
        self.found: Reread | None = None

    def __call__(self) -> Reread | None:
        found, self.found = self.found, None
        return found


def test_the_status_shows_the_state_of_the_autopilot_and_follows_the_terms(root: Path) -> None:
    rereading = Rereading()
    host = opened(root, replace(TERMS, autopilot=Autopilot(mode="ask")), policy=Wanting(), reread=rereading)
    wait_until(lambda: host.events_by_kind["Proposed"])
    state = RemoteJob(host.folder.socket).ask("status")
    routine = {event["kind"]: event["routine"] for event in state["events"]}
    assert not routine["Proposed"] and routine["Decided"], "a decision that waits is repeated, its proposal is shown"
    autopilot = state["autopilot"]
    assert (state["mode"], autopilot["mode"], autopilot["policy"], autopilot["paused"], autopilot["infeasible"]) == ("ask", "ask", "auto", None, [])
    assert {key: autopilot["last"][key] for key in ("executors", "current", "direction", "effect")} == {
        "executors": 4, "current": 2, "direction": "up", "effect": "proposed",
    }  # fmt: skip
    assert "executors 2 -> 4" in autopilot["last"]["words"] and autopilot["last"]["at_s"] <= host.clock.now_s()
    assert {key: autopilot["proposal"][key] for key in ("number", "executors", "policy")} == {"number": 1, "executors": 4, "policy": "wanting"}
    assert autopilot["proposal"]["expires_s"] > host.clock.now_s()

    event = AutopilotChanged(at_s=host.clock.now_s(), changes=(("mode", "ask", "shadow"),))
    rereading.found = Reread(event=event, autopilot=Autopilot(mode="shadow", policy="static"))
    wait_until(lambda: host.events_by_kind["AutopilotChanged"])
    state = RemoteJob(host.folder.socket).ask("status")
    assert (state["mode"], state["autopilot"]["policy"], state["autopilot"]["proposal"]) == ("shadow", "static", None)

    host.controller.submit(Pause(at_s=host.clock.now_s(), who="ann", reason="lunch")).result(10)
    paused = RemoteJob(host.folder.socket).ask("status")["autopilot"]["paused"]
    assert paused == {"who": "ann", "until_s": None, "reason": "lunch"}
    assert host.metrics_url is not None
    with urllib.request.urlopen(host.metrics_url) as answer:
        metrics = answer.read().decode()
    assert 'penstock_policy_paused{job="orders"} 1.0' in metrics and 'penstock_mode{job="orders",mode="shadow"} 1.0' in metrics
    host.close("the test is over")


class Watching:
    """A view that keeps what it was shown."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def update(self, reading: Reading | None, events: Sequence[Event] = ()) -> None:
        self.events += events


def test_a_pause_and_a_proposal_that_survived_a_restart_are_shown_at_once(root: Path) -> None:
    asking = replace(TERMS, autopilot=Autopilot(mode="ask"))
    host = opened(root, asking, policy=Wanting())
    wait_until(lambda: host.events_by_kind["Proposed"])
    host.controller.submit(Pause(at_s=host.clock.now_s(), who="ann", reason="lunch")).result(10)
    host.close("the driver is restarted")
    view = Watching()
    opened(root, asking, policy=Wanting(), views=[view]).close("the test is over")
    pilot = Pilot(mode="ask").after(view.events[:2])
    assert pilot.paused is not None and (pilot.paused.who, pilot.paused.reason) == ("ann", "lunch")
    assert pilot.proposal is not None and (pilot.proposal.number, pilot.proposal.change) == (1, "executors 2 -> 4")
    assert [type(event).__name__ for event in events_in(host.history_path)].count("PolicyPaused") == 1, "it happened once"


def test_a_host_without_a_decision_says_so(root: Path) -> None:
    host = opened(root)
    assert host.status()["autopilot"] == {"mode": "observe", "policy": "auto", "last": None, "proposal": None, "paused": None, "infeasible": []}
    host.close("the test is over")


def test_the_status_counts_the_restarts_of_the_last_hour_however_many_events_came_since(root: Path) -> None:
    host = Host(folder=JobFolder("counting", root), terms=TERMS, clock=SteadyClock(), redactor=Redactor())
    restarted = QueryRestarted(at_s=0.0, query="a", attempt=1, downtime_s=3.0, cause="boom")
    host.emit([restarted, replace(restarted, at_s=200_000.0), *60 * [PolicyResumed(at_s=200_001.0, who="ann")]])
    for at_s in (200_000.0, 200_005.0):
        host._show(blank_reading(at_s))
    assert host._report().restarts == 1


def test_closing_a_host_closes_its_fitter_even_if_nothing_was_opened(root: Path) -> None:
    said: list[FitDone] = []
    for started in (True, False):
        fitter = InlineFitter()
        unopened = Host(folder=JobFolder("unopened", root), terms=TERMS, clock=SteadyClock(), redactor=Redactor(), fitter=fitter)
        host = opened(root, fitter=fitter) if started else unopened
        host.close("the test is over")
        fitter.ask(FitAsked(number=1), said.append)
    assert [done.error for done in said] == ["the fitter was closed"] * 2


def test_a_topic_that_is_a_secret_is_masked_in_the_metrics(root: Path) -> None:
    host = opened(root, replace(TERMS, config=Config(reading_interval_s=60.0)))
    wait_until(lambda: host.controller.last_reading)
    reading = host.controller.last_reading
    assert reading is not None and host.metrics_url is not None
    partition = PartitionReading(name="hunter2-0", arrival_rows_per_s=None, lag_rows=5.0)
    host.controller.last_reading = replace(reading, queries=(replace(reading.queries[0], source_partitions=(partition,)),))
    text = host._metrics()
    host.close("the test is over")
    assert b'partition="***-0"' in text and b"hunter2" not in text


def test_a_history_that_was_replaced_by_a_newer_one_is_said(root: Path) -> None:
    opened(root).close("the job moves")
    beside, here = FolderBeside(root / "checkpoint"), JobFolder("orders", root).history
    there = root / "there.db"
    assert beside.download("history.db", there)
    with closing(sqlite3.connect(there)) as other:
        other.execute("UPDATE events SET last_at_s = last_at_s + 60")
        other.commit()
    beside.upload(there, "history.db")
    opened(root).close("the job is back")
    said = [event for event in events_in(here) if isinstance(event, HistoryReplaced)]
    assert len(said) == 1 and Path(said[0].aside).is_file()


def test_a_place_for_the_socket_that_is_somebody_elses_is_refused_before_anything_starts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = root / f"penstock-{os.getuid()}"
    foreign.mkdir()
    foreign.chmod(0o777)
    monkeypatch.setattr(home, "short_folder", lambda: short_folder(root))
    host = Host(folder=JobFolder("n" * 120, root), terms=TERMS, clock=SteadyClock(), redactor=Redactor())
    with pytest.raises(UserMistake, match="is not a folder of this user alone"):
        host.prepare()
    host.close("it could not be started")
