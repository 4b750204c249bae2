from dataclasses import replace

import pytest
from changes import rescaled, scaled_to
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import knowing, of, proposing, terms, trying, wants

from penstock.core.domain.command import Approve, Command, Pause, Reject, Release, Resume, SetKnob
from penstock.core.domain.decision import Recommended
from penstock.core.domain.events.autopilot_events import Decided, PolicyPaused, PolicyResumed, ProposalEnded
from penstock.core.domain.events.steering_events import CommandRefused, CommandTaken, HoldEnded
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.domain.reading import QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Author, Hold, Knowledge
from penstock.core.knowledge.steering import MeanLoad, Paused, Proposal, Proposals
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.operators import hear
from penstock.core.plan.proposals import quiet_for_s
from penstock.core.plan.settle import follow_owner
from penstock.runtime.fakes import blank_reading

ASK, NARROW = terms("ask"), Terms(limits=Limits(min_executors=2, max_executors=4))
DECLARED = scaled_to(2, a="0s", b="0s")
FRESH = Knowledge(declared=DECLARED, desired=DECLARED)
ATTACHED = QueryReading(name="a", state="running", trigger=Trigger(), rate_limit_rows_per_s=None, unable={"trigger": "give restart=..."})
PROPOSAL = proposing()
PAUSED = Paused(who="ann", since_s=0.0, until_s=None)
OPEN = knowing("ask", open=PROPOSAL, next_s=500.0, decided=wants(5))
APPROVE, REJECT = Approve(at_s=10.0, who="ann"), Reject(at_s=10.0, who="ann")
HOLDS = st.lists(
    st.builds(Hold, knob=st.sampled_from(["executors", "trigger:a", "trigger:b"]), value=st.just("3"), who=st.just("ann"), until_s=st.floats(0, 100)),
    unique_by=lambda hold: hold.knob,
)


def wish(knob: str, value: str, query: str | None = None, hold_s: float | None = None) -> SetKnob:
    return SetKnob(at_s=1.0, who="ann", knob=knob, value=value, query=query, hold_s=hold_s)


def scale(executors: int, hold_s: float | None = None) -> SetKnob:
    return wish("executors", str(executors), hold_s=hold_s)


def refusals(knowledge: Knowledge, command: Command, under: Terms = NARROW) -> list[str]:
    after, events = hear(knowledge, [command], 10.0, under)
    assert after == knowledge, "a refused command changes nothing"
    return [event.reason for event in of(CommandRefused, events)]


def proposing_instead(**other: object) -> Knowledge:
    return replace(OPEN, proposals=Proposals(open=replace(PROPOSAL, **other)))  # type: ignore[arg-type]


@given(HOLDS, st.floats(0, 100))
@settings(deadline=None)
def test_a_hold_ends_when_its_time_has_run_out_and_its_value_stays(holds: list[Hold], at_s: float) -> None:
    before = replace(FRESH, desired=scaled_to(3), holds=tuple(holds))
    after, events = hear(before, [], at_s, NARROW)
    assert all(each.until_s > at_s for each in after.holds)
    assert {event.knob for event in of(HoldEnded, events) if event.how == "expired"} == {each.knob for each in before.holds if each.until_s <= at_s}
    assert len(after.holds) + len(events) == len(before.holds)
    assert after.desired == before.desired
    assert (after is before) == (not events), "where nothing ended nothing is copied"


def test_a_wish_is_held_for_as_long_as_the_operator_says_else_as_the_setting_says() -> None:
    for hold_s, until_s in ((None, 10.0 + NARROW.config.hold_s), (60.0, 70.0)):
        knowledge, events = hear(FRESH, [scale(3, hold_s)], 10.0, NARROW)
        assert knowledge.desired == DECLARED.having("executors", 3)
        assert knowledge.holds == (Hold(knob="executors", value="3", who="ann", until_s=until_s),)
        assert events == [CommandTaken(at_s=10.0, who="ann", knob="executors", value="3", held_until_s=until_s)]
    assert [hold.value for hold in hear(FRESH, [scale(3), scale(4)], 10.0, NARROW)[0].holds] == ["4"], "a later wish takes the place of an earlier one"


