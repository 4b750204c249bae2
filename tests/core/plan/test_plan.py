from dataclasses import dataclass, replace

import pytest
from assessed import about, under
from changes import scaled_to
from planned import Fixed, Play, assessed, knowing, of, terms

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.command import Approve
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Candidate
from penstock.core.domain.events.autopilot_events import Decided, PhaseFailed, ProposalEnded, Proposed
from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.steering import Paused
from penstock.core.plan.plan import decide, has_come, is_due, predictions_of
from penstock.core.policies.daedalus import Daedalus
from penstock.core.report.explained import explained
from penstock.runtime.fakes import blank_reading

LAST = blank_reading(100.0)


@pytest.mark.parametrize(("mode", "due"), [("observe", False), ("shadow", True), ("ask", True), ("active", True)])
def test_a_policy_is_asked_in_every_mode_but_observe(mode: Mode, due: bool) -> None:
    assert is_due(knowing(mode, last=LAST), 100.0, terms(mode)) is due


def test_nothing_is_asked_without_a_reading_in_a_pause_or_where_executors_cannot_be_changed() -> None:
    assert not is_due(knowing(), 100.0, terms())
    assert not is_due(knowing(last=LAST, paused=Paused(who="ann", since_s=0.0, until_s=None)), 100.0, terms())
    assert not is_due(knowing(last=replace(LAST, unable={"executors": "local mode"})), 100.0, terms())


def test_what_failed_is_tried_again_at_the_reading_at_which_the_policy_is_asked_again() -> None:
    """Else a policy would be asked in between, with models that were not assessed."""
    for at_s in (100.0, 127.0, 127.5, 130.0):
        assert has_come(130.0, at_s, terms()) is is_due(knowing(last=LAST, next_s=130.0), at_s, terms())
    assert has_come(None, 0.0, terms())


def test_the_reading_nearest_to_the_time_of_the_next_decision_is_taken() -> None:
    knowledge = knowing(last=LAST, next_s=130.0)
    assert [is_due(knowledge, at_s, terms()) for at_s in (100.0, 125.0, 129.99, 130.0, 500.0)] == [False, False, True, True, True]


def test_in_shadow_the_configuration_that_runs_is_predicted_too_as_only_that_can_be_graded() -> None:
    seen = under(350.0, executors=6, latencies={executors: about(1.0) for executors in (4, 6)})
    decision = Daedalus().decide(seen)
    predicted = {mode: predictions_of(seen, decision, Daedalus(), knowing(mode, executors=6), terms(mode)) for mode in ("shadow", "active")}
    made, others = predicted["shadow"]
    assert decision.executors == 4 and {each.configuration.executors for each in made} == {4}
    assert [(each.kind, each.configuration.executors) for each in others] == [("latency", 4), ("capacity", 6), ("latency", 6)]
    assert [(each.kind, each.configuration.executors) for each in predicted["active"][1]] == [("latency", 4)]


def test_what_the_policy_predicts_stands_on_the_candidate_that_it_chose_and_all_bear_the_id_of_the_decision() -> None:
    seen = under(350.0, executors=6, latencies={4: about(1.0)})
    knowledge, (decided, *_) = decide(knowing(executors=6, next_id=7), seen, terms(), Daedalus())
    assert isinstance(decided, Decided) and decided.id == 7 and knowledge.predictions == decided.predictions
    assert [each.kind for each in decided.others] == ["latency"]
    assert [[each.kind for each in candidate.predictions] for candidate in decided.decision.candidates] == [[], [], [], ["capacity", "recovery"]]
    assert [(each.id, each.decision, each.policy) for each in decided.predictions] == [(f"decision 7.{number}", 7, "daedalus") for number in (1, 2, 3)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sure(Fixed):
    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        return (Prediction(kind="capacity", made_s=seen.at_s, value=5.0, low=5.0, high=5.0, configuration=configuration),)


def test_of_candidates_with_equal_executors_only_the_chosen_one_carries_the_predictions() -> None:
    now, wanted = scaled_to(3, a="10s"), scaled_to(4, a="1s")
    candidates = tuple(Candidate(configuration=each) for each in (scaled_to(4), wanted, scaled_to(4, a="10s")))
    policy = Sure(wanted=wanted, more={"candidates": candidates})
    knowledge, (decided, *_) = decide(replace(knowing(), desired=now), replace(assessed(), current=now), terms(), policy)
    assert isinstance(decided, Decided) and [len(each.predictions) for each in decided.decision.candidates] == [0, 1, 0]
    assert [each.id for each in knowledge.predictions] == ["decision 1.1"]


def test_a_decision_that_repeats_the_open_proposal_takes_it_over() -> None:
    play = Play(terms=terms("ask"))
    play.arrive(500.0)
    said = [*play.pass_s(65.0), *play.turn(Approve(at_s=0.0, who="ann")).events]
    (proposed,), (first, newest, approved), (ended,) = of(Proposed, said), of(Decided, said), of(ProposalEnded, said)
    assert (first.id, proposed.decision_id, newest.id, newest.effect) == (1, 1, 2, "proposed")
    assert (ended.decision_id, approved.id, approved.effect) == (2, 2, "approved")
    assert [each.decision for each in play.plant.performed] == [2]
    assert [type(each) for each in explained(newest, said, None, 0.0).afterwards] == [ProposalEnded, InstructionGiven]


@pytest.mark.parametrize(
    ("memory", "says"), [(None, None), (OwnMemory(), None), ({"steps": 2}, "TypeError: Decision.memory is a dict: a policy of your own remembers an OwnMemory")]
)
def test_a_memory_that_no_history_can_hold_fails_the_plan_with_what_to_use_instead(memory: object, says: str | None) -> None:
    knowledge, events = decide(knowing(), assessed(), terms(), Fixed(wanted=scaled_to(5), more={"memory": memory}))
    assert [event.error for event in of(PhaseFailed, events)] == ([] if says is None else [says])
    assert knowledge.desired == scaled_to(3 if says else 5)
