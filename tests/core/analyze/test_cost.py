"""Long runs and large jobs are learnt as small ones are; what their turns cost in CPU time is printed, as it depends on the machine."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import pytest
from steady_job import TERMS, Analysed, SteadyJob, daily

from penstock.core.domain.job import Limits
from penstock.core.knowledge.fitting import FitDone, fitted
from penstock.core.knowledge.policy import Need
from penstock.selftest.speed import LargeJob

DAEDALUS: frozenset[Need] = frozenset({"load", "capacity", "regression", "forecast"})


@pytest.mark.long
def test_capacity_is_known_at_nearly_every_assessment_of_six_hours() -> None:
    analysed = Analysed(SteadyJob(load=lambda at_s: daily(at_s) + 100.0 * math.sin(at_s)), replace(TERMS, limits=Limits(max_executors=12)), DAEDALUS)
    spent = {"turns": 0.0, "assessments": 0.0, "fits": 0.0}
    number, known = 0, 0
    fits: tuple[FitDone, ...] = ()
    for turn in range(1440):
        reading = analysed.job.reading()
        begin = time.process_time()
        asked = analysed.turn(reading=reading, fits=fits)
        spent["turns"] += time.process_time() - begin
        begin = time.process_time()
        if turn % 4 == 0:
            known += bool(analysed.seen().capacities)
        spent["assessments"] += time.process_time() - begin
        begin = time.process_time()
        fits = () if asked is None else (fitted(asked),)
        number += asked is not None
        spent["fits"] += time.process_time() - begin
    print(f"\nsix hours: {', '.join(f'{name} {seconds:.1f} s' for name, seconds in spent.items())} ({number} fits)")
    assert known > 350


@pytest.mark.slow
@pytest.mark.parametrize("needs", [DAEDALUS, DAEDALUS - {"regression"}])
def test_the_capacity_of_1000_executors_is_learnt_within_five_percent(needs: frozenset[Need]) -> None:
    terms = replace(TERMS, limits=Limits(min_executors=990, max_executors=1010))
    analysed = Analysed(SteadyJob(executors=1000, each_rows_per_s=10.0, load=lambda at_s: 2.0 * daily(at_s)), terms, needs)
    analysed.turns(40)
    took = []
    for _ in range(8):
        reading = analysed.job.reading()
        begin = time.process_time()
        analysed.turn(reading=reading)
        learnt = time.process_time()
        seen = analysed.seen()
        took.append((learnt - begin, time.process_time() - learnt))
    analyse, assess = (sorted(1000 * each for each in column)[len(column) // 2] for column in zip(*took, strict=True))
    print(f"\n1000 executors, {'regression' if 'regression' in needs else 'law'}: analyse {analyse:.1f} ms, assess {assess:.1f} ms (medians)")
    assert seen.capacity(1000) == pytest.approx(10_000.0, rel=0.05)


@pytest.mark.slow
def test_a_turn_of_micro_batches_with_1000_executors_and_as_many_sizes_costs_no_more_than_its_share() -> None:
    large, small = LargeJob(1000), LargeJob(100)
    took = [(large.turn_ms(), small.turn_ms()) for _ in range(12)][7:]
    thousand, hundred = (sorted(each)[len(took) // 2] for each in zip(*took, strict=True))
    print(f"\na turn with 1000 executors and sizes: {thousand:.0f} ms, with 100: {hundred:.0f} ms (medians)")
    last = large.knowledge.steering.last
    assert last is not None and last.policy == "daedalus"
    assert thousand < 25 * hundred, "ten times the executors times ten times the sizes would be a hundred times as much"
