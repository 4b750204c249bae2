from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from changes import rescaled, scaled_to
from planned import DECLARED, LIMITS, Play, Thumb, late, of, terms

from penstock.core import loop
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.command import Approve, Pause, Resume, SetKnob
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import Decided, PhaseFailed, PolicyPaused, ProposalEnded, Proposed, RolledBack, ScalingIneffective
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.events.steering_events import CommandTaken, InstructionGiven
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.domain.reading import ExecutorReading, QueryReading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge, begin
from penstock.core.policies.choosing import decided, keep
from penstock.stores.codec import decode, encode_knowledge

ANN: Any = {"at_s": 0.0, "who": "ann"}


def test_an_active_policy_changes_the_executors_and_says_why() -> None:
    play = Play(terms=terms("active"))
    play.arrive(500.0)
    done = play.turn()
    assert [type(event) for event in done.events] == [Decided, InstructionGiven]
    made, given_ = done.events
    assert isinstance(made, Decided) and (made.effect, made.decision.executors, made.mode) == ("asked", 5, "active")
    assert isinstance(given_, InstructionGiven) and (given_.change, given_.reason) == (rescaled(3, 5), "decided by thumb")
    assert play.requested == [5] and play.plant.running == 5


def test_executors_are_not_decided_for_that_have_too_few_slots_for_tasks_that_never_end() -> None:
    """In Real-Time Mode: it would be refused by Spark, and tried again and again."""
    held = QueryReading(
        name="q", state="running", trigger=Trigger.parse("realtime:15s"), rate_limit_rows_per_s=None, slots_held=6, lag_rows=0.0, excess_lag_rows=0.0
    )
    executors = tuple(ExecutorReading(executor_id=each, host="h", slots=4, uptime_s=900.0) for each in "123")
    play = Play(terms=terms(), known={"arrival_rows_per_s": 100.0, "queries": (held,), "executors": executors})
    play.pass_s(60.0)
    assert play.requested == [2], "one would do for the load"


def test_in_shadow_nothing_is_instructed_and_its_timers_run() -> None:
    play = Play(terms=terms("shadow"))
    play.arrive(500.0)
    first = play.turn()
    play.arrive(200.0)
    said = play.pass_s(60.0)
    assert of(Decided, first.events)[0].effect == "shadow"
    assert [(each.decision.current.executors, each.decision.executors) for each in of(Decided, said)][:1] == [(5, 2)]
    assert (play.plant.performed, play.knowledge.desired) == ([], DECLARED)
    assert (play.knowledge.steered("shadow"), play.knowledge.schedule.rescaled_s) == (scaled_to(2), of(Decided, said)[0].at_s)


def test_only_an_approval_changes_what_is_desired_in_ask() -> None:
    play = Play(terms=terms("ask"))
    play.arrive(500.0)
    first = play.turn()
    assert [type(event) for event in first.events] == [Decided, Proposed]
    assert (play.knowledge.desired, play.plant.performed) == (DECLARED, [])
    assert of(NothingToDo, [play.turn().events[0]])[0].reason == "proposal 1 waits for an answer"
    approved = play.turn(Approve(**ANN))
    assert [type(event) for event in approved.events] == [ProposalEnded, Decided, InstructionGiven]
    assert play.requested == [5]


def test_a_proposal_waits_is_superseded_and_expires() -> None:
    play = Play(terms=terms("ask", ask_expiry_s=300.0))
    play.arrive(500.0)
    play.pass_s(100.0)
    assert play.knowledge.proposals.open is not None and play.knowledge.proposals.open.number == 1
    play.arrive(600.0)
    assert [each.how for each in of(ProposalEnded, play.pass_s(60.0))] == ["superseded"]
    play.policy = replace(Thumb(), period_s=1000.0)
    play.pass_s(60.0)
    assert [each.how for each in of(ProposalEnded, play.pass_s(300.0))] == ["expired"]
    assert play.plant.performed == []


