from dataclasses import replace

from changes import scaled_to
from steady_job import TERMS, Analysed, SteadyJob, daily

from penstock.core.analyze.fits import table_due
from penstock.core.domain.events.autopilot_events import FitFailed, FitTaken
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.profile import ProfileSeen
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.knowledge import Knowledge, begin
from penstock.core.knowledge.policy import Need
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.capacity.pace import Pace, PaceSeen
from penstock.core.models.forecast.refit import Fit
from penstock.core.models.latency.latency_by_executors import MOST_ROWS
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.stores.codec import decode, encode_knowledge

FITS = {"autoets": Fit(parameters=None, at=0, values=30, promised=None)}
EXECUTOR_COUNTS = tuple(range(1, 9))
TABLE = LatencyTable(executor_counts=EXECUTOR_COUNTS, rates_rows_per_s=(100.0,), latency_s=((1.0,),) * 8, valid=((True,),) * 8, rows=4)
PROFILE: frozenset[Need] = frozenset({"load", "profile", "forecast"})
ROWS = tuple(ProfileSeen(executors=each, rate_rows_per_s=1000.0 * rate, latency_s=1.0, valid=rate <= each) for each in (1, 2, 4) for rate in (1, 2, 3, 5))


def until_asked(analysed: Analysed, most: int = 60) -> FitAsked:
    for _ in range(most):
        asked = analysed.turn()
        if asked is not None:
            return asked
    raise AssertionError("no fit was asked for")


def test_a_fit_is_asked_for_once_and_taken_in_later() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    asked = until_asked(analysed)
    assert asked.load is not None and asked.profile is None and asked.number == analysed.knowledge.fits.number
    assert [analysed.turn() for _ in range(6)] == [None] * 6
    analysed.turn(fits=(FitDone(number=asked.number, took_s=2.5, fits=FITS),))
    assert analysed.said(FitTaken) == [FitTaken(at_s=analysed.job.at_s, fit_number=asked.number, took_s=2.5)]
    assert analysed.knowledge.learnt.load.fits == FITS and analysed.knowledge.fits.number is None


def test_a_fit_that_is_not_awaited_is_dropped() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(3)
    analysed.turn(fits=(FitDone(number=7, took_s=1.0, fits=FITS),))
    assert analysed.knowledge.learnt.load.fits == {} and not analysed.events


def test_a_fit_that_does_not_come_back_is_given_up_and_asked_for_again() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    first = until_asked(analysed)
    analysed.turns(9)
    assert [each.fit_number for each in analysed.said(FitFailed)] == [first.number]
    assert until_asked(analysed).number == first.number + 1


def test_a_fit_that_fails_leaves_what_was_there_and_is_not_repeated_at_once() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    asked = until_asked(analysed)
    analysed.turn(fits=(FitDone(number=asked.number, took_s=0.1, error="too even"),))
    assert [each.reason for each in analysed.said(FitFailed)] == ["too even"]
    assert all(analysed.turn() is None for _ in range(12))


def test_a_profile_is_tabulated_at_the_start_and_when_it_has_grown() -> None:
    analysed = Analysed(SteadyJob(), replace(TERMS, profile=ROWS), PROFILE)
    asked = until_asked(analysed, most=1)
    assert asked.profile is not None and asked.profile.observations == ROWS
    assert asked.executor_counts == EXECUTOR_COUNTS and asked.most_rows_per_s == 6000.0
    t_max = CapacityByExecutors().learn([CapacityMeasured(executors=2, throughput_rows_per_s=3000.0)])
    analysed.turn(fits=(FitDone(number=asked.number, took_s=0.0, table=replace(TABLE, rows=len(ROWS)), t_max=t_max),))
    assert analysed.seen().table is not None and set(analysed.seen().t_max) == set(EXECUTOR_COUNTS)
    analysed.needs = frozenset({"load", "profile"})
    assert all(analysed.turn() is None for _ in range(60))
    analysed.knowledge = replace(analysed.knowledge, schedule=replace(analysed.knowledge.schedule, decided_s=analysed.job.at_s))
    assert until_asked(analysed).profile is not None
    assert len(analysed.knowledge.learnt.profile.observations) == len(ROWS) + 1


