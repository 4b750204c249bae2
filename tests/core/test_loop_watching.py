from dataclasses import replace
from typing import Any

from changes import scaled_to
from planned import Play, Thumb, late, of, terms

from penstock.core.domain.autopilot import Autopilot, Floor
from penstock.core.domain.command import Approve, Pause, Reject, SetKnob
from penstock.core.domain.events.autopilot_events import Decided, PromiseBroken, ProposalEnded, Proposed, Recovered, ScalingIneffective, TargetInfeasible
from penstock.runtime.fakes import EPOCH_S

ANN: Any = {"at_s": 0.0, "who": "ann"}
HEALTHY: Any = {"arrival_rows_per_s": 300.0, "throughput_rows_per_s": 300.0, "excess_lag_rows": 0.0, "latency": late(1.0)}
BEHIND: Any = {"throughput_rows_per_s": 100.0, "excess_lag_rows": 5000.0, "latency": late(3.0)}
SALE = Floor(name="sale", min_executors=6, from_s=EPOCH_S + 1000.0, until_s=EPOCH_S + 5000.0, lead_s=300.0)
NOW = replace(SALE, from_s=EPOCH_S + 10.0, lead_s=0.0)
SELDOM = Thumb(period_s=600.0)


def test_a_policy_that_learns_nothing_is_excused_while_its_own_rescale_recovers() -> None:
    play = Play(terms=terms("active", latency_p95_s=2.0), known=HEALTHY)
    play.pass_s(60.0)
    play.known = {**HEALTHY, **BEHIND, "arrival_rows_per_s": 200.0}
    said = play.pass_s(120.0)
    assert play.requested == [2]
    assert of(PromiseBroken, said) == []


def test_a_recovery_past_its_promise_is_broken_whatever_the_policy_learns() -> None:
    play = Play(terms=terms("active", recovery_s=60.0), known=HEALTHY)
    play.pass_s(60.0)
    play.known = {**HEALTHY, **BEHIND, "failures": 1, "since_disturbance_s": 0.0}
    play.pass_s(100.0)
    play.known = {**HEALTHY, "failures": 1}
    said = play.pass_s(100.0)
    assert [(each.kind, each.took_s > 60.0) for each in of(Recovered, said)] == [("executor_loss", True)]
    assert [(each.promise, each.limit) for each in of(PromiseBroken, said)] == [("recovery", 60.0)]


def test_a_target_that_no_configuration_can_meet_is_named_whatever_the_policy_learns() -> None:
    play = Play(terms=terms("active", recovery_s=2.0), known=HEALTHY)
    assert [(each.target, each.why.code) for each in of(TargetInfeasible, play.pass_s(300.0))] == [("recovery time", "recovery_below_downtime")]
    declared = Play(terms=terms("active", recovery_s=2.0, downtimes_s={"executor_loss": 1.0}), known=HEALTHY)
    assert of(TargetInfeasible, declared.pass_s(300.0)) == [], "its owner knows better"


def test_where_nothing_is_promised_or_learnt_nothing_is_watched() -> None:
    play = Play(terms=terms("active"), known=HEALTHY)
    before = play.knowledge.learnt
    play.pass_s(60.0)
    assert play.knowledge.learnt is before


def test_a_known_event_is_followed_within_two_readings_however_seldom_the_policy_decides() -> None:
    play = Play(terms=terms("active", calendar=(SALE,)), policy=SELDOM)
    play.pass_s(695.0)
    assert play.requested == [], "its lead begins at 700"
    said = play.pass_s(10.0)
    assert play.requested == [6]
    (decided,) = of(Decided, said)
    assert (decided.policy, decided.effect, decided.decision.why.code) == ("thumb", "asked", "between_decisions")
    assert [guard.code for guard in decided.decision.guards] == ["calendar"]
    assert play.knowledge.schedule.next_s == EPOCH_S + 605.0 + 600.0, "the policy decides when it would have"


def test_a_pause_is_about_the_policy_and_not_about_known_events_and_the_quota() -> None:
    play = Play(terms=terms("active", calendar=(NOW,)))
    play.turn(Pause(**ANN))
    play.arrive(800.0)
    (decided,) = of(Decided, play.pass_s(60.0))
    assert (play.requested, decided.decision.why.code) == ([6], "policy_paused")
    play.terms = terms("active", calendar=(NOW,), quota_executors=2)
    play.turn()
    assert play.requested == [6, 2], "a quota beats a known event"
    assert play.knowledge.trust.own_scale_down_s is None, "what the owner takes is not held against the policy"
    assert of(Decided, play.pass_s(60.0)) == []


def test_an_operator_who_holds_the_executors_is_not_overruled_by_a_known_event() -> None:
    play = Play(terms=terms("active", calendar=(NOW,)), policy=SELDOM)
    play.turn(SetKnob(knob="executors", value="2", hold_s=100.0, **ANN))
    play.pass_s(90.0)
    assert play.requested == [2]
    play.pass_s(30.0)
    assert play.requested == [2, 6]


def test_a_known_event_goes_in_steps_where_its_owner_says_so() -> None:
    play = Play(terms=terms("active", calendar=(NOW,), max_step=2), policy=SELDOM)
    play.pass_s(30.0)
    assert play.requested == [5, 6]


def test_in_ask_a_known_event_is_proposed_once_and_stays_rejected() -> None:
    play = Play(terms=terms("ask", calendar=(NOW,)), policy=SELDOM)
    assert [each.change.executors for each in of(Proposed, play.pass_s(100.0))] == [(3, 6)]
    play.turn(Reject(**ANN))
    assert of(Proposed, play.pass_s(100.0)) == [] and play.requested == []


def test_a_proposal_above_a_quota_that_was_lowered_is_withdrawn_at_once() -> None:
    play = Play(terms=terms("ask"), policy=SELDOM)
    play.arrive(600.0)
    assert [each.change.executors for each in of(Proposed, play.turn().events)] == [(3, 6)]
    play.terms = terms("ask", quota_executors=4)
    done = play.turn()
    assert [each.how for each in of(ProposalEnded, done.events)] == ["superseded"] and of(Proposed, done.events)[0].change.executors == (3, 4)
    play.terms = terms("ask", quota_executors=3)
    assert [each.how for each in of(ProposalEnded, play.turn().events)] == ["withdrawn"]
    assert play.knowledge.proposals.open is None


def test_a_shadow_follows_a_known_event_too_and_touches_nothing() -> None:
    play = Play(terms=terms("shadow", calendar=(NOW,)), policy=SELDOM)
    said = play.pass_s(30.0)
    assert [(each.effect, each.decision.executors) for each in of(Decided, said)] == [("kept", 3), ("shadow", 6)]
    assert (play.knowledge.steered("shadow"), play.requested) == (scaled_to(6), [])


def test_an_approved_scale_up_that_brings_nothing_is_taken_back() -> None:
    play = Play(terms=terms("ask", guards="on"))
    play.known = {"arrival_rows_per_s": 600.0, "throughput_rows_per_s": 300.0, "excess_lag_rows": 5000.0}
    play.turn()
    play.turn(Approve(**ANN))
    said = play.pass_s(Autopilot().settled_s + 60.0)
    assert [(each.change.executors, each.policy) for each in of(ScalingIneffective, said)] == [((3, 6), "thumb")]
    assert play.requested == [6, 3]
