from dataclasses import replace
from typing import Any

import pytest
from changes import rescaled, scaled_to
from hypothesis import given
from hypothesis import strategies as st
from planned import LIMITS, Thumb, assessed, knowing, proposing, terms, trying, wants

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Comparison, Decision, Recommended
from penstock.core.domain.events.autopilot_events import ProposalEnded, Proposed
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.knowledge.knowledge import Hold, Knowledge
from penstock.core.knowledge.steering import MeanLoad, Proposals
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.settle import Settled, settle, with_recommended
from penstock.core.plan.trust import settle_mode
from penstock.runtime.fakes import blank_reading

EXECUTORS = st.integers(LIMITS.min_executors, LIMITS.max_executors)
HELD = (Hold(knob="executors", value="3", who="ann", until_s=1e9),)
PROPOSAL = proposing(at_s=900.0, expires_s=1500.0)


def settled(knowledge: Knowledge, decision: Decision, under: Terms | None = None, at_s: float = 1000.0, **known: Any) -> Settled:
    under = terms(knowledge.schedule.mode) if under is None else under
    return settle(knowledge, assessed(at_s, decision.current.executors, **known), decision, under, Thumb())


@pytest.mark.parametrize(
    ("mode", "effect", "desired", "shadow"), [("shadow", "shadow", 3, scaled_to(5)), ("ask", "proposed", 3, None), ("active", "asked", 5, None)]
)
def test_the_same_decision_has_the_effect_that_the_mode_lets_it_have(mode: Mode, effect: str, desired: int, shadow: Configuration | None) -> None:
    done = settled(knowing(mode), wants(5))
    assert (done.effect, done.knowledge.desired.executors, done.knowledge.schedule.shadow) == (effect, desired, shadow)
    assert (done.decision, done.is_news) == (wants(5), True)


@given(st.sampled_from(["shadow", "ask", "active"]), EXECUTORS, EXECUTORS)
def test_whatever_is_decided_the_timers_run_from_it(mode: Mode, current: int, wanted: int) -> None:
    memory = OwnMemory(numbers={"step": 2.0})
    knowledge = knowing(mode, executors=current, loads={"": MeanLoad(count=3, mean_rows_per_s=5.0)}, failed_in_a_row=2)
    after = settled(knowledge, wants(wanted, current, memory=memory)).knowledge
    schedule = after.schedule
    assert (schedule.decided_s, schedule.next_s, schedule.memory, schedule.loads, after.trust.failed_in_a_row) == (1000.0, 1030.0, memory, {}, 0)
    assert schedule.earlier == (Recommended(at_s=1000.0, configuration=scaled_to(wanted)),)
    assert schedule.last is not None and schedule.last.executors == wanted


def test_a_decision_may_ask_for_another_time_than_its_period() -> None:
    assert settled(knowing(), wants(3, next_after_s=600.0)).knowledge.schedule.next_s == 1600.0


def test_in_shadow_the_timer_of_rescales_is_the_shadows_own() -> None:
    assert settled(knowing("shadow", rescaled_s=5.0), wants(5)).knowledge.schedule.rescaled_s == 1000.0
    assert settled(knowing("shadow", rescaled_s=5.0), wants(3)).knowledge.schedule.rescaled_s == 5.0


def test_a_hold_beats_the_policy_and_withdraws_what_it_proposed() -> None:
    for mode in ("ask", "active"):
        done = settled(replace(knowing(mode, open=PROPOSAL if mode == "ask" else None), holds=HELD), wants(5))
        assert (done.effect, done.knowledge.desired.executors, done.knowledge.proposals.open) == ("held", 3, None)
        assert done.events == ((ProposalEnded(at_s=1000.0, policy="thumb", decision_id=4, proposal=7, how="withdrawn"),) if mode == "ask" else ())


def test_what_is_compared_with_an_operators_executors_in_shadow_is_not_held_by_it() -> None:
    assert settled(replace(knowing("shadow"), holds=HELD), wants(5)).effect == "shadow"


def test_a_shadow_follows_what_operators_change_besides() -> None:
    now, other = scaled_to(3, a="10s"), scaled_to(3, a="5s")
    begun, _ = settle_mode(replace(knowing("observe"), declared=now, desired=now), 10.0, terms("shadow"))
    done = settled(begun, replace(wants(5), configuration=scaled_to(5, a="10s"), current=now)).knowledge
    assert [each.wanting(other).steered("shadow") for each in (begun, done)] == [other, scaled_to(5, a="5s")]
    assert done.wanting(other).steered("active") == other


