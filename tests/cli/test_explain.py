import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from asked import found, mistake
from changes import rescaled
from hypothesis import given
from hypothesis import strategies as st
from recorded_history import START_S, decided, reading, shadow_history, simulated, started, written
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.explain import until_moment_s
from penstock.cli.terminal import clock_time, day_time
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.autopilot_events import ProposalEnded, Proposed
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.errors import UserMistake
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.steering import Paused, Schedule, Trust
from penstock.runtime.home import JobFolder


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return shadow_history(tmp_path / "history.db")


def shown(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["explain", *map(str, arguments)], catch_exceptions=False, env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_last_decision_is_meant_and_the_last_change_when_asked_for(history: Path) -> None:
    last = found("explain", "--file", history)["decision"]
    assert (last["at_s"], last["direction"], last["effect"], last["executors"]) == (START_S + 600, "keep", "kept", 3)
    change = found("explain", "--file", history, "--last-change")["decision"]
    assert (change["at_s"], change["direction"], change["effect"], change["executors"]) == (START_S + 60, "down", "shadow", 3)


@pytest.mark.parametrize(
    ("at", "after_s"),
    [
        (clock_time(START_S + 60)[:5], 60),
        (clock_time(START_S + 59), 0),
        (clock_time(START_S + 60), 60),
        ("5m ago", 300),
        (day_time(START_S + 125), 120),
        (f"{datetime.fromtimestamp(START_S + 125).astimezone().isoformat()}", 120),
    ],
)
def test_a_decision_is_found_by_its_time(history: Path, at: str, after_s: float) -> None:
    assert found("explain", "--file", history, "--at", at)["decision"]["at_s"] == START_S + after_s


def test_a_time_before_the_first_decision_and_one_that_is_none_are_one_line(history: Path) -> None:
    assert mistake("explain", "--file", history, "--at", "2h ago").startswith("--at: nothing was decided until ")
    for nonsense in ("soon", "25:00", "14h05"):
        assert mistake("explain", "--file", history, "--at", nonsense).startswith(f"--at: found '{nonsense}', a time such as")
    assert "a duration such as" in mistake("explain", "--file", history, "--at", "long ago")


def test_the_object_holds_what_was_seen_weighed_and_predicted(history: Path) -> None:
    answer = found("explain", "--file", history, "--last-change")
    assert answer["seen"]["load_rows_per_s"] == 2500 and answer["seen"]["peak_rows_per_s"] == 2750 and answer["seen"]["latency_p95_s"] == 1.1
    two, three = answer["candidates"]
    assert two["refused"] == {"code": "capacity_below_load", "value": 1990, "limit": 2500, "words": "it carries 1,990 rows/s, 2,500 arrive"}
    assert two["recovery_s"] is None, "infinite is null in JSON"
    assert (three["executors"], three["refused"], three["latency_s"]) == (3, None, 1.2)
    minute, capacity, quarter = answer["predictions"]
    assert (minute["fate"], minute["actual"], minute["error"], minute["within"]) == ("graded", 2500, pytest.approx(0.04), True)
    assert (capacity["fate"], capacity["actual"]) == ("not yet due", None) and quarter["fate"] == "not yet due"


def test_a_decision_is_found_by_its_id(history: Path) -> None:
    wanted = found("explain", "--file", history, "--last-change")
    assert found("explain", "--file", history, "--id", wanted["decision"]["id"]) == wanted
    assert mistake("explain", "--file", history, "--id", "999").startswith("--id: found 999, the history holds no such decision")


def test_people_read_tables(history: Path) -> None:
    text = shown("--file", history, "--last-change")
    for words in (
        "from 4 to 3 executors (in shadow: nothing was changed)", f"{day_time(START_S + 60)}, policy auto:daedalus, mode shadow",
        "because the fewest executors that hold", "2500 rows/s", "4 running, 4 requested, busy 62%", "it carries 1,990 rows/s, 2,500 arrive", "never",
        "load 60 s ahead", "2,300 to 2,900", "within its bounds", "capacity of 3 executors", "not yet due",
    ):  # fmt: skip
        assert words in text
    assert "None" not in text and "nan" not in text


def test_a_proposal_is_shown_with_its_answer(tmp_path: Path) -> None:
    proposed = Proposed(at_s=START_S, proposal=7, decision_id=1, change=rescaled(4, 3), policy="daedalus", expires_s=START_S + 600)
    ended = ProposalEnded(at_s=START_S + 30, proposal=7, decision_id=1, how="approved", who="ann")
    asks = decided(0.0, effect="proposed", mode="ask")
    path = written(tmp_path / "h.db", [asks, proposed, ended, replace(asks, at_s=START_S + 30, effect="approved")])
    text = shown("--file", path)
    assert "proposed, waiting for an answer" in text and f"{clock_time(START_S + 30)}  proposal 7 was approved by ann" in text


def test_the_history_of_a_job_is_found_by_its_name_also_when_it_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    shadow_history(JobFolder("orders").create().history)
    assert found("explain", "--job", "orders") == found("explain")
    assert mistake("explain", "--job", "bills").startswith("there is no history of a job 'bills'")


def test_where_nothing_was_decided_one_line_says_why(tmp_path: Path) -> None:
    observed = written(tmp_path / "observed.db", [started("observe")], [reading(5.0)])
    assert shown("--file", observed).startswith("nothing was decided: the mode is observe; ")
    assert found("explain", "--file", observed)["decision"] is None
    blind = written(tmp_path / "blind.db", [started("shadow")])
    assert shown("--file", blind) == "nothing was decided yet: there is no reading so far\n"
    known = Knowledge(declared=Configuration(executors=1), desired=Configuration(executors=1))
    paused = replace(known, schedule=Schedule(mode="shadow"), trust=Trust(paused=Paused(who="ann", since_s=START_S, until_s=START_S + 605, reason="")))
    resting = written(tmp_path / "paused.db", [started("shadow")], [reading(5.0)], paused)
    assert shown("--file", resting) == "nothing was decided yet: ann paused the policy for 10m more\n"
    unable = replace(known, last=reading(5.0, unable={"executors": "a script's own executors are not ours"}))
    assert "a script's own executors" in shown("--file", written(tmp_path / "unable.db", [started("shadow")], [reading(5.0)], unable))
    fresh = written(tmp_path / "fresh.db", [started("shadow"), NothingToDo(at_s=START_S + 1)], [reading(5.0)], known)
    assert shown("--file", fresh) == "nothing was decided yet: the policy has not been asked so far\n"
    steady = written(tmp_path / "steady.db", [decided(0.0, 3, 3, effect="kept")])
    assert shown("--file", steady, "--last-change").startswith("no decision changed anything until ")


def test_a_simulated_shadow_can_be_explained(tmp_path: Path) -> None:
    answer = found("explain", "--file", simulated(tmp_path / "h.db", minutes=12), "--last-change")
    assert answer["decision"]["effect"] == "shadow" and answer["candidates"] and answer["predictions"]
    assert answer["afterwards"] == []


def test_the_model_that_predicted_the_capacity_is_named_with_the_reason(tmp_path: Path) -> None:
    history = simulated(tmp_path / "h.db", minutes=12)
    seen = found("explain", "--file", history, "--last-change")["seen"]
    assert seen["capacity_rows_per_s"] > 0 and re.match(r"by (micro-batch cost|utilisation regression): .+", seen["capacity_why"])
    assert seen["capacity_why"] in shown("--file", history, "--last-change")


LAST = datetime(2026, 11, 16, 14, 5, 30)


def until(text: str) -> datetime:
    """The end of the moment, which does not belong to it."""
    return datetime.fromtimestamp(round(until_moment_s(text, LAST.timestamp()) + 0.001, 3))


def test_a_time_is_local_to_the_end_of_its_minute_unless_it_says_otherwise() -> None:
    assert until("14:05") == datetime(2026, 11, 16, 14, 6)
    assert until("14:06") == datetime(2026, 11, 15, 14, 7)
    assert until("9:30:10") == datetime(2026, 11, 16, 9, 30, 11)
    assert until("2026-11-15T08:00") == until("2026-11-15 08:00") == datetime(2026, 11, 15, 8, 1)
    assert until_moment_s("1970-01-01T00:01:00+00:00", 0.0) == pytest.approx(61.0, abs=0.01)
    assert until("2026-11-15") == datetime(2026, 11, 16)


@given(st.integers(0, 100_000))
def test_ago_is_counted_from_the_last_moment(seconds: int) -> None:
    assert until_moment_s(f"{seconds}s ago", LAST.timestamp()) == (LAST.timestamp() - seconds)


@pytest.mark.parametrize("text", ["", "soon", "24:00", "12:60", "yesterday", "14:5", "-3"])
def test_what_is_no_time_is_one_line(text: str) -> None:
    with pytest.raises(UserMistake, match=r"^--at: found .* a time such as"):
        until_moment_s(text, LAST.timestamp())
