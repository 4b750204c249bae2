from io import StringIO
from typing import Any

from changes import rescaled
from planned import wants
from rich.console import Console

from penstock.cli.pilot import Pilot, pilot_view
from penstock.core.domain.decision import Comparison
from penstock.core.domain.events.autopilot_events import (
    AutopilotChanged,
    Decided,
    PolicyPaused,
    PolicyResumed,
    ProposalEnded,
    Proposed,
    TargetFeasible,
    TargetInfeasible,
)
from penstock.core.domain.events.event import Event

QUIET: dict[str, Any] = {"mode": "ask", "policy": "auto", "last": None, "proposal": None, "paused": None, "infeasible": []}
LAST = {"at_s": 988.0, "executors": 3, "current": 4, "direction": "down", "words": "thumb: executors 4 -> 3, because (proposed)", "effect": "proposed"}
WAITS = {"number": 7, "executors": 3, "change": "executors 4 -> 3", "expires_s": 1500.0, "policy": "thumb"}
PAUSED = {"who": "ann", "until_s": 1600.0, "reason": "release day"}
WHY = Comparison(code="latency_below_trigger", value=5.0, limit=2.0)


def lines(**state: Any) -> list[str]:
    return [f"{name}: {words}" for name, words, _ in Pilot.of({**QUIET, **state}).lines(1000.0)]


def decided(mode: Any = "ask", effect: Any = "proposed") -> Decided:
    return Decided(id=1, at_s=988.0, mode=mode, policy="thumb", decision=wants(3, 4), effect=effect)


def test_status_shows_the_last_decision_the_open_proposal_the_pause_and_infeasible_targets() -> None:
    assert lines() == ["autopilot: policy auto, nothing decided yet"]
    assert lines(last=LAST, proposal=WAITS, paused=PAUSED, infeasible=["latency", "throughput"]) == [
        "autopilot: 12s ago: thumb: executors 4 -> 3, because (proposed)",
        "proposal: 7: executors 4 -> 3; penstock approve 7, or reject 7, within 8m20s",
        "paused: by ann for 10m more (release day); penstock resume",
        "infeasible: no number of executors can keep the promised latency, carry the load; penstock history --events says why",
    ]
    assert lines(paused={**PAUSED, "until_s": None, "reason": ""})[1] == "paused: by ann until it is resumed; penstock resume"


def test_events_change_what_is_shown_as_the_status_would() -> None:
    proposed = Proposed(at_s=988.0, proposal=7, change=rescaled(4, 3), policy="thumb", expires_s=1500.0)
    paused = PolicyPaused(at_s=990.0, who="ann", until_s=1600.0, reason="release day")
    infeasible = TargetInfeasible(at_s=990.0, target="latency", why=WHY)
    pilot = Pilot(mode="shadow").after([decided(), proposed, paused, infeasible])
    same = {**QUIET, "policy": "thumb", "last": {**LAST, "words": decided().words()}, "proposal": WAITS, "paused": PAUSED, "infeasible": ["latency"]}
    assert pilot == Pilot.of(same)
    over: list[Event] = [
        ProposalEnded(at_s=995.0, proposal=7, how="expired"),
        PolicyResumed(at_s=996.0, who="ann"),
        TargetFeasible(at_s=997.0, target="latency"),
    ]
    quiet = pilot.after([*over, decided(effect="approved")])
    assert (quiet.proposal, quiet.paused, quiet.infeasible, quiet.last) == (None, None, (), pilot.last)


def test_the_mode_follows_the_job_file_and_a_job_that_is_only_observed_has_no_line() -> None:
    assert Pilot(mode="shadow").after([AutopilotChanged(at_s=1.0, changes=(("mode", "shadow", "active"),))]).mode == "active"
    assert Pilot(mode="shadow").after([decided("active", "asked")]).mode == "active"
    assert lines(mode="observe") == []


def test_secrets_and_line_breaks_do_not_reach_the_screen() -> None:
    masked = Pilot(mode="ask").after([PolicyPaused(at_s=1.0, who="ann", until_s=None, reason="hunter2\nnow")], lambda text: text.replace("hunter2", "***"))
    console = Console(record=True, width=60, file=StringIO())
    console.print(pilot_view(masked.lines(2.0), wrapped=False))
    text = console.export_text()
    assert "*** now" in text and "hunter2" not in text
    assert len(text.splitlines()) == 2 and max(map(len, text.splitlines())) <= 60
