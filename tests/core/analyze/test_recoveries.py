"""M_R of a running job: every recovery that was measured alone teaches it, and what it says of the next one is graded."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.disturbances import MOST_RECOVERIES, tables_due
from penstock.core.domain.events.autopilot import Graded, Recovered
from penstock.core.knowledge.fitting import FitAsked, FitDone, fitted
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen
from penstock.stores.codec import decode, encode, encode_knowledge

NEEDS: frozenset[Need] = frozenset({"load", "capacity"})
FAR_APART_TURNS = 60


class Fitting:
    """A job whose fits are done between two turns, as in a simulation."""

    def __init__(self, job: SteadyJob) -> None:
        terms = replace(TERMS, autopilot=replace(TERMS.autopilot, downtime_s=30.0))
        self.analysed, self.asked, self._done = Analysed(job, terms, NEEDS), list[FitAsked](), tuple[FitDone, ...]()

    def turns(self, number: int) -> None:
        for _ in range(number):
            asked = self.analysed.turn(fits=self._done)
            self._done = () if asked is None else (fitted(asked),)
            self.asked += [] if asked is None else [asked]

    def fail(self) -> None:
        self.analysed.job.fail()
        self.turns(FAR_APART_TURNS)

    @property
    def learnt(self) -> Learnt:
        return self.analysed.knowledge.learnt


def stepping(at_s: float) -> float:
    """Another load for each failure."""
    return 1500.0 + 250.0 * ((at_s + 300.0) // (FAR_APART_TURNS * 15.0) % 4)


@pytest.fixture(scope="module")
def failed_often() -> Fitting:
    fitting = Fitting(SteadyJob(downtime_s=45.0, load=stepping))
    fitting.turns(FAR_APART_TURNS)
    for _ in range(7):
        fitting.fail()
    return fitting


def test_every_recovery_that_was_measured_alone_is_learnt_with_its_interval_rate_and_size(failed_often: Fitting) -> None:
    recovered, model = failed_often.analysed.said(Recovered), failed_often.learnt.recoveries["query_restart"]
    assert len(recovered) == len(model.seen) == model.rows == 7 and set(failed_often.learnt.recoveries) == {"query_restart"}
    assert [each.recovery_s for each in model.seen] == [each.took_s for each in recovered]
    assert {(each.interval_s, each.scaleout) for each in model.seen} == {(10.0, 4)}
    assert {round(each.rate_rows_per_s, -1) for each in model.seen} == {1500.0, 1750.0, 2000.0, 2250.0}


def test_it_is_fitted_elsewhere_once_for_each_that_is_new(failed_often: Fitting) -> None:
    of_recoveries = [asked.recoveries["query_restart"].rows for asked in failed_often.asked if asked.recoveries]
    assert of_recoveries == [4, 5, 6, 7]
    assert failed_often.learnt.recovery_tables["query_restart"].rows == 7 and not tables_due(failed_often.learnt, 10.0)
    assert tables_due(failed_often.learnt, 30.0), "the trigger has changed"


def test_what_it_says_of_the_next_one_is_graded_beside_the_formula_and_nothing_rests_on_it(failed_often: Fitting) -> None:
    graded = failed_often.analysed.said(Graded)
    learnt = [each for each in graded if each.kind == "learnt_recovery"]
    assert len(learnt) >= 2 and {each.about for each in learnt} == {"query_restart"}
    assert all(each.error < 0.25 for each in learnt)
    formula = [each for each in graded if each.kind == "recovery"]
    assert len(formula) == 7 and len(failed_often.analysed.knowledge.steering.graded) == 5


def test_it_goes_through_json_with_the_rest_and_older_knowledge_has_none(failed_often: Fitting) -> None:
    learnt = failed_often.learnt
    assert decode(Learnt, encode(learnt)) == learnt
    older = {name: value for name, value in json.loads(encode(learnt)).items() if name not in ("recoveries", "recovery_tables")}
    again = decode(Learnt, json.dumps(older))
    assert again.recoveries == again.recovery_tables == {} and again.downtimes == learnt.downtimes


def test_the_same_failures_teach_the_same_to_the_last_byte() -> None:
    stories = []
    for _ in range(2):
        fitting = Fitting(SteadyJob(load=stepping))
        fitting.turns(FAR_APART_TURNS)
        for _ in range(5):
            fitting.fail()
        stories.append((encode_knowledge(fitting.analysed.knowledge), [encode(event) for event in fitting.analysed.events]))
    assert stories[0] == stories[1]


def test_recoveries_of_several_failures_and_those_that_no_reading_shows_teach_nothing() -> None:
    several = Fitting(SteadyJob(downtime_s=60.0))
    several.turns(40)
    several.analysed.job.fail()
    several.turns(2)
    several.fail()
    assert [each.alone for each in several.analysed.said(Recovered)] == [False, False] and not several.learnt.recoveries
    hidden = Fitting(SteadyJob(downtime_s=0.0, interval_s=0.1))
    hidden.turns(40)
    hidden.fail()
    assert [each.took_s for each in hidden.analysed.said(Recovered)] == [7.5] and not hidden.learnt.recoveries


def test_a_failure_that_is_counted_after_readings_have_shown_it_is_learnt_as_that_failure() -> None:
    """The count comes three readings late; the failure is dated as it struck."""
    fitting = Fitting(SteadyJob(downtime_s=90.0))
    fitting.turns(40)
    job, struck_s = fitting.analysed.job, fitting.analysed.job.at_s
    job.stop()
    uncounted, job.disturbed_s = job.disturbed_s, None
    fitting.turns(3)
    assert [each.kind for each in fitting.learnt.health.open] == ["unannounced"]
    job.failures, job.disturbed_s = 1, uncounted
    fitting.turns(FAR_APART_TURNS)
    assert [(each.kind, each.started_s, each.alone) for each in fitting.analysed.said(Recovered)] == [("query_restart", struck_s, True)]
    assert fitting.learnt.recoveries["query_restart"].rows == 1


def test_what_is_kept_is_bounded_and_the_count_goes_on() -> None:
    seen = RecoverySeen(interval_s=10.0, rate_rows_per_s=100.0, recovery_s=50.0, scaleout=4)
    model = RecoveryRegression(most_seen=MOST_RECOVERIES).learn([seen] * 300)
    assert len(model.seen) == MOST_RECOVERIES and model.rows == 300