def test_a_profile_gets_a_row_with_each_decision_outside_of_recoveries() -> None:
    analysed = Analysed(SteadyJob(), replace(TERMS, profile=ROWS), PROFILE)

    def decide() -> None:
        analysed.knowledge = replace(analysed.knowledge, schedule=replace(analysed.knowledge.schedule, decided_s=analysed.job.at_s))

    analysed.turns(10)
    decide()
    analysed.turns(10)
    rows = analysed.knowledge.learnt.profile.observations
    assert rows[: len(ROWS)] == ROWS and [(row.executors, row.rate_rows_per_s, row.valid) for row in rows[len(ROWS) :]] == [(4, 2000.0, True)]
    analysed.job.fail()
    decide()
    analysed.turns(2)
    assert analysed.knowledge.learnt.profile.observations == rows


def tabulated(rows: tuple[ProfileSeen, ...] = ROWS) -> Analysed:
    """A job whose profile was made a table of, and which shows half of its pace."""
    analysed = Analysed(SteadyJob(), replace(TERMS, profile=rows), PROFILE)
    asked = until_asked(analysed, most=1)
    t_max = CapacityByExecutors().learn([CapacityMeasured(executors=2, throughput_rows_per_s=3000.0)])
    assert asked.profile is not None
    analysed.turn(fits=(FitDone(number=asked.number, took_s=0.0, table=replace(TABLE, rows=asked.profile.rows), t_max=t_max),))
    slow = Pace().learn([PaceSeen(share=0.5, overloaded=True)] * 3)
    analysed.knowledge = replace(analysed.knowledge, learnt=replace(analysed.knowledge.learnt, pace=slow))
    analysed.needs = frozenset({"load", "profile"})
    assert analysed.knowledge.learnt.table is not None
    return analysed


def test_another_profile_begins_its_models_anew() -> None:
    analysed, others = tabulated(), tuple(replace(row, latency_s=2.0) for row in ROWS)
    analysed.terms = replace(TERMS, profile=others)
    asked = until_asked(analysed)
    learnt = analysed.knowledge.learnt
    assert asked.profile is not None and asked.profile.observations == learnt.profile.observations == others
    assert (learnt.table, learnt.t_max, learnt.pace) == (None, CapacityByExecutors(), Pace())


def test_the_same_profile_keeps_what_was_learnt_since_after_a_restart_too() -> None:
    analysed = tabulated()
    before = analysed.knowledge.learnt
    analysed.knowledge = begin(scaled_to(4), decode(Knowledge, encode_knowledge(analysed.knowledge)), TERMS.limits)
    analysed.terms = replace(TERMS, profile=tuple(replace(row) for row in ROWS))
    analysed.turns(4)
    assert (analysed.knowledge.learnt.table, analysed.knowledge.learnt.profile) == (before.table, before.profile)


def test_without_a_profile_nothing_of_the_one_before_is_left() -> None:
    analysed = tabulated()
    analysed.terms = TERMS
    analysed.turn()
    assert analysed.seen().table is None and analysed.seen().t_max == {} and not analysed.knowledge.learnt.profile.observations


def test_a_fit_of_the_profile_before_is_dropped() -> None:
    analysed = Analysed(SteadyJob(), replace(TERMS, profile=ROWS), PROFILE)
    old = until_asked(analysed, most=1)
    analysed.terms = replace(TERMS, profile=ROWS[:-1])
    new = until_asked(analysed)
    assert new.profile is not None and new.profile.observations == ROWS[:-1]
    analysed.turn(fits=(FitDone(number=old.number, took_s=0.0, table=TABLE),))
    assert analysed.knowledge.learnt.table is None


def test_a_table_is_made_anew_for_executors_that_it_does_not_have() -> None:
    analysed = tabulated()
    analysed.terms = replace(analysed.terms, limits=Limits(min_executors=1, max_executors=6))
    assert all(analysed.turn() is None for _ in range(60))
    analysed.terms = replace(analysed.terms, limits=Limits(min_executors=1, max_executors=12))
    assert until_asked(analysed).executor_counts == tuple(range(1, 13))


def test_a_full_profile_goes_on_being_tabulated() -> None:
    """Rows beyond the most that are kept push out older ones, so their number does not grow any more."""
    learnt = tabulated(tuple(replace(ROWS[number % len(ROWS)], latency_s=1.0 + number) for number in range(MOST_ROWS))).knowledge.learnt
    few, many = (replace(learnt, profile=learnt.profile.learn(ROWS[:1] * number)) for number in (MOST_ROWS // 25, MOST_ROWS // 20))
    assert (table_due(few, 8), table_due(many, 8)) == (False, True)
    assert len(many.profile.observations) == MOST_ROWS
