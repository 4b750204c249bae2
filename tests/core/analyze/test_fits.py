"""Slow work is asked for once and taken in by a later turn."""

from __future__ import annotations

from dataclasses import replace

from steady_job import TERMS, Analysed, SteadyJob, daily

from penstock.core.domain.autopilot_event import FitFailed, FitTaken
from penstock.core.fitting import FitAsked, FitDone
from penstock.core.latency_table import LatencyTable
from penstock.core.models.capacity.scaleout import ScaleoutCapacity, ScaleoutMeasured
from penstock.core.models.forecast.fits import Fit
from penstock.core.models.latency.profile import ProfileSeen
from penstock.core.policies.policy import Need

FITS = {"autoets": Fit(parameters=None, at=0, values=30, promised=None)}
TABLE = LatencyTable(sizes=(1, 2), rates_rows_per_s=(100.0,), latency_s=((1.0,), (0.5,)), valid=((True,), (True,)), rows=4)
PROFILE: frozenset[Need] = frozenset({"load", "profile", "forecast"})
ROWS = tuple(ProfileSeen(scaleout=size, rate_rows_per_s=1000.0 * rate, latency_s=1.0, valid=rate <= size) for size in (1, 2, 4) for rate in (1, 2, 3, 5))


def until_asked(analysed: Analysed, most: int = 60) -> FitAsked:
    for _ in range(most):
        asked = analysed.turn()
        if asked is not None:
            return asked
    raise AssertionError("no fit was asked for")


def test_a_fit_is_asked_for_once_and_taken_in_later() -> None:
    analysed = Analysed(SteadyJob(load=daily))
    asked = until_asked(analysed)
    assert asked.load is not None and asked.profile is None and asked.number == analysed.knowledge.steering.fit_number
    assert [analysed.turn() for _ in range(6)] == [None] * 6
    analysed.turn(fits=(FitDone(number=asked.number, took_s=2.5, fits=FITS),))
    assert analysed.said(FitTaken) == [FitTaken(at_s=analysed.job.at_s, fit_number=asked.number, took_s=2.5)]
    assert analysed.knowledge.learnt.load.fits == FITS and analysed.knowledge.steering.fit_number is None


def test_a_fit_nobody_awaits_is_dropped() -> None:
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
    assert asked.sizes == tuple(range(1, 9)) and asked.most_rows_per_s == 6000.0
    t_max = ScaleoutCapacity().learn([ScaleoutMeasured(scaleout=2, throughput_rows_per_s=3000.0)])
    analysed.turn(fits=(FitDone(number=asked.number, took_s=0.0, table=replace(TABLE, rows=len(ROWS)), t_max=t_max),))
    assert analysed.seen().table is not None and set(analysed.seen().t_max) == set(range(1, 9))
    analysed.needs = frozenset({"load", "profile"})
    assert all(analysed.turn() is None for _ in range(60))
    analysed.knowledge = replace(analysed.knowledge, steering=replace(analysed.knowledge.steering, decided_s=analysed.job.at_s))
    assert until_asked(analysed).profile is not None
    assert len(analysed.knowledge.learnt.profile.observations) == len(ROWS) + 1


def test_a_profile_gets_a_row_with_each_decision_outside_of_recoveries() -> None:
    analysed = Analysed(SteadyJob(), replace(TERMS, profile=ROWS), PROFILE)

    def decide() -> None:
        analysed.knowledge = replace(analysed.knowledge, steering=replace(analysed.knowledge.steering, decided_s=analysed.job.at_s))

    analysed.turns(10)
    decide()
    analysed.turns(10)
    rows = analysed.knowledge.learnt.profile.observations
    assert rows[: len(ROWS)] == ROWS and [(row.scaleout, row.rate_rows_per_s, row.valid) for row in rows[len(ROWS) :]] == [(4, 2000.0, True)]
    analysed.job.fail()
    decide()
    analysed.turns(2)
    assert analysed.knowledge.learnt.profile.observations == rows
