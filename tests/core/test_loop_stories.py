from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from planned import DECLARED, LIMITS, Play, Thumb, late, terms

from penstock.core.domain.command import Approve, Pause, Reject, Release, Resume, SetKnob
from penstock.core.domain.events.autopilot_events import AutopilotEvent
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.execute.reconcile import execute
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge, begin
from penstock.core.loop import Turn, turn
from penstock.core.monitor.outcomes import take_outcomes
from penstock.core.plan.operators import hear
from penstock.stores.codec import decode, encode

SAID: Any = {"at_s": st.just(0.0), "who": st.sampled_from(["ann", "bob"]), "hold_s": st.none() | st.floats(0, 100)}
COMMANDS = st.one_of(
    st.builds(SetKnob, knob=st.just("executors"), value=st.integers(0, 9).map(str), **SAID),
    st.builds(Release, **SAID),
    st.builds(Approve, proposal=st.none() | st.integers(1, 3), **SAID),
    st.builds(Reject, proposal=st.none() | st.integers(1, 3), **SAID),
    st.builds(Pause, **SAID),
    st.builds(Resume, **SAID),
)
MODES = st.sampled_from(["observe", "shadow", "ask", "active"])
MOMENTS = st.tuples(
    st.floats(1.0, 200.0),
    st.floats(0.0, 1200.0),
    st.lists(COMMANDS, max_size=2),
    MODES,
    st.booleans(),
    st.sampled_from([None, None, "it broke"]),
    st.booleans(),
)  # seconds passed, rows/s (beyond 1,000 the policy raises), commands, mode, whether work goes on, why it fails, whether a reading comes
STORIES = st.lists(MOMENTS, min_size=1, max_size=15)


def played(story: list[Any]) -> Play:
    play = Play(terms=terms("observe"))
    for waited_s, rows_per_s, commands, mode, working, refusal, seeing in story:
        play.terms = terms(mode, latency_p95_s=2.0, guards="on")
        play.known = {"arrival_rows_per_s": rows_per_s, "throughput_rows_per_s": 100.0, "excess_lag_rows": 5 * rows_per_s, "latency": late(1.0)}
        play.plant.slow, play.plant.refusal, play.blind = not working, refusal, not seeing
        if working:
            play.plant.finish()
        play.turn(*commands, waited_s=waited_s)
    return play


@given(STORIES)
@settings(max_examples=30, deadline=None)
def test_the_same_inputs_give_the_same_turns_byte_for_byte(story: list[Any]) -> None:
    play = played(story)
    knowledge: Knowledge = begin(DECLARED, None, LIMITS)
    for moment, inputs, before in zip(story, play.inputs, play.turns, strict=True):
        again = turn(knowledge, inputs, terms(moment[3], latency_p95_s=2.0, guards="on"), Thumb())
        assert encode(again) == encode(before)
        knowledge = again.knowledge
        assert decode(Knowledge, encode(knowledge)) == knowledge


@given(STORIES)
@settings(max_examples=30, deadline=None)
def test_whatever_happens_the_executors_stay_within_the_limits_and_no_operator_is_overruled(story: list[Any]) -> None:
    play = played(story)
    before = DECLARED.executors
    for (_, _, commands, mode, *_), done in zip(story, play.turns, strict=True):
        now = done.knowledge.desired.executors
        assert LIMITS.min_executors <= now <= LIMITS.max_executors
        if mode in ("observe", "shadow") and not commands and not failed(done):
            assert now == before, "who only watches changes nothing"
        if any(hold.knob == "executors" for hold in done.knowledge.holds):
            assert str(now) in [hold.value for hold in done.knowledge.holds]
        before = now


@given(STORIES)
@settings(max_examples=30, deadline=None)
def test_all_that_the_autopilot_says_names_the_policy_unless_it_only_observes(story: list[Any]) -> None:
    for moment, done in zip(story, played(story).turns, strict=True):
        names = {event.policy for event in done.events if isinstance(event, AutopilotEvent)}
        assert names <= ({"thumb", ""} if moment[3] == "observe" else {"thumb"}), "a proposal that ends with its mode is the policy's all the same"


def failed(done: Turn) -> bool:
    return any(type(event).__name__ in ("InstructionFailed", "HoldEnded") for event in done.events)


@given(STORIES)
@settings(max_examples=20, deadline=None)
def test_in_observe_a_turn_is_what_it_was_before_there_were_policies(story: list[Any]) -> None:
    quiet = [(*moment[:2], [each for each in moment[2] if isinstance(each, (SetKnob, Release))], "observe", *moment[4:]) for moment in story]
    play = played(quiet)
    knowledge = begin(DECLARED, None, LIMITS)
    for inputs, done in zip(play.inputs, play.turns, strict=True):
        old = as_it_was(knowledge, inputs)
        assert encode(done) == encode(old)
        knowledge = old.knowledge


def as_it_was(knowledge: Knowledge, inputs: Inputs) -> Turn:
    """A turn by execute alone."""
    under, at_s = terms("observe"), inputs.at_s
    knowledge = knowledge if inputs.reading is None else replace(knowledge, last=inputs.reading)
    knowledge, done = take_outcomes(knowledge, inputs.outcomes, at_s)
    knowledge, said = hear(knowledge, inputs.commands, at_s, under)
    knowledge, instructions, given_ = execute(knowledge, at_s, under.config)
    events: list[Event] = [*done, *said, *given_]
    waiting = ", ".join(pending.instruction.target for pending in knowledge.pending)
    rest = NothingToDo(at_s=at_s, reason=f"waiting for {waiting}" if waiting else "as desired")
    return Turn(knowledge=knowledge, instructions=tuple(instructions), events=tuple(events or [rest]))
