from dataclasses import dataclass, replace
from typing import Any

import pytest
from assessed import NOW_S, about, expecting
from changes import rescaled, scaled_to
from planned import Thumb, knowing, of, terms
from steady_job import TERMS, Analysed, SteadyJob
from worlds import table_of

from penstock.core.analyze.grading import grade
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import Decided, Graded, Recovered
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.steering import Applied
from penstock.core.plan.plan import decide
from penstock.core.policies.auto import Auto
from penstock.core.policies.choosing import candidate, decided
from penstock.core.policies.daedalus import Daedalus
from penstock.runtime.fakes import blank_reading

EXECUTORS = range(1, 13)
BY_PROFILE = {executors: about(150.0 * executors) for executors in EXECUTORS}
PROFILED = expecting(
    500.0, [500.0] * 15, promises=Promises(latency_p95_s=5.0, recovery_s=600.0), t_max=BY_PROFILE,
    table=table_of(EXECUTORS, tuple(150.0 * each for each in EXECUTORS), 50.0), downtimes_s={"query_restart": 20.0, "rescale_up": 20.0, "rescale_down": 20.0},
)  # fmt: skip
"""A regression says 100 rows/s for an executor, its profile 150."""


def decision(seen: Assessment, policy: Policy) -> tuple[Knowledge, Decided]:
    knowledge, said = decide(knowing(executors=4, last=seen.reading), seen, terms(), policy)
    return knowledge, of(Decided, said)[0]


def made(kind: str, among: Any) -> list[Prediction]:
    return [each for each in among if each.kind == kind]


def test_under_auto_phoebe_the_capacity_that_is_graded_is_the_one_of_its_profile() -> None:
    knowledge, said = decision(PROFILED, Auto())
    (capacity,) = made("capacity", knowledge.predictions)
    chosen = said.decision.executors
    assert said.policy == capacity.policy == "auto:phoebe"
    assert (capacity.value, capacity.decision) == (150.0 * chosen, said.id) and said.capacity_rows_per_s == 150.0 * chosen
    overloaded = blank_reading(
        NOW_S + 60.0, executors_running=chosen, executors_requested=chosen, uptime_s=3600.0, throughput_rows_per_s=140.0 * chosen, excess_lag_rows=1e6
    )
    after, events = grade(replace(knowledge, last=overloaded), overloaded.at_s, terms(), overloaded)
    (graded,) = (each for each in of(Graded, events) if each.kind == "capacity")
    assert (graded.prediction, graded.decision_id, graded.policy) == (capacity.id, said.id, "auto:phoebe")
    assert (graded.predicted, graded.actual) == (150.0 * chosen, 140.0 * chosen)
    assert list(after.trust.errors) == pytest.approx([1 / 14]), "not the half by which the regression is off"


def test_under_daedalus_it_is_the_one_of_its_regression() -> None:
    knowledge, said = decision(PROFILED, Daedalus())
    assert [each.value for each in made("capacity", knowledge.predictions)] == [100.0 * said.decision.executors]


def test_the_chosen_candidate_carries_the_predictions_that_are_graded() -> None:
    knowledge, said = decision(PROFILED, Auto())
    carried = [each.predictions for each in said.decision.candidates if each.predictions]
    assert [{each.kind for each in of_one} for of_one in carried] == [{"capacity", "recovery_bound", "latency"}]
    assert knowledge.predictions == said.predictions == (*said.others, *carried[0])
    assert {each.kind for each in said.others} == {"forecast"}


def test_a_policy_without_models_is_graded_by_the_load_alone() -> None:
    knowledge, _ = decision(PROFILED, Steadfast())
    assert {each.kind for each in knowledge.predictions} == {"forecast"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Steadfast(Thumb):
    def decide(self, seen: Assessment) -> Decision:
        return decided(seen, self.name, 5, Comparison(code="smallest_that_holds"), [candidate(5)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Six(Daedalus):
    """Daedalus, but that it wants six executors."""

    def decide(self, seen: Assessment) -> Decision:
        return decided(seen, self.name, 6, Comparison(code="smallest_that_holds"), [candidate(6)])


def test_both_the_transition_and_the_failure_of_a_live_rescale_are_graded_when_they_end() -> None:
    promised = replace(TERMS, promises=Promises(recovery_s=600.0), autopilot=Autopilot(mode="active", downtime_s=30.0))
    watched = Analysed(SteadyJob(load=lambda at_s: 3000.0), promised)
    watched.turns(40)
    watched.job.lag += 30_000.0
    watched.turn()
    live = replace(watched.seen(), stops=frozenset())
    watched.knowledge, said = decide(watched.knowledge, live, watched.terms, Six())
    (decided_,) = of(Decided, said)
    (transition,), (bound,) = made("recovery", decided_.predictions), made("recovery_bound", decided_.predictions)
    assert (transition.about, bound.about) == ("rescale_up", "query_restart") and not transition.cause and not bound.cause

    applied = Applied(number=1, decision_id=decided_.id, change=rescaled(4, 6), at_s=watched.job.at_s)
    watched.knowledge = replace(watched.knowledge, applied=(applied,))
    watched.job.executors, watched.job.disturbed_s = 6, watched.job.at_s
    watched.turns(20)
    assert [(each.kind, each.decision_id) for each in watched.said(Recovered)] == [("rescale_up", decided_.id)]
    assert [each.prediction for each in watched.said(Graded) if each.kind == "recovery"] == [transition.id]
    assert not [each for each in watched.said(Graded) if each.kind == "recovery_bound"], "nothing has failed yet"

    watched.job.fail()
    watched.turns(30)
    assert [each.kind for each in watched.said(Recovered)] == ["rescale_up", "query_restart"]
    (graded,) = (each for each in watched.said(Graded) if each.kind == "recovery_bound")
    assert (graded.prediction, graded.decision_id, graded.predicted) == (bound.id, decided_.id, bound.value)
    assert graded.actual == watched.said(Recovered)[-1].took_s


def test_less_than_a_bound_is_no_error() -> None:
    bound = Graded(at_s=9.0, kind="recovery_bound", about="", made_s=0.0, predicted=90.0, low=0.0, high=90.0, actual=30.0, configuration=scaled_to(6))
    assert bound.error == 0.0 and replace(bound, actual=180.0).error == 0.5 and replace(bound, kind="recovery").error == 2.0
