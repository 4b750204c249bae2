"""The policy is asked when it may, at the reading nearest to its time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from assessed import about, under
from planned import knowing, terms

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.events.autopilot import Decided
from penstock.core.knowledge.steering import Paused
from penstock.core.plan.plan import decide, has_come, is_due, predictions_of
from penstock.core.policies.daedalus import Daedalus
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
    """Else a policy would be asked in between, of models that nobody has looked at."""
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
