from dataclasses import replace
from typing import Any

import pytest
from changes import scaled_to
from planned import Play, Thumb, knowing, late, of, terms, wants
from steady_job import TERMS, SteadyJob, daily

from penstock.core.domain.autopilot import Autopilot, Mode
from penstock.core.domain.command import Approve, Command, Pause, Reject, Resume
from penstock.core.domain.events.autopilot_events import (
    AutopilotEvent,
    Decided,
    FitFailed,
    Graded,
    PolicyPaused,
    PolicyResumed,
    PromiseBroken,
    PromiseKept,
    ProposalEnded,
    Proposed,
    Recovered,
    RolledBack,
    ScalingIneffective,
)
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.fitting import FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Policy
from penstock.core.loop import decider_of, named, turn

ANN: Any = {"at_s": 0.0, "who": "ann"}
OVERLOAD_S = 3000.0
MADE = Prediction(kind="forecast", made_s=0.0, value=1.0, low=0.5, high=2.0, configuration=scaled_to(4), due_s=60.0)


class NamedLoop:
    """The loop over a fully known job with a policy by its name: two hours' load, then more than its executors carry. Fits come to nothing."""

    def __init__(self, **autopilot: Any) -> None:
        self.job = SteadyJob(load=lambda at_s: daily(at_s) if at_s < OVERLOAD_S else 5500.0)
        self.terms = replace(TERMS, promises=Promises(latency_p95_s=5.0, recovery_s=600.0), autopilot=Autopilot(mode="ask", downtime_s=30.0, **autopilot))
        self.knowledge = Knowledge(declared=scaled_to(4), desired=scaled_to(4))
        self.outcomes: tuple[Outcome, ...] = ()
        self.fits: tuple[FitDone, ...] = ()
        self.events: list[Event] = []

    def turn(self, *commands: Command) -> None:
        reading = self.job.reading()
        done = turn(self.knowledge, Inputs(at_s=reading.at_s, reading=reading, outcomes=self.outcomes, commands=commands, fits=self.fits), self.terms)
        self.knowledge, self.outcomes = done.knowledge, ()
        self.fits = () if done.fit is None else (FitDone(number=done.fit.number, took_s=0.5, error="no time"),)
        self.events += done.events
        for given in done.instructions:
            assert given.change.executors is not None
            self.job.executors = given.change.executors[1]
            self.job.stop()
            self.outcomes += (Outcome(number=given.number, done=True, took_s=30.0, down_s=30.0),)

    def until(self, at_s: float) -> None:
        while self.job.at_s < at_s:
            self.turn()

    def said(self) -> list[AutopilotEvent]:
        return [event for event in self.events if isinstance(event, AutopilotEvent)]


@pytest.mark.slow
def test_under_auto_every_event_names_the_policy_that_decides() -> None:
    loop = NamedLoop(policy="auto", ask_expiry_s=120.0)
    loop.until(1500.0)
    loop.job.fail()
    loop.until(2200.0)
    loop.turn(Pause(**ANN))
    loop.until(2400.0)
    loop.turn(Resume(**ANN))
    loop.until(OVERLOAD_S + 60.0)
    loop.turn(Reject(**ANN))
    loop.until(OVERLOAD_S + 840.0)
    loop.turn(Approve(**ANN))
    loop.until(OVERLOAD_S + 3600.0)
    happened = {type(event) for event in loop.said()}
    assert {Decided, Proposed, ProposalEnded, Graded, PolicyPaused, PolicyResumed, PromiseBroken, PromiseKept, Recovered, FitFailed} <= happened
    assert {event.how for event in of(ProposalEnded, loop.events)} >= {"approved", "rejected", "expired"}
    others = [event.policy for event in loop.said() if event.policy != "auto:lookahead"]
    assert others == ["auto", "auto:daedalus"], "the first decisions, when nothing was known yet, and then no forecast"


