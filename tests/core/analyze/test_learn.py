"""What a profile learns at run time: rows outside of recoveries, and that a job which never recovers is overloaded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from steady_job import TERMS, Analysed, SteadyJob

from penstock.core.analyze.learn import profile_row
from penstock.core.domain.job import Promises
from penstock.core.domain.profile import ProfileSeen
from penstock.core.knowledge.policy import Need
from penstock.core.models.capacity.scaleout_capacity import ScaleoutCapacity, ScaleoutMeasured

PROFILE: frozenset[Need] = frozenset({"load", "profile"})
ROWS = tuple(ProfileSeen(scaleout=size, rate_rows_per_s=1000.0 * rate, latency_s=1.0, valid=rate < size) for size in (2, 4, 8) for rate in (1, 3, 5, 9))
CLAIMED = ScaleoutCapacity().learn([ScaleoutMeasured(scaleout=size, throughput_rows_per_s=1000.0 * size) for size in (2, 4, 8)])


def analysed(*, each: float = 1000.0, downtime_s: float = 30.0) -> Analysed:
    """A job of 2,000 rows/s whose profile claims 1,000 rows/s an executor, on 8 of them, for a while."""
    found = Analysed(SteadyJob(executors=8, each_rows_per_s=each, downtime_s=downtime_s), replace(TERMS, profile=ROWS), PROFILE)
    found.turn()
    found.knowledge = replace(found.knowledge, learnt=replace(found.knowledge.learnt, t_max=CLAIMED))
    found.turns(30)
    return found


def row_now(job: Analysed) -> ProfileSeen | None:
    assert job.knowledge.last is not None
    return profile_row(job.knowledge.learnt, job.knowledge.last, job.terms)


def test_a_healthy_moment_is_a_row_that_kept_up() -> None:
    row = row_now(analysed())
    assert row is not None and (row.scaleout, row.rate_rows_per_s, row.valid) == (8, 2000.0, True)


def test_a_recovery_is_no_row() -> None:
    job = analysed()
    job.rescale(3)
    for _ in range(6):
        job.turn()
        assert job.knowledge.learnt.health.open and row_now(job) is None
    assert job.knowledge.learnt.pace.share == 1.0


def test_overload_after_a_rescale_is_a_row_that_did_not_keep_up_and_t_max_is_what_the_job_does() -> None:
    job = analysed(each=500.0)
    job.rescale(3)
    job.turns(12)
    assert job.knowledge.learnt.health.open
    row, seen = row_now(job), job.seen()
    assert row is not None and (row.scaleout, row.valid) == (3, False)
    assert seen.t_max[3].value == pytest.approx(1500.0, rel=0.01) and seen.t_max[8].value == pytest.approx(4000.0, rel=0.01)
    assert row.rate_rows_per_s == pytest.approx(4000.0, rel=0.01), "2,000 rows/s are at half the pace what 4,000 are to the profile"


@pytest.mark.parametrize("downtime_s", [30.0, 110.0])
def test_a_stop_is_no_overload_however_long_it_is_known_to_last(downtime_s: float) -> None:
    job = analysed(downtime_s=downtime_s)
    job.terms = replace(job.terms, autopilot=replace(job.terms.autopilot, downtime_s=downtime_s))
    job.rescale(5)
    job.turns(30)
    assert job.knowledge.learnt.pace.share == 1.0 and not job.knowledge.learnt.health.open


def test_a_passing_overload_at_the_profiles_own_pace_changes_nothing() -> None:
    job = analysed()
    job.job.load = lambda at_s: 9000.0 if at_s < 700.0 else 2000.0
    job.turns(40)
    assert job.knowledge.learnt.pace.share == pytest.approx(1.0)


def test_a_job_that_is_faster_again_is_believed_as_soon_as_it_shows() -> None:
    job = analysed(each=500.0)
    job.rescale(3)
    job.turns(40)
    assert job.knowledge.learnt.pace.share == pytest.approx(0.5)
    job.job.each = 1000.0
    job.rescale(8, number=2)
    job.turns(10)
    assert job.knowledge.learnt.pace.share == pytest.approx(1.0)


def test_a_recovery_that_outlasts_its_promise_while_more_arrives_than_is_done_is_a_row_too() -> None:
    job = analysed(each=500.0)
    job.rescale(3)
    job.turns(12)
    last, learnt = job.knowledge.last, job.knowledge.learnt
    assert last is not None
    unknown = replace(learnt, pace=type(learnt.pace)())
    promised = {recovery_s: replace(job.terms, promises=Promises(recovery_s=recovery_s)) for recovery_s in (100.0, 600.0)}
    assert profile_row(unknown, last, promised[600.0]) is None
    row = profile_row(unknown, last, promised[100.0])
    assert row is not None and (row.valid, row.rate_rows_per_s) == (False, 2000.0)
