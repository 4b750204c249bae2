from dataclasses import replace
from typing import Any

from changes import changing, rescaled, scaled_to, scaling
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import Play

from penstock.core.config import Config
from penstock.core.domain.command import Release, SetKnob
from penstock.core.domain.events.executor_events import ExecutorsComplete, ExecutorsMissing
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.events.steering_events import CommandTaken, InstructionDone, InstructionGiven
from penstock.core.domain.job_spec import Limits
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge, begin
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Turn, turn
from penstock.stores.codec import encode

TERMS = Terms(limits=Limits(min_executors=1, max_executors=4))
DECLARED = scaled_to(2, a="5s", b="0s")
QUERIES = st.sampled_from([None, "a", "b", "c"])
SAID: Any = {"at_s": st.just(0.0), "who": st.sampled_from(["ann", "bob"]), "hold_s": st.none() | st.floats(0, 100)}
COMMANDS = st.one_of(
    st.builds(SetKnob, knob=st.just("executors"), value=st.integers(-1, 9).map(str), **SAID),
    st.builds(SetKnob, knob=st.just("trigger"), value=st.sampled_from(["0s", "1s", "5s"]), query=QUERIES, **SAID),
    st.builds(SetKnob, knob=st.just("rate-limit"), value=st.just("none") | st.integers(-5, 5000).map(str), query=QUERIES, **SAID),
    st.builds(SetKnob, knob=st.just("partitions"), value=st.integers(-1, 8).map(str), query=QUERIES, **SAID),
    st.builds(Release, **SAID),
)
MOMENTS = st.tuples(
    st.floats(0.5, 200.0), st.lists(COMMANDS, max_size=2), st.booleans(), st.sampled_from([None, None, "it broke"]), st.booleans(), st.booleans()
)  # seconds passed, commands, whether work goes on, why it fails, whether executors come, whether one comes that was not requested
STORIES = st.lists(MOMENTS, min_size=1, max_size=12)


class Job(Play):
    """A job with two queries under no policy; readings say nothing but executors."""

    def __init__(self) -> None:
        super().__init__(terms=TERMS, policy=None, known={}, knowledge=begin(DECLARED, None, TERMS.limits))

    def tell(self, story: list[Any]) -> None:
        for waited_s, commands, working, refusal, arriving, surplus in story:
            self.plant.slow, self.plant.refusal, self.plant.arriving = not working, refusal, arriving
            if working:
                self.plant.finish()
            self.plant.running += surplus
            self.turn(*commands, waited_s=waited_s)


def scale(executors: int) -> SetKnob:
    return wish("executors", str(executors))


def wish(knob: str, value: str, query: str | None = None) -> SetKnob:
    return SetKnob(at_s=0.0, who="ann", knob=knob, value=value, query=query)


def kinds(done: Turn) -> list[str]:
    return [type(event).__name__ for event in done.events]


def test_a_steady_state_is_a_fixed_point() -> None:
    play = Job()
    first = play.turn()
    for _ in range(3):
        done = play.turn()
        assert done.instructions == ()
        assert done.events == (NothingToDo(at_s=play.clock.now_s()),)
        assert replace(done.knowledge, last=None) == replace(first.knowledge, last=None)


@given(STORIES)
@settings(max_examples=60, deadline=None)
def test_whatever_happened_the_loop_comes_to_rest_when_left_alone(story: list[Any]) -> None:
    play = Job()
    play.tell(story)
    play.plant.slow, play.plant.refusal, play.plant.arriving = False, None, True
    play.plant.finish()
    for _ in range(4):
        play.turn(waited_s=4000.0)
        play.plant.running = play.plant.executors
    assert play.plant.running == play.knowledge.desired.executors
    for name, query in play.plant.queries.items():
        assert query.trigger == play.knowledge.desired.queries[name].trigger
    assert play.turn().events == (NothingToDo(at_s=play.clock.now_s()),)


@given(STORIES)
@settings(max_examples=60, deadline=None)
def test_whatever_operators_say_the_limits_hold_at_most_one_instruction_a_target_is_under_way_and_no_number_comes_twice(story: list[Any]) -> None:
    play = Job()
    play.tell(story)
    for done in play.turns:
        assert TERMS.limits.min_executors <= done.knowledge.desired.executors <= TERMS.limits.max_executors
        assert all(TERMS.limits.min_executors <= each.change.executors[1] <= TERMS.limits.max_executors for each in done.instructions if each.change.executors)
        targets = [target for pending in done.knowledge.pending for target in pending.instruction.targets]
        assert len(targets) == len(set(targets))
    numbers = [each.number for done in play.turns for each in done.instructions]
    assert numbers == list(range(1, len(numbers) + 1))


@given(STORIES)
@settings(max_examples=40, deadline=None)
def test_a_replay_gives_the_same_turns_byte_for_byte(story: list[Any]) -> None:
    play = Job()
    play.tell(story)
    knowledge = begin(DECLARED, None, TERMS.limits)
    for inputs, before in zip(play.inputs, play.turns, strict=True):
        again = turn(knowledge, inputs, TERMS)
        assert encode(again) == encode(before)
        knowledge = again.knowledge