def test_a_hold_beats_the_policy_until_it_ends() -> None:
    play = Play(terms=terms("active"))
    play.turn(SetKnob(knob="executors", value="2", hold_s=100.0, **ANN))
    play.arrive(600.0)
    said = play.pass_s(90.0)
    assert {each.effect for each in of(Decided, said)} == {"held"}
    assert play.requested == [2]
    play.pass_s(60.0)
    assert play.requested == [2, 6]


def test_a_pause_survives_a_restart() -> None:
    play = Play(terms=terms("active"))
    play.turn(Pause(reason="release day", **ANN))
    again = Play(terms=terms("active"), knowledge=begin(DECLARED, decode(Knowledge, encode_knowledge(play.knowledge)), LIMITS))
    again.arrive(700.0)
    assert {event.reason for event in of(NothingToDo, again.pass_s(600.0))} == {"paused by ann"}
    assert of(Decided, again.turn(Resume(**ANN)).events)[0].decision.executors == 7


class ByLoad(Thumb):
    """The same by the mean load since the last decision."""

    def decide(self, seen: Assessment) -> Decision:
        if seen.load_rows_per_s is None:
            return keep(seen, self.name, "not_ready")
        return decided(seen, self.name, round(seen.load_rows_per_s / 100), Comparison(code="smallest_that_holds"))


def test_the_first_decision_of_a_run_does_not_rest_on_the_load_of_the_run_before() -> None:
    policy = ByLoad(needs=frozenset({"load"}))
    play = Play(terms=terms("active"), policy=policy, known={"arrival_rows_per_s": 200.0})
    play.pass_s(20.0)
    assert play.requested == [2] and play.knowledge.schedule.loads[""].count > 0
    left = decode(Knowledge, encode_knowledge(play.knowledge))
    again = Play(terms=terms("active"), policy=policy, known={}, knowledge=begin(replace(DECLARED, executors=6), left, LIMITS))
    again.turn(waited_s=8 * 3600.0)
    assert again.requested == [] and again.knowledge.desired.executors == 6
    again.arrive(500.0)
    again.pass_s(60.0)
    assert again.requested == [5]


def test_ineffective_scaling_is_reverted_and_its_bottleneck_named() -> None:
    play = Play(terms=terms("active", guards="on"))
    play.known = {"arrival_rows_per_s": 600.0, "throughput_rows_per_s": 300.0, "excess_lag_rows": 5000.0}
    play.pass_s(Autopilot().settled_s + 30.0)
    found = of(ScalingIneffective, [event for done in play.turns for event in done.events])
    assert [(each.change, each.bottleneck.code) for each in found] == [(rescaled(3, 6), "unknown_bottleneck")]
    assert play.requested == [6, 3]
    play.pass_s(300.0)
    assert play.requested == [6, 3], "more is not tried again for a while"


def test_three_broken_promises_roll_back_to_more_executors() -> None:
    play = Play(terms=terms("active", latency_p95_s=2.0))
    play.known = {"arrival_rows_per_s": 100.0, "latency": late(1.0)}
    play.turn()
    assert play.requested == [1]
    for _ in range(3):
        play.known = {**play.known, "latency": late(3.0)}
        said = play.pass_s(100.0)
        play.known = {**play.known, "latency": late(1.0)}
        play.pass_s(20.0)
    assert [type(event) for event in said if isinstance(event, (RolledBack, PolicyPaused))] == [RolledBack, PolicyPaused]
    assert play.requested == [1, 3]
    assert of(Decided, play.pass_s(1800.0)) == [], "it is paused"
    assert play.requested == [1, 3]


def test_no_readings_roll_back() -> None:
    play = Play(terms=terms("active"))
    play.arrive(100.0)
    play.turn()
    play.turn()
    play.blind = True
    said = play.pass_s(200.0)
    assert [(each.reason, each.configuration.executors) for each in of(RolledBack, said)] == [("blind", 3)]
    assert of(Decided, said) == [], "nothing is decided from an old reading"