def test_a_wish_for_no_query_in_particular_is_one_for_every_query() -> None:
    knowledge, events = hear(FRESH, [wish("rate-limit", "20k/s")], 10.0, NARROW)
    assert [knowledge.desired.of(f"rate-limit:{query}") for query in "ab"] == [20_000.0, 20_000.0]
    assert [(event.knob, event.value) for event in of(CommandTaken, events)] == [("rate-limit:a", "20k/s"), ("rate-limit:b", "20k/s")]


def test_each_kind_of_wish_reaches_its_knob_of_one_query() -> None:
    commands = [wish("trigger", "5s", "a"), wish("rate-limit", "7/s", "a"), wish("rate-limit", "none", "a"), wish("partitions", "8", "a")]
    knowledge, _ = hear(FRESH, commands, 10.0, NARROW)
    assert knowledge.desired == scaled_to(2, a="5s", b="0s").having("partitions:a", 8)
    assert {hold.knob: hold.value for hold in knowledge.holds} == {"trigger:a": "5s", "rate-limit:a": "none", "partitions:a": "8"}


@pytest.mark.parametrize(
    ("knob", "value", "reason"),
    [
        *(("executors", value, "the job's limits allow 2 to 4 executors") for value in ("1", "5", "-1")),
        ("executors", "many", "found 'many', a whole number is allowed"),
        ("trigger", "realtime:4s", "a batch duration of at least 5s is allowed in Real-Time Mode"),
        ("partitions", "0", "at least 1 partition is allowed"),
        ("rate-limit", "0/s", "a limit above 0 rows/s is allowed"),
        ("speed", "9", "there is no knob 'speed'; there are executors, trigger, rate-limit, partitions, kept-share"),
    ],
)
def test_a_value_out_of_bounds_is_refused_with_the_bounds(knob: str, value: str, reason: str) -> None:
    assert refusals(FRESH, wish(knob, value, None if knob in ("executors", "speed") else "a")) == [reason]
    assert all(refusals(FRESH, wish("rate-limit", each, "a")) for each in ("-1/s", "nan", "inf"))


def test_a_rate_limit_and_real_time_mode_do_not_go_together_whichever_comes_second() -> None:
    flowing = replace(FRESH, desired=scaled_to(2, a="realtime:5s", b="0s"))
    limited = replace(FRESH, desired=DECLARED.having("rate-limit:a", 9.0))
    [said] = refusals(flowing, wish("rate-limit", "9/s", "a"))
    assert "Spark keeps to no rate limit in Real-Time Mode" in said
    assert refusals(limited, wish("trigger", "realtime:5s", "a")) == [said]
    for command in (wish("rate-limit", "none", "a"), wish("rate-limit", "9/s", "b")):
        _, events = hear(flowing, [command], 10.0, NARROW)
        assert [type(event) for event in events] == [CommandTaken]


def test_a_query_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert refusals(FRESH, wish("trigger", "0s", "c")) == ["there is no query 'c'; there are: a, b"]
    assert refusals(Knowledge(declared=scaled_to(2), desired=scaled_to(2)), wish("trigger", "0s")) == ["there is no query ''; there are: none"]


def test_what_the_plant_cannot_do_is_refused_with_what_would_change_that() -> None:
    local = replace(FRESH, last=blank_reading(9.0, unable={"executors": "use a cluster"}, queries=(ATTACHED,)))
    assert refusals(local, scale(3)) == ["use a cluster"]
    assert refusals(local, wish("trigger", "5s", "a")) == ["give restart=..."]
    after, _ = hear(local, [wish("rate-limit", "5/s", "a")], 10.0, NARROW)
    assert after.desired.of("rate-limit:a") == 5.0, "another knob of the same query can still be turned"


def test_a_release_ends_all_holds_and_leaves_the_values() -> None:
    held, _ = hear(FRESH, [scale(4), wish("trigger", "5s", "b")], 10.0, NARROW)
    knowledge, events = hear(held, [Release(at_s=1.0, who="ann")], 20.0, NARROW)
    assert knowledge == replace(held, holds=())
    assert events == [
        HoldEnded(at_s=20.0, knob="executors", value="4", how="released", who="ann"),
        HoldEnded(at_s=20.0, knob="trigger:b", value="5s", how="released", who="ann"),
    ]
    assert hear(knowledge, [Release(at_s=1.0, who="ann")], 30.0, NARROW) == (knowledge, [])


