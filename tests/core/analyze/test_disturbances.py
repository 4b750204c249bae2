"""Rescales are charged what they took; failures are noticed, predicted, measured and learnt from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.disturbances import failure_in
from penstock.core.domain.events.autopilot import Graded, Recovered
from penstock.core.domain.instruction import Outcome
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import recovery_s
from penstock.runtime.fakes import blank_reading

NEEDS: frozenset[Need] = frozenset({"load", "capacity"})


def told(downtime_s: float) -> Analysed:
    """A job at half of its capacity whose owner knows the downtime, long enough for everything to be learnt."""
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=downtime_s))
    analysed = Analysed(SteadyJob(downtime_s=downtime_s), terms, NEEDS)
    analysed.turns(40)
    return analysed


def downtime(analysed: Analysed, kind: str) -> float:
    return analysed.seen().downtimes_s[kind]


@pytest.mark.parametrize("downtime_s", [20.0, 60.0])
def test_a_rescale_is_charged_what_it_took(downtime_s: float) -> None:
    analysed = Analysed(SteadyJob(downtime_s=downtime_s), needs=NEEDS)
    analysed.turns(20)
    analysed.rescale(6)
    analysed.turn(outcomes=(Outcome(number=1, done=True, took_s=90.0, down_s=downtime_s),))
    estimate = analysed.knowledge.learnt.downtimes.predict("rescale_up")
    assert isinstance(estimate, Estimate) and min(30.0, downtime_s) < estimate.value < max(30.0, downtime_s)
    assert analysed.seen().stops == {"rescale_up", "rescale_down"}
    assert downtime(analysed, "rescale_down") == pytest.approx(15.0)


def test_a_rescale_that_does_not_stop_the_job_takes_its_time_and_is_live() -> None:
    analysed = Analysed(SteadyJob(), needs=NEEDS)
    analysed.turns(5)
    analysed.rescale(6)
    analysed.turn(outcomes=(Outcome(number=1, done=True, took_s=5.0, down_s=None),))
    assert analysed.seen().stops == {"rescale_down"}
    assert downtime(analysed, "rescale_up") < 30.0


def test_an_outcome_of_something_else_is_charged_to_nothing() -> None:
    analysed = Analysed(SteadyJob(), needs=NEEDS)
    analysed.turns(5)
    analysed.rescale(6, number=3)
    analysed.turn(outcomes=(Outcome(number=2, done=True, took_s=5.0), Outcome(number=3, done=False, took_s=5.0)))
    assert not analysed.knowledge.learnt.downtimes.learnt and not analysed.knowledge.learnt.live


def test_a_failure_is_noticed_by_its_count_and_its_recovery_measured() -> None:
    analysed = told(30.0)
    failed_s = analysed.job.at_s
    analysed.job.fail()
    analysed.turns(25)
    truth_s = recovery_s(Arrivals.constant(2000.0), failed_s, 4000.0, 10.0, 30.0)
    recovered, graded = analysed.said(Recovered), analysed.said(Graded)
    assert [(each.kind, each.started_s, each.alone) for each in recovered] == [("query_restart", failed_s, True)]
    assert truth_s <= recovered[0].took_s <= truth_s + 30.0
    recoveries = [each for each in graded if each.kind == "recovery"]
    assert len(recoveries) == 1 and recoveries[0].predicted == pytest.approx(truth_s, rel=0.05)
    assert recoveries[0].about == "query_restart" and recoveries[0].low <= truth_s <= recoveries[0].high


def test_downtimes_follow_the_recoveries_that_were_measured() -> None:
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=30.0))
    analysed = Analysed(SteadyJob(downtime_s=90.0), terms, NEEDS)
    analysed.turns(40)
    assert downtime(analysed, "query_restart") == pytest.approx(30.0)
    for _ in range(4):
        analysed.job.fail()
        analysed.turns(40)
    assert downtime(analysed, "query_restart") == pytest.approx(90.0, rel=0.2)
    assert downtime(analysed, "rescale_up") == pytest.approx(30.0)


def test_a_recovery_that_another_failure_interrupts_teaches_and_grades_nothing() -> None:
    analysed = told(60.0)
    analysed.job.fail()
    analysed.turns(2)
    analysed.job.fail()
    analysed.turns(30)
    assert [each.alone for each in analysed.said(Recovered)] == [False, False]
    assert not any(isinstance(each, Graded) and each.kind == "recovery" for each in analysed.events)
    assert downtime(analysed, "query_restart") == pytest.approx(60.0)
    assert not any(each.kind == "recovery" for each in analysed.knowledge.steering.predictions)


def test_the_lag_before_a_failure_is_part_of_what_is_predicted() -> None:
    predicted = []
    for lag in (0.0, 60_000.0):
        analysed = told(30.0)
        analysed.job.lag = lag
        analysed.turn()
        analysed.job.fail()
        analysed.turn()
        predicted.append(next(each.value for each in analysed.knowledge.steering.predictions if each.kind == "recovery"))
    assert predicted[1] > predicted[0] + 1.0


def test_the_loss_of_an_executor_is_told_from_the_failure_of_a_query() -> None:
    job = SteadyJob()
    job.fail()
    query_failed = job.reading()
    lost = replace(query_failed, queries=tuple(replace(query, failures=0) for query in query_failed.queries))
    known = [failure_in(Learnt(), reading) for reading in (query_failed, lost, blank_reading(15.0))]
    assert [each and (each.kind, each.at_s) for each in known] == [("query_restart", 0.0), ("executor_loss", 0.0), None]


def test_a_rescale_is_followed_from_when_it_was_asked_for() -> None:
    analysed = told(60.0)
    asked_s = analysed.job.at_s
    analysed.rescale(5)
    analysed.turns(30)
    rescales = analysed.said(Recovered)
    assert [(each.kind, each.started_s, each.alone) for each in rescales] == [("rescale_up", asked_s, True)]
    truth_s = recovery_s(Arrivals.constant(2000.0), asked_s, 5000.0, 10.0, 60.0)
    assert truth_s <= rescales[0].took_s <= truth_s + 30.0


def test_a_failure_that_no_reading_shows_stops_the_job_for_less_than_a_window() -> None:
    terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=30.0))
    analysed = Analysed(SteadyJob(downtime_s=0.0, interval_s=0.01), terms, NEEDS)
    analysed.turns(40)
    for _ in range(3):
        analysed.job.fail()
        analysed.turns(20)
    recovered = analysed.said(Recovered)
    assert len(recovered) == 3 and all(each.took_s == 7.5 for each in recovered)
    assert 7.5 < downtime(analysed, "query_restart") < 15.0
