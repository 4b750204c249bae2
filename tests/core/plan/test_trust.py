from dataclasses import replace
from typing import Any

import pytest
from changes import rescaled, scaled_to
from hypothesis import given
from hypothesis import strategies as st
from planned import knowing, late, proposing, terms, trying, wants

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.decision import Recommended
from penstock.core.domain.disturbance import Disturbance
from penstock.core.domain.events.autopilot_events import PolicyPaused, PromiseBroken, PromiseKept, ProposalEnded, Recovered, RolledBack
from penstock.core.domain.events.event import Event
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.knowledge.knowledge import Author, Hold, Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.steering import Applied, Effects, Paused, Proposals, Schedule, Trust
from penstock.core.knowledge.terms import Terms
from penstock.core.models.anomaly.recovery_watch import RecoveryWatch
from penstock.core.plan.trust import settle_mode, settle_policy, watch_promises, watch_trust
from penstock.runtime.fakes import blank_reading

PAUSED = Paused(who="ann", since_s=0.0, until_s=None)
PROMISED = terms(latency_p95_s=2.0, recovery_s=120.0)


def watched(knowledge: Knowledge, story: list[tuple[float, float | None]], under: Terms = PROMISED) -> tuple[Knowledge, list[Event]]:
    said: list[Event] = []
    for at_s, p95_s in story:
        last = blank_reading(at_s, latency=None if p95_s is None else late(p95_s))
        knowledge, events = watch_promises(replace(knowledge, last=last), [], at_s, under)
        said += events
    return knowledge, said


def every(seconds: int, p95_s: float | None, from_s: int = 0) -> list[tuple[float, float | None]]:
    return [(float(at_s), p95_s) for at_s in range(from_s, from_s + seconds, 5)]


def struck(kind: Any, at_s: float) -> Knowledge:
    return replace(knowing(), learnt=Learnt(health=RecoveryWatch(open=(Disturbance(kind=kind, at_s=at_s),))))


def test_a_latency_above_its_promise_for_a_minute_is_a_broken_promise_said_once() -> None:
    assert watched(knowing(), every(60, 3.0))[1] == []
    assert watched(knowing(), every(300, 3.0))[1] == [PromiseBroken(at_s=60.0, promise="latency p95", value=3.0, limit=2.0)]
    assert [event.at_s for event in watched(knowing(), every(30, 3.0), replace(PROMISED, autopilot=replace(PROMISED.autopilot, time_scale=0.25)))[1]] == [15.0]


def test_a_promise_is_kept_again_only_if_it_was_said_to_be_broken() -> None:
    _, said = watched(knowing(), [*every(100, 3.0), *every(50, 1.0, from_s=100)])
    assert [type(event) for event in said] == [PromiseBroken, PromiseKept]
    assert watched(knowing(), [*every(40, 3.0), *every(50, 1.0, from_s=40), *every(40, 3.0, from_s=90)])[1] == []


def test_a_promise_that_is_kept_is_nothing_to_remember() -> None:
    knowledge = knowing(last=blank_reading(5.0, latency=late(1.0)), broken_s=(4.0,))
    assert watch_promises(knowledge, [], 5.0, PROMISED) == (knowledge, [])
    assert watch_promises(knowledge, [], 5.0, PROMISED)[0] is knowledge


def test_a_promise_that_stays_broken_is_broken_again_every_ten_minutes() -> None:
    _, said = watched(knowing(), every(1500, 3.0))
    assert [event.at_s for event in said] == [60.0, 660.0, 1260.0]


def test_what_is_not_known_neither_breaks_nor_keeps() -> None:
    assert watched(knowing(), [*every(50, 3.0), *every(100, None, from_s=50)])[1] == []
    assert [event.at_s for event in watched(knowing(), [*every(50, 3.0), *every(100, None, from_s=50), (150.0, 3.0)])[1]] == [150.0]
    assert watched(knowing(), every(300, 3.0), terms())[1] == [], "nothing is promised"


def test_a_known_recovery_excuses_a_high_latency_for_as_long_as_it_may_take() -> None:
    said = watched(struck("executor_loss", at_s=0.0), every(300, 3.0))[1]
    assert [event.at_s for event in said] == [125.0 + 60.0], "the promised two minutes, then the minute of any other"
    assert [event.at_s for event in watched(struck("unannounced", at_s=0.0), every(300, 3.0))[1]] == [60.0], "overload is no excuse"


def test_a_recovery_that_took_longer_than_promised_is_a_broken_promise() -> None:
    def said(kind: str, *took_s: float) -> list[Event]:
        recovered = [Recovered(at_s=500.0, kind=kind, started_s=500.0 - each, took_s=each, alone=len(took_s) == 1) for each in took_s]
        return watch_promises(knowing(), recovered, 500.0, PROMISED)[1]

    assert said("executor_loss", 121.0) == [PromiseBroken(at_s=500.0, promise="recovery", value=121.0, limit=120.0)]
    assert said("executor_loss", 120.0) == said("unannounced", 500.0) == []
    assert [getattr(each, "value", None) for each in said("executor_loss", 200.0, 150.0)] == [200.0], "recoveries that end together are one"