@pytest.mark.parametrize("number", [None, 7])
def test_an_approval_makes_the_proposed_configuration_the_desired_one(number: int | None) -> None:
    after, events = hear(OPEN, [Approve(at_s=10.0, who="ann", proposal=number)], 10.0, ASK)
    assert (after.desired, after.proposals.open, after.authors) == (scaled_to(5), None, {"executors": Author(decision_id=4, policy="thumb")})
    assert events[0] == ProposalEnded(at_s=10.0, policy="thumb", decision_id=4, proposal=7, how="approved", who="ann")
    assert isinstance(events[1], Decided) and (events[1].id, events[1].effect, events[1].decision) == (4, "approved", wants(5))


def test_an_approved_scale_down_is_the_policys_own() -> None:
    assert hear(proposing_instead(configuration=scaled_to(2)), [APPROVE], 10.0, ASK)[0].trust.own_scale_down_s == 10.0
    assert hear(OPEN, [APPROVE], 10.0, ASK)[0].trust.own_scale_down_s is None


def test_a_rejected_configuration_is_remembered_for_a_while() -> None:
    after, events = hear(OPEN, [REJECT], 10.0, terms("ask", ask_quiet_s=300.0, time_scale=0.1))
    assert events == [ProposalEnded(at_s=10.0, policy="thumb", decision_id=4, proposal=7, how="rejected", who="ann")]
    assert (after.desired, after.proposals) == (scaled_to(3), Proposals(rejected=(replace(PROPOSAL, expires_s=40.0),)))


def test_a_second_rejection_does_not_free_the_configuration_of_the_first() -> None:
    def rejected(knowledge: Knowledge, at_s: float, proposal: Proposal) -> Knowledge:
        return hear(replace(knowledge, proposals=replace(knowledge.proposals, open=proposal)), [REJECT], at_s, ASK)[0]

    both = rejected(rejected(OPEN, 10.0, PROPOSAL), 20.0, proposing(6, number=8))
    assert [quiet_for_s(both.proposals, rescaled(3, each), 30.0) for each in (4, 5, 6)] == [0.0, 580.0, 590.0]
    kept = rejected(both, 615.0, proposing(7, number=9, expires_s=1e4)).proposals.rejected
    assert [each.configuration.executors for each in kept] == [6, 7], "one whose time is over is forgotten"


def test_an_approved_scale_up_in_overload_is_watched_where_its_guards_were_on() -> None:
    overloaded = blank_reading(10.0, excess_lag_rows=10.0, throughput_rows_per_s=200.0)
    for guarded in (True, False):
        after, _ = hear(replace(proposing_instead(guarded=guarded), last=overloaded), [APPROVE], 10.0, ASK)
        assert after.effects.trial == (trying(3, 5, 200.0, since_s=10.0, decision_id=4) if guarded else None)


def test_an_answer_that_cannot_be_taken_is_refused_with_its_reason() -> None:
    held = replace(OPEN, holds=(Hold(knob="executors", value="3", who="bob", until_s=1e9),))
    later, over = replace(OPEN, proposals=Proposals(open=PROPOSAL, next_number=8)), knowing("ask", proposals=Proposals(next_number=8))
    assert refusals(later, Approve(at_s=10.0, who="ann", proposal=6), ASK) == ["it was answered, replaced or has expired; the open proposal is 7"]
    assert refusals(later, Reject(at_s=10.0, who="ann", proposal=8), ASK) == ["there was none of that number; the open proposal is 7"]
    assert refusals(over, Approve(at_s=10.0, who="ann", proposal=7), ASK) == ["it was answered, replaced or has expired; no proposal is open"]
    assert refusals(over, Reject(at_s=10.0, who="ann"), ASK) == ["no proposal is open"]
    assert refusals(OPEN, Approve(at_s=10.0, who="ann"), terms("observe")) == ["the mode is observe; proposals are made in ask"]
    assert refusals(held, APPROVE, ASK) == ["an operator holds executors; penstock release ends the hold"]
    assert refusals(OPEN, Resume(at_s=10.0, who="ann"), ASK) == ["it is not paused"]


