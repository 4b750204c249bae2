import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from changes import changing, rescaled, scaled_to, scaling
from planned import Fixed, Play, of, terms

from penstock.core.domain.command import Approve, Reject, SetKnob
from penstock.core.domain.configuration import Change, Configuration
from penstock.core.domain.events.autopilot_events import Decided, PhaseFailed, ProposalEnded, Proposed, RolledBack
from penstock.core.domain.events.steering_events import InstructionDone, InstructionGiven
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.knowledge import Knowledge

ANN: Any = {"at_s": 0.0, "who": "ann"}
SLOW, FAST = Trigger(interval_s=10.0), Trigger(interval_s=1.0)
FLOWING, QUICKER = Trigger.parse("realtime:60s"), Trigger.parse("realtime:30s")


def job(before: Configuration, wanted: Configuration, mode: Any = "active", **autopilot: Any) -> Play:
    """At work, and slow to do what it is asked."""
    known = {"arrival_rows_per_s": 300.0, "throughput_rows_per_s": 300.0}
    play = Play(terms=terms(mode, **autopilot), policy=Fixed(wanted=wanted), known=known, knowledge=Knowledge(declared=before, desired=before))
    play.plant.slow = True
    return play


def costs_s(play: Play) -> dict[str, float]:
    return {kind: round(math.exp(seen.mean), 3) for kind, seen in play.knowledge.learnt.downtimes.learnt.items()}


def test_all_instructions_of_a_decision_carry_its_id_to_their_outcomes() -> None:
    play = job(scaled_to(3, a="10s", b="10s"), scaled_to(4, a="1s"))
    done = play.turn()
    (decided,) = of(Decided, done.events)
    assert decided.words() == "thumb: executors 3 -> 4, trigger:a 10s -> 1s, the fewest executors that hold (instructed)"
    assert done.instructions == (scaling(1, 3, 4, decision=decided.id), changing(2, "a", decision=decided.id, trigger=(SLOW, FAST)))
    play.plant.finish()
    ended = of(InstructionDone, play.turn().events)
    assert [(each.number, each.decision_id) for each in (*of(InstructionGiven, done.events), *ended)] == [(n, decided.id) for n in (1, 2, 1, 2)]


def test_each_change_is_charged_its_own_downtime_when_its_outcome_comes() -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(4, a="1s"))
    play.turn()
    play.outcomes.append(Outcome(number=2, done=True, took_s=8.0, down_s=2.0))
    play.turn()
    assert costs_s(play) == {"reconfiguration": 2.0}
    play.outcomes.append(Outcome(number=1, done=True, took_s=5.0))
    play.turn()
    assert costs_s(play) == {"reconfiguration": 2.0, "rescale_up": 5.0}
    assert play.knowledge.learnt.live == ("rescale_up",), "a rescale that stopped nothing"


def test_in_real_time_mode_a_shrink_and_a_trigger_are_one_stop_and_start() -> None:
    play = job(scaled_to(3, a="realtime:60s", b="10s"), scaled_to(2, a="realtime:30s", b="1s"))
    done = play.turn()
    moved = Change(moves=(*rescaled(3, 2).moves, *changing(1, "a", trigger=(FLOWING, QUICKER)).change.moves))
    assert [each.change for each in done.instructions] == [moved, changing(2, "b", trigger=(SLOW, FAST)).change], "b is in micro-batches"
    assert [each.target for each in done.instructions] == ["executors, query:a", "query:b"]
    assert {each.decision for each in done.instructions} == {1}
    play.outcomes.append(Outcome(number=1, done=True, took_s=20.0, down_s=12.0))
    play.turn()
    assert costs_s(play) == {"rescale_down": 12.0}, "the trigger was set within the same stop"


def test_in_real_time_mode_more_executors_wait_for_no_stop() -> None:
    play = job(scaled_to(3, a="realtime:60s"), scaled_to(4, a="realtime:30s"))
    assert [each.target for each in play.turn().instructions] == ["executors", "query:a"]


def test_a_proposal_of_several_knobs_is_approved_as_a_whole() -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(4, a="1s"), "ask")
    (proposed,) = of(Proposed, play.turn().events)
    assert proposed.change.words() == "executors 3 -> 4, trigger:a 10s -> 1s" and proposed.decision_id == 1
    assert {each.decision for each in play.turn(Approve(**ANN)).instructions} == {1}
    assert play.knowledge.desired == scaled_to(4, a="1s")


def test_a_knob_that_is_held_holds_the_whole_decision() -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(4, a="1s"))
    done = play.turn(SetKnob(knob="trigger", value="10s", hold_s=20.0, **ANN))
    assert [each.effect for each in of(Decided, done.events)] == ["held"] and done.instructions == ()


TO_EIGHT = scaled_to(3, a="10s").having("partitions:a", 8)