@given(st.none() | st.floats(0.0, 4000.0))
def test_what_is_broken_within_an_hour_of_an_own_scale_down_counts_against_the_policy(scaled_down_s: float | None) -> None:
    after, said = watched(knowing(own_scale_down_s=scaled_down_s), [(4000.0, 3.0), (4060.0, 3.0)])
    counts = scaled_down_s is not None and scaled_down_s >= 460.0
    assert [event.at_s for event in said] == [4060.0]
    assert after.trust.broken_s == ((4060.0,) if counts else ())
    assert watched(knowing(broken_s=(0.0, 3000.0)), [(3601.0, 1.0)])[0].trust.broken_s == (3000.0,), "after an hour it counts no more"


def test_a_promise_that_no_configuration_can_keep_is_said_but_not_held_against_the_policy() -> None:
    for infeasible, held in (((), 1), (("latency",), 0), (("recovery time",), 1)):
        after, said = watched(knowing(own_scale_down_s=0.0, infeasible=infeasible), every(100, 3.0))
        assert (len(said), len(after.trust.broken_s)) == (1, held)


def test_a_broken_promise_and_a_roll_back_name_the_newest_decision_in_force() -> None:
    authors = {knob: Author(decision_id=number, policy="thumb") for knob, number in (("executors", 2), ("trigger:a", 6), ("trigger:b", 4))}
    after, (broken,) = watched(knowing(authors=authors, last_id=9), every(65, 3.0))
    _, (rolled, _) = watch_trust(replace(after, trust=Trust(**BROKEN)), 300.0, terms())
    assert isinstance(broken, PromiseBroken) and isinstance(rolled, RolledBack) and (broken.decision_id, rolled.decision_id) == (6, 6)


BROKEN: Any = {"broken_s": (100.0, 200.0, 300.0)}


def back(knowledge: Knowledge, at_s: float = 300.0, mode: Mode = "active", **autopilot: Any) -> tuple[Knowledge, list[Any]]:
    return watch_trust(knowledge, at_s, terms(mode, **autopilot))


def test_three_broken_promises_roll_back_to_more_executors() -> None:
    after, events = back(knowing(executors=2, authors={"executors": Author(decision_id=6, policy="thumb")}, **BROKEN))
    assert events == [
        RolledBack(at_s=300.0, decision_id=6, reason="broken_promises", before=scaled_to(2), configuration=scaled_to(3), value=3.0, limit=3.0),
        PolicyPaused(at_s=300.0, who="penstock", until_s=3900.0, reason="broken promises"),
    ]
    assert after.desired.executors == 3
    assert after.trust.paused == Paused(who="penstock", since_s=300.0, until_s=3900.0, reason="broken promises")
    assert back(after) == (after, []), "once is enough"
    assert back(knowing(executors=6, **BROKEN))[0].desired.executors == 6, "there are more already"
    assert back(knowing(broken_s=(100.0, 200.0)))[1] == []


def test_the_executors_to_go_back_to_are_the_owners_within_limits_and_quota() -> None:
    assert back(knowing(executors=2, **BROKEN), fallback_executors=5)[0].desired.executors == 5
    assert back(knowing(executors=2, **BROKEN), fallback_executors=50)[0].desired.executors == 8
    assert back(knowing(executors=2, **BROKEN), fallback_executors=5, quota_executors=4)[0].desired.executors == 4
    assert back(knowing(executors=6, **BROKEN), quota_executors=4)[0].desired.executors == 6, "a roll-back gives nothing away"


@pytest.mark.parametrize(
    ("known", "reason", "value"),
    [
        ({"errors": (0.9, 1.0, 1.1, 1.2, 1.3)}, "wrong_predictions", 1.1),
        ({"errors": (1.0, 1.0, 1.0, 1.0, 1.0)}, None, None),
        ({"errors": (9.0, 9.0)}, None, None),
        ({"failed_in_a_row": 3}, "policy_fails", 3.0),
        ({"failed_in_a_row": 2}, None, None),
    ],
)
def test_wrong_predictions_and_a_failing_policy_roll_back_too(known: Any, reason: str | None, value: float | None) -> None:
    found: list[Any] = [(event.reason, event.value) for event in back(knowing(**known))[1] if isinstance(event, RolledBack)]
    assert found == ([] if reason is None else [(reason, pytest.approx(value))])


def test_no_readings_roll_back() -> None:
    knowledge = knowing(executors=2, last=blank_reading(300.0))
    assert back(knowledge, 419.0)[1] == []
    after, events = back(knowledge, 420.0)
    assert (after.desired.executors, events[0].reason, events[0].value) == (3, "blind", 120.0)
    assert back(knowing(), 1e9)[1] == [], "its start is unknown"
    assert back(knowledge, 310.0, time_scale=0.01)[1] == [], "however short the days, three readings may be missed"