def test_a_policy_that_raises_does_not_lock_operators_out_and_is_rolled_back() -> None:
    play = Play(terms=terms("active"))
    play.arrive(100.0)
    play.turn()
    play.arrive(2000.0)
    said = play.pass_s(70.0)
    assert [(each.phase, each.in_a_row, each.error) for each in of(PhaseFailed, said)] == [("plan", n, "ValueError: no thumb is as long") for n in (1, 2)]
    assert of(CommandTaken, play.turn(SetKnob(knob="executors", value="4", **ANN)).events)
    assert play.plant.running == 4
    said = play.pass_s(60.0)
    assert [(each.reason, each.configuration.executors) for each in of(RolledBack, said)] == [("policy_fails", 4)]


def test_a_model_that_raises_is_said_once_a_period_and_forgets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("no rows")

    play = Play(terms=terms("shadow"))
    play.turn()
    before = play.knowledge.learnt
    monkeypatch.setattr(loop, "analyze", broken)
    said = play.pass_s(90.0)
    assert [(each.phase, each.in_a_row) for each in of(PhaseFailed, said)] == [("analyze", 1), ("analyze", 2), ("analyze", 3)]
    assert of(Decided, said) == [] and play.knowledge.learnt == before
    monkeypatch.undo()
    assert of(PhaseFailed, play.pass_s(90.0)) == []
    assert play.knowledge.trust.failed_in_a_row == 0


def test_models_that_cannot_be_looked_at_are_not_decided_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """The turn after a failed one may come a moment before its time."""

    def broken(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("no rows")

    play = Play(terms=terms("shadow"))
    monkeypatch.setattr(loop, "analyze", broken)
    said = [event for waited_s in (5.0, 28.0, 2.5, 27.0, 2.5) for event in play.turn(waited_s=waited_s).events]
    assert of(Decided, said) == [] and [each.in_a_row for each in of(PhaseFailed, said)] == [1, 2, 3]


def test_a_policy_that_calls_exit_fails_as_any_other() -> None:
    class Leaving(Thumb):
        def decide(self, seen: Assessment) -> Decision:
            raise SystemExit(2)

    said = Play(terms=terms("active"), policy=Leaving()).pass_s(30.0)
    assert [each.error for each in of(PhaseFailed, said)] == ["SystemExit: 2"]


def test_a_policy_that_cannot_be_made_fails_as_any_other() -> None:
    play = Play(terms=terms("active", policy="nobody"), policy=None)
    said = play.pass_s(240.0)
    assert [each.in_a_row for each in of(PhaseFailed, said)] == [1, 2, 3]
    assert [each.reason for each in of(RolledBack, said)] == ["policy_fails"]


def test_a_steady_state_is_a_fixed_point() -> None:
    play = Play(terms=terms("active"))
    play.pass_s(60.0)
    first = play.knowledge
    said = play.pass_s(600.0)
    timers: Any = {"decided_s": 0.0, "next_s": 0.0, "said_s": 0.0, "earlier": (), "memory": None, "last": None, "last_id": None, "next_id": 1}
    assert play.plant.performed == []
    untimed = [replace(each, last=None, schedule=replace(each.schedule, **timers)) for each in (play.knowledge, first)]
    assert untimed[0] == untimed[1]
    assert {event.reason for event in of(NothingToDo, said)} == {"thumb keeps 3"}, "words that are counted in one row"
    assert {(each.effect, each.decision.executors) for each in of(Decided, said)} == {("kept", 3)}


def test_what_is_only_kept_is_written_once_a_minute() -> None:
    play = Play(terms=terms("active"), policy=Thumb(period_s=5.0))
    at_s = [event.at_s for event in of(Decided, play.pass_s(300.0))]
    assert len(at_s) == 5 and all(later - earlier == pytest.approx(60.0) for earlier, later in pairwise(at_s))
    assert play.knowledge.schedule.memory == OwnMemory(numbers={"decisions": 60.0}), "decided it has every time"