@pytest.mark.slow
def test_a_grade_names_who_made_the_prediction_whoever_decides_by_then() -> None:
    loop = NamedLoop(policy="auto")
    loop.until(OVERLOAD_S + 60.0)
    changed_s, loop.terms = loop.job.at_s, replace(loop.terms, autopilot=replace(loop.terms.autopilot, policy="daedalus"))
    loop.turn(Pause(hold_s=30.0, **ANN))
    loop.until(OVERLOAD_S + 660.0)
    after = [event for event in loop.said() if event.at_s > changed_s]
    assert {event.policy for event in of(Graded, after) if event.made_s <= changed_s} == {"auto:lookahead"}
    assert of(ProposalEnded, after)[0].policy == "auto:lookahead", "it was its proposal"
    assert {event.policy for event in after if not isinstance(event, (Graded, ProposalEnded))} == {"daedalus"}, "from the turn of the change on"
    assert {PolicyPaused, PolicyResumed, Decided} <= {type(event) for event in after}


def test_what_happens_before_the_first_decision_names_the_policy_that_is_asked() -> None:
    assert [event.policy for event in of(PolicyPaused, Play(terms=terms("active")).turn(Pause(**ANN)).events)] == ["thumb"]
    assert [event.policy for event in of(PolicyPaused, Play(terms=terms("active"), policy=None).turn(Pause(**ANN)).events)] == ["auto"]
    assert [event.policy for event in of(PolicyPaused, Play(terms=terms("observe")).turn(Pause(**ANN)).events)] == [""], "nothing decides"


def test_a_roll_back_and_its_pause_name_the_same_policy() -> None:
    play = Play(terms=terms("active", latency_p95_s=2.0, rollback_broken=1), known={"arrival_rows_per_s": 100.0, "latency": late(1.0)})
    play.turn()
    play.known = {**play.known, "latency": late(3.0)}
    said = play.pass_s(100.0)
    assert [(type(each), each.policy) for each in said if isinstance(each, (PromiseBroken, RolledBack, PolicyPaused))] == [
        (PromiseBroken, "thumb"),
        (RolledBack, "thumb"),
        (PolicyPaused, "thumb"),
    ]


def test_a_policy_that_cannot_be_made_is_rolled_back_by_its_own_name() -> None:
    play = Play(terms=terms("active"))
    play.pass_s(30.0)
    play.terms, play.policy = terms("active", policy="nobody"), None
    said = play.pass_s(240.0)
    assert [each.policy for each in said if isinstance(each, (RolledBack, PolicyPaused))] == ["nobody", "nobody"]


def test_scaling_that_brought_nothing_names_who_scaled() -> None:
    play = Play(terms=terms("active", guards="on"), policy=Thumb(name="rule"))
    play.known = {"arrival_rows_per_s": 600.0, "throughput_rows_per_s": 300.0, "excess_lag_rows": 5000.0}
    assert [each.policy for each in of(ScalingIneffective, play.pass_s(Autopilot().settled_s + 30.0))] == ["rule"]


@pytest.mark.parametrize(
    ("mode", "decided", "policy", "name"),
    [
        ("active", "auto:ds2", None, "auto:ds2"),
        ("shadow", None, None, "auto"),
        ("active", "hpa", None, "auto"),
        ("active", None, Thumb(), "thumb"),
        ("active", "auto:ds2", Thumb(), "thumb"),
        ("observe", "auto:ds2", None, ""),
    ],
)
def test_who_decides_is_who_decided_last_unless_another_one_is_asked_by_now(mode: Mode, decided: str | None, policy: Policy | None, name: str) -> None:
    last = None if decided is None else replace(wants(3), policy=decided)
    assert decider_of(knowing(mode, decided=last), terms(mode), policy) == name


def test_events_and_predictions_that_name_a_policy_keep_it() -> None:
    kept, ended, rest = PromiseKept(at_s=1.0, promise="p"), ProposalEnded(at_s=1.0, policy="auto:ds2", proposal=1, how="expired"), NothingToDo(at_s=1.0)
    theirs = replace(MADE, policy="auto:ds2")
    after, events = named(knowing(predictions=(MADE, theirs)), [kept, ended, rest], "auto:hpa")
    assert events == [replace(kept, policy="auto:hpa"), ended, rest]
    assert after.predictions == (replace(MADE, policy="auto:hpa"), theirs)
    assert named(after, events, "hpa") == (after, events)