def test_a_proposal_without_an_answer_expires() -> None:
    assert hear(OPEN, [], 599.0, ASK) == (OPEN, [])
    after, events = hear(OPEN, [], 600.0, ASK)
    assert events == [ProposalEnded(at_s=600.0, policy="thumb", decision_id=4, proposal=7, how="expired")]
    assert after.proposals.open is None
    late = hear(OPEN, [APPROVE], 600.0, ASK)
    assert late[0].desired.executors == 3 and isinstance(late[1][-1], CommandRefused)


def test_a_proposal_is_withdrawn_when_the_configuration_it_was_to_change_is_another_one() -> None:
    after, events = hear(proposing_instead(before=scaled_to(2)), [Approve(at_s=10.0, who="ann", proposal=7)], 10.0, ASK)
    assert events[0] == ProposalEnded(at_s=10.0, policy="thumb", decision_id=4, proposal=7, how="withdrawn")
    assert after.desired.executors == 3 and isinstance(events[1], CommandRefused), "who approved 2 -> 5 has not approved 3 -> 5"
    assert hear(OPEN, [APPROVE], 10.0, ASK)[0].desired.executors == 5


def test_a_proposal_about_executors_outlives_a_change_of_a_trigger_and_does_not_take_it_back() -> None:
    now = scaled_to(3, a="10s")
    before = replace(proposing_instead(before=now, configuration=scaled_to(5, a="10s")), declared=now, desired=now)
    turned, events = hear(before, [wish("trigger", "5s", "a")], 10.0, ASK)
    assert [type(event) for event in events] == [CommandTaken] and hear(turned, [], 20.0, ASK) == (turned, [])
    assert hear(turned, [APPROVE], 20.0, ASK)[0].desired == scaled_to(5, a="5s"), "what is approved is the change, not the trigger of back then"
    allowed, _ = follow_owner(replace(turned, last=blank_reading(19.0)), 20.0, terms("ask", quota_executors=4), "thumb")
    assert allowed.proposals.open is not None and allowed.proposals.open.configuration == scaled_to(4, a="5s")
    rejected = hear(turned, [REJECT], 20.0, ASK)[0].proposals
    assert [quiet_for_s(rejected, rescaled(3, executors), 30.0) for executors in (4, 5)] == [0.0, 590.0]


def test_an_approval_does_not_reach_beyond_what_the_owner_allows_by_then() -> None:
    after, events = hear(OPEN, [APPROVE], 10.0, terms("ask", quota_executors=4))
    assert after == OPEN, "the next turn proposes what is allowed"
    assert [each.reason for each in of(CommandRefused, events)] == ["[autopilot] does not allow it any more: 5 wanted, the quota is 4"]


def test_a_policy_that_is_resumed_goes_by_what_comes_from_then_on() -> None:
    """A pause may be long: what was seen and wanted before it must not give executors away in the first turn after it."""
    loads, earlier = {"": MeanLoad(count=700, mean_rows_per_s=10.0)}, (Recommended(at_s=1.0, configuration=scaled_to(1)),)
    paused = knowing("active", executors=6, paused=PAUSED, loads=loads, memory=OwnMemory(), earlier=earlier, analyze_from_s=9e9)
    resumed = hear(paused, [Resume(at_s=3600.0, who="ann")], 3600.0, terms())[0].schedule
    assert (resumed.loads, resumed.memory, resumed.analyze_from_s) == ({}, None, None)
    assert resumed.earlier[-1] == Recommended(at_s=3600.0, configuration=scaled_to(6))


def test_a_pause_lasts_until_its_time_or_until_somebody_resumes() -> None:
    paused, events = hear(OPEN, [Pause(at_s=10.0, who="ann", reason="release day")], 10.0, ASK)
    assert events == [PolicyPaused(at_s=10.0, who="ann", until_s=None, reason="release day")]
    assert paused.trust.paused == Paused(who="ann", since_s=10.0, until_s=None, reason="release day")
    resumed, events = hear(paused, [Resume(at_s=20.0, who="bob")], 20.0, ASK)
    assert events == [PolicyResumed(at_s=20.0, who="bob")]
    assert (resumed.trust.paused, resumed.schedule.next_s) == (None, None), "it decides at once"
    short, _ = hear(OPEN, [Pause(at_s=10.0, who="ann", hold_s=60.0)], 10.0, ASK)
    assert hear(short, [], 69.0, ASK) == (short, [])
    assert hear(short, [], 70.0, ASK)[1] == [PolicyResumed(at_s=70.0, who="penstock")]