@given(STORIES)
@settings(max_examples=40, deadline=None)
def test_a_turn_leaves_what_it_was_given_as_it_was(story: list[Any]) -> None:
    play = Job()
    knowledge: Knowledge = play.knowledge
    for moment in story:
        before, declared = encode(knowledge), encode(DECLARED)
        play.tell([moment])
        inputs = encode(play.inputs[-1])
        turn(knowledge, play.inputs[-1], TERMS)
        assert (encode(knowledge), encode(DECLARED), encode(play.inputs[-1])) == (before, declared, inputs)
        knowledge = play.knowledge


def test_a_command_is_taken_carried_out_and_reported() -> None:
    play = Job()
    play.turn()
    taken = play.turn(scale(4))
    assert taken.events == (
        CommandTaken(at_s=play.clock.now_s(), who="ann", knob="executors", value="4", held_until_s=play.clock.now_s() + TERMS.config.hold_s),
        InstructionGiven(at_s=play.clock.now_s(), number=1, knob="executors", change=rescaled(2, 4), reason="held by ann"),
    )
    assert taken.instructions == (scaling(1, 2, 4),)
    assert play.turn().events == (InstructionDone(at_s=play.clock.now_s(), number=1, knob="executors", took_s=0.0, delayed_rows=None),)
    assert kinds(play.turn()) == ["NothingToDo"]


def test_while_an_instruction_is_under_way_the_turn_says_what_it_waits_for() -> None:
    play = Job()
    play.plant.slow = True
    play.turn(scale(3))
    assert play.turn().events == (NothingToDo(at_s=play.clock.now_s(), reason="waiting for executors"),)


def test_a_wish_that_came_while_an_earlier_one_was_carried_out_is_next() -> None:
    play = Job()
    play.plant.slow = True
    play.turn(scale(3))
    play.turn(scale(4))
    play.plant.slow = False
    play.plant.finish()
    assert play.turn().instructions == (scaling(2, 3, 4),)


def test_what_failed_is_said_and_not_asked_for_again() -> None:
    play = Job()
    play.plant.refusal = "no more machines"
    play.turn(scale(4), wish("trigger", "1s", "a"))
    assert kinds(play.turn()) == ["InstructionFailed", "HoldEnded", "InstructionFailed", "HoldEnded"]
    assert [kinds(play.turn()) for _ in range(5)] == [["NothingToDo"]] * 5
    assert play.knowledge.desired == DECLARED and play.knowledge.holds == ()
    assert len(play.plant.performed) == 2


def test_executors_that_were_not_requested_are_removed() -> None:
    play = Job()
    play.plant.running = 4
    (given,) = play.turn().events
    assert given == InstructionGiven(at_s=play.clock.now_s(), number=1, knob="executors", change=rescaled(4, 2), reason="desired state", repeats=True)
    assert (play.plant.executors, play.plant.running) == (2, 2)
    assert [kinds(play.turn()) for _ in range(2)] == [["InstructionDone"], ["NothingToDo"]]


def test_executors_that_could_not_be_let_go_are_left_until_there_are_more_or_somebody_speaks() -> None:
    play = Job()
    play.plant.running, play.plant.refusal = 3, "they will not go"
    assert [kinds(play.turn()) for _ in range(4)] == [["InstructionGiven"], ["InstructionFailed"], ["NothingToDo"], ["NothingToDo"]]
    play.plant.running = 4
    assert [kinds(play.turn()) for _ in range(3)] == [["InstructionGiven"], ["InstructionFailed"], ["NothingToDo"]]
    assert kinds(play.turn(scale(2))) == ["CommandTaken", "InstructionGiven"]
    play.turn()
    play.plant.running = 2
    play.turn()
    play.plant.running, play.plant.refusal = 3, None
    assert kinds(play.turn()) == ["InstructionGiven"], "those that went are forgotten"


def test_partitions_that_were_changed_are_not_asked_for_again_before_a_commit_shows_them() -> None:
    play = Job()
    play.turn(wish("partitions", "8", "a"))
    play.plant.queries["a"] = replace(play.plant.queries["a"], partitions=4)
    assert kinds(play.turn()) == ["InstructionDone"]
    assert [kinds(play.turn()) for _ in range(3)] == [["NothingToDo"]] * 3
    assert play.plant.performed == [changing(1, "a", partitions=(4, 8))]


def test_executors_that_do_not_come_are_reported_once_and_once_more_when_all_are_there() -> None:
    play = Job()
    play.plant.arriving = False
    play.turn(scale(4))
    said = [event for _ in range(60) for event in play.turn().events if not isinstance(event, NothingToDo)]
    assert [type(event) for event in said] == [ExecutorsMissing]
    play.plant.running = 4
    assert play.turn().events == (ExecutorsComplete(at_s=play.clock.now_s(), running=4),)
    assert kinds(play.turn()) == ["NothingToDo"]


def test_an_executor_lost_for_good_is_reported_once_after_the_time_out() -> None:
    play = Job()
    play.turn()
    play.plant.running = 1
    events = [event for _ in range(60) for event in play.turn().events if not isinstance(event, NothingToDo)]
    assert [(type(event), getattr(event, "waited_s", None)) for event in events] == [(ExecutorsMissing, Config().executors_timeout_s)]


def test_without_a_reading_nothing_is_asked_for() -> None:
    knowledge = replace(begin(DECLARED, None, TERMS.limits), desired=replace(DECLARED, executors=4))
    done = turn(knowledge, Inputs(at_s=1.0), TERMS)
    assert done.instructions == () and kinds(done) == ["NothingToDo"]