def test_a_run_that_never_had_a_reading_is_blind_from_its_start() -> None:
    begun = replace(knowing(executors=2), began_s=300.0)
    assert back(begun, 419.0)[1] == []
    assert [event.value for event in back(begun, 420.0)[1] if isinstance(event, RolledBack)] == [120.0]
    assert back(replace(begun, last=blank_reading(400.0)), 420.0)[1] == [], "the last reading counts once there is one"


def test_nothing_is_rolled_back_while_a_policy_is_paused_only_watches_or_its_owner_wants_no_roll_back() -> None:
    modes: tuple[Mode, ...] = ("observe", "shadow")
    assert [back(knowing(mode, executors=2, **BROKEN), mode=mode)[1] for mode in modes] == [[], []]
    assert back(knowing(executors=2, **BROKEN), rollback=False)[1] == back(knowing(executors=2, paused=PAUSED, **BROKEN))[1] == []


def test_an_operators_hold_stays_and_a_proposal_is_withdrawn() -> None:
    held = replace(knowing("ask", executors=2, open=proposing(), **BROKEN), holds=(Hold(knob="executors", value="2", who="ann", until_s=1e9),))
    after, events = back(held, mode="ask")
    assert [type(event) for event in events] == [ProposalEnded, RolledBack, PolicyPaused]
    assert (after.desired.executors, after.proposals.open) == (2, None)


def test_what_spoke_against_the_policy_does_not_speak_against_it_again() -> None:
    after = back(knowing(executors=2, errors=(9.0,) * 5, failed_in_a_row=4, **BROKEN))[0]
    assert back(replace(after, trust=replace(after.trust, paused=None)))[1] == []


def test_other_knobs_that_the_policy_decided_go_back_to_what_was_declared_unless_they_are_held() -> None:
    declared, decided = scaled_to(3, a="10s", b="10s"), scaled_to(2, a="1s", b="1s")
    authors = dict.fromkeys(("executors", "trigger:a", "trigger:b"), Author(decision_id=6, policy="thumb"))
    holds = (Hold(knob="trigger:b", value="1s", who="ann", until_s=1e9),)
    after, _ = back(replace(knowing(**BROKEN), declared=declared, desired=decided, authors=authors, holds=holds))
    assert after.desired == scaled_to(3, a="10s", b="1s")


def test_the_same_mode_changes_nothing() -> None:
    knowledge = knowing("ask", open=proposing(), rescaled_s=5.0)
    assert settle_mode(knowledge, 10.0, terms("ask")) == (knowledge, [])


def test_a_proposal_is_withdrawn_with_its_mode() -> None:
    after, events = settle_mode(knowing("ask", open=proposing(), rejected=(proposing(),)), 10.0, terms("active"))
    assert events == [ProposalEnded(at_s=10.0, policy="thumb", decision_id=4, proposal=7, how="withdrawn")]
    assert (after.schedule.mode, after.proposals) == ("active", Proposals())


def test_a_shadow_begins_at_the_configuration_of_the_job_and_ends_with_its_mode() -> None:
    shadow, _ = settle_mode(knowing("observe", executors=4), 10.0, terms("shadow"))
    assert (shadow.wanting(scaled_to(6)).steered("shadow"), shadow.schedule.earlier) == (scaled_to(4), (Recommended(at_s=10.0, configuration=scaled_to(4)),))
    applied = (Applied(number=1, decision_id=None, change=rescaled(2, 4), at_s=3.0),)
    active, _ = settle_mode(knowing("shadow", shadow=rescaled(3, 8), rescaled_s=9.0, applied=applied, memory=OwnMemory()), 10.0, terms("active"))
    assert (active.schedule.shadow, active.schedule.rescaled_s, active.schedule.memory) == (None, 3.0, None)


def test_observe_forgets_all_but_a_pause_and_the_last_rescale() -> None:
    before = knowing("active", paused=PAUSED, trial=trying(1, 2, 1.0, since_s=0.0), memory=OwnMemory(), next_s=50.0, failed_in_a_row=2)
    after, _ = settle_mode(before, 10.0, terms("observe"))
    assert (after.schedule, after.trust, after.effects) == (Schedule(), Trust(paused=PAUSED), Effects())


def test_a_policy_that_takes_over_decides_at_once_and_neither_reads_nor_answers_for_another() -> None:
    for name in ("thumb", "thumb:ds2"):
        knowledge = knowing(decided=replace(wants(3), policy=name), memory=OwnMemory(), next_s=50.0)
        assert settle_policy(knowledge, "thumb", 60.0) == (knowledge, [])
        assert settle_policy(knowledge, "hpa", 60.0)[0].schedule == Schedule(mode="active")
    blamed = knowing(own_scale_down_s=5.0, broken_s=(6.0, 7.0), errors=(2.0, 2.0), failed_in_a_row=2, analyze_from_s=99.0, decided=wants(3))
    after, _ = settle_policy(blamed, "hpa", 60.0)
    assert (after.trust, after.schedule.analyze_from_s) == (Trust(), None)