def test_no_change_is_kept_or_guarded() -> None:
    assert settled(knowing(), wants(3)).effect == "kept"
    guarded = settled(knowing(), wants(5), terms(only="down"))
    assert (guarded.effect, guarded.decision.executors, guarded.decision.why.code) == ("guarded", 3, "smallest_that_holds")
    assert guarded.knowledge.schedule.earlier[-1].executors == 5, "what is recommended is what the policy wanted before guards"


def test_a_proposal_stays_for_the_same_configuration_gives_way_to_another_and_is_withdrawn() -> None:
    same = settled(knowing("ask", proposals=Proposals(open=PROPOSAL, next_number=8)), wants(5))
    assert (same.effect, same.events, same.knowledge.proposals.open) == ("proposed", (), PROPOSAL)
    other = settled(knowing("ask", proposals=Proposals(open=PROPOSAL, next_number=8)), wants(6))
    assert other.events == (
        ProposalEnded(at_s=1000.0, policy="thumb", decision_id=4, proposal=7, how="superseded"),
        Proposed(at_s=1000.0, decision_id=1, proposal=8, change=rescaled(3, 6), policy="thumb", expires_s=1600.0),
    )
    kept = settled(knowing("ask", open=PROPOSAL), wants(3))
    assert (kept.effect, kept.events) == ("kept", (ProposalEnded(at_s=1000.0, policy="thumb", decision_id=4, proposal=7, how="withdrawn"),))


def test_a_configuration_that_was_rejected_is_not_proposed_again_for_a_while() -> None:
    rejected = knowing("ask", rejected=(PROPOSAL, replace(PROPOSAL, number=8, configuration=scaled_to(4))))
    quiet = settled(rejected, wants(5))
    assert (quiet.effect, quiet.events, quiet.decision.guards) == ("guarded", (), (Comparison(code="rejected", value=5.0, limit=500.0),))
    assert settled(rejected, wants(4)).effect == "guarded", "the one before it as well"
    assert settled(rejected, wants(6)).effect == "proposed"
    assert settled(rejected, wants(5), at_s=1500.0).effect == "proposed"


def test_a_scale_up_in_overload_begins_a_trial_and_a_scale_down_is_remembered() -> None:
    overloaded = blank_reading(1000.0, excess_lag_rows=10.0, throughput_rows_per_s=200.0)
    trial = trying(3, 5, 200.0, since_s=1000.0)
    guards = terms(guards="on")
    assert settled(knowing(), wants(5), guards, reading=overloaded).knowledge.effects.trial == trial
    assert settled(knowing(), wants(5), reading=overloaded).knowledge.effects.trial is None, "it would not be judged"
    assert settled(knowing(), wants(5), guards).knowledge.effects.trial is None
    fewer = settled(knowing(trial=trial), wants(2), guards).knowledge
    assert (fewer.trust.own_scale_down_s, fewer.effects.trial) == (1000.0, None)
    by_quota = settled(knowing(), wants(3), terms(quota_executors=2)).knowledge
    assert (by_quota.desired.executors, by_quota.trust.own_scale_down_s) == (2, None), "what the owner takes is not the policy's own"


def test_a_decision_that_repeats_the_last_is_news_once_a_minute() -> None:
    def again(wanted: Decision, since_s: float, **under: Any) -> bool:
        return settled(knowing(said_s=1000.0 - since_s, decided=wants(3, code="too_soon")), wanted, terms(**under)).is_news

    assert not again(wants(3, code="too_soon"), 59.0)
    assert again(wants(3, code="too_soon"), 60.0)
    assert again(wants(3, code="too_soon"), 6.0, time_scale=0.1)
    assert again(wants(3, code="not_ready"), 1.0), "another reason"
    assert again(wants(4, code="too_soon"), 1.0), "another configuration"
    assert again(wants(4, code="too_soon"), 1.0, only="down"), "another guard"


@given(st.lists(st.tuples(st.floats(0.1, 900.0), EXECUTORS), min_size=1, max_size=30), st.floats(1.0, 3600.0))
def test_the_largest_of_what_was_recommended_within_any_window_is_not_forgotten(steps: list[tuple[float, int]], window_s: float) -> None:
    kept: tuple[Recommended, ...] = ()
    said: list[Recommended] = []
    at_s = 0.0
    for waited_s, executors in steps:
        at_s += waited_s
        said.append(Recommended(at_s=at_s, configuration=scaled_to(executors)))
        kept = with_recommended(kept, said[-1], 3600.0)
        since_s = at_s - window_s
        assert max(each.executors for each in kept if each.at_s > since_s) == max(each.executors for each in said if each.at_s > since_s)
        assert all(a.executors != b.executors or b.executors != c.executors for a, b, c in zip(kept, kept[1:], kept[2:], strict=False))