@pytest.mark.parametrize(("wanted", "words"), [(scaled_to(2, a="1s"), "executors 2 -> 3, trigger:a 1s -> 10s"), (TO_EIGHT, "partitions:a 8 -> 4")])
def test_a_roll_back_undoes_all_that_the_policy_decided_and_restores_partitions_which_nothing_declares(wanted: Configuration, words: str) -> None:
    play = job(scaled_to(3, a="10s"), wanted)
    play.plant.slow = False
    assert [each.effect for each in of(Decided, play.pass_s(60.0))] == ["asked", "kept"] and wanted.holds_in(play.plant.read().configuration)
    play.blind = True
    (said,) = of(RolledBack, play.pass_s(150.0))
    assert (said.decision_id, said.words()) == (1, f"thumb was rolled back, {words}: no reading came for 120 s")
    play.blind = False
    play.pass_s(10.0)
    assert (play.plant.executors, play.plant.queries["a"].trigger, play.plant.queries["a"].partitions) == (3, SLOW, 4)


@pytest.mark.parametrize(("wanted", "left"), [(scaled_to(8, a="1s"), scaled_to(4, a="1s")), (scaled_to(1, a="1s"), scaled_to(2, a="1s"))])
def test_guards_bound_the_executors_and_leave_the_other_knobs(wanted: Configuration, left: Configuration) -> None:
    play = job(scaled_to(3, a="10s"), wanted, max_step=1)
    (decided,) = of(Decided, play.turn().events)
    assert decided.decision.configuration == left == replace(wanted, executors=left.executors)


@pytest.mark.parametrize(("wanted", "effect", "targets"), [(scaled_to(3, a="1s"), "guarded", []), (scaled_to(4, a="1s"), "asked", ["executors"])])
def test_a_knob_that_cannot_be_set_is_guarded_and_not_instructed(wanted: Configuration, effect: str, targets: list[str]) -> None:
    play = job(scaled_to(3, a="10s"), wanted)
    play.plant.queries["a"] = replace(play.plant.queries["a"], unable={"trigger": "give restart=..."})
    done = play.turn()
    (decided,) = of(Decided, done.events)
    assert (decided.effect, [(guard.code, guard.words()) for guard in decided.decision.guards]) == (
        effect,
        [("unable", "trigger:a cannot be set: give restart=...")],
    )
    assert play.knowledge.desired.of("trigger:a") == SLOW and [each.target for each in done.instructions] == targets


@pytest.mark.parametrize(("knobs", "moved"), [(["executors"], []), (["executors", "trigger"], ["trigger:a"])])
def test_where_executors_are_fixed_only_a_policy_of_other_knobs_is_asked(knobs: list[str], moved: list[str]) -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(4, a="1s"))
    play.policy, play.known = replace(play.policy, knobs=frozenset(knobs)), {**play.known, "unable": {"executors": "local mode"}}
    done = play.turn()
    assert [[move.address for move in each.decision.change.moves] for each in of(Decided, done.events)] == ([moved] if moved else [])
    assert [move.address for each in done.instructions for move in each.change.moves] == moved


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (scaled_to(3, a="10s").having("rate-limit:a", -5.0), "rate-limit:a -5/s: a limit above 0"),
        (scaled_to(3, a="realtime:60s").having("rate-limit:a", 5.0), "no rate limit in Real-Time Mode"),
        (replace(scaled_to(3), executors=4.5), "a whole number is allowed"),
    ],
)
def test_a_decision_out_of_the_bounds_of_a_knob_is_a_failure_of_its_policy(wanted: Configuration, why: str) -> None:
    play = job(scaled_to(3, a="10s"), wanted)
    done = play.turn()
    (failed,) = of(PhaseFailed, done.events)
    assert why in failed.error and not done.instructions and not of(Decided, done.events)


def test_a_decision_may_count_executors_in_any_whole_number() -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(np.int64(4), a="10s"))
    assert [each.target for each in play.turn().instructions] == ["executors"] and type(play.knowledge.desired.executors) is int


def test_a_decision_of_more_knobs_than_the_open_proposal_replaces_it() -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(4, a="10s"), "ask")
    play.turn()
    play.policy = replace(play.policy, wanted=scaled_to(4, a="1s"))
    play.pass_s(70.0)
    proposal = play.knowledge.proposals.open
    assert proposal is not None and proposal.change.words() == "executors 3 -> 4, trigger:a 10s -> 1s"
    play.turn(Reject(**ANN))
    assert play.knowledge.proposals.rejected[-1].wants(proposal.change) and not play.knowledge.proposals.rejected[-1].wants(rescaled(3, 4))


def test_a_policy_that_takes_over_withdraws_the_proposal_of_the_other() -> None:
    play = job(scaled_to(3, a="10s"), scaled_to(4), "ask")
    play.turn()
    play.policy = Fixed(name="other", wanted=scaled_to(4))
    ended = of(ProposalEnded, play.turn().events)
    assert [each.how for each in ended] == ["withdrawn"] and play.knowledge.proposals.open is not None and play.knowledge.proposals.open.policy == "other"
