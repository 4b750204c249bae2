import math
import random
from dataclasses import replace

import numpy as np
import pytest

from penstock.bench.known_plant import KnownContinuous, KnownMicroBatch, KnownPlant
from penstock.bench.oracle import LATE_COST, Future, Outage, Programme, Schedule, best_schedule
from penstock.core.domain.cadence import Cadence
from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.recovery.arrivals import Arrivals

STEP_S = 15.0
FLINK = KnownContinuous(each_rows_per_s=100.0, up_s=30.0, down_s=15.0, interval_s=10.0, latency_s=40.0)
LAW = BatchLaw(overhead_s=1.0, row_s=0.01, partitions=12)
SPARK = KnownMicroBatch(law=LAW, cadence=Cadence(interval_s=5.0, longest_s=5.0), up_s=15.0, down_s=15.0)


def loads(seed: int, peak: float, steps: int) -> Arrivals:
    chance = random.Random(seed)
    return Arrivals.through([number * STEP_S for number in range(steps + 1)], [chance.uniform(0.1, 1.0) * peak for _ in range(steps + 1)])


def brute_force(plan: Programme, future: Future) -> float:
    """Try every sequence of executors."""
    end = plan.values()[-1]

    def least(at: int, executors: int, backlog: Floats, recovering: Flags) -> float:
        if at >= len(plan):
            return float(np.interp(backlog.item(), plan.levels, end[0, 0]))
        costs = []
        for wanted in range(future.least, future.most + 1):
            move = plan.move(executors, wanted)
            reached, count = plan.through(at, move, backlog, recovering), min(move.count, len(plan) - at)
            spent = LATE_COST * reached.late_s.item() + count * STEP_S * wanted
            costs.append(spent + least(at + move.count, wanted, reached.backlog_rows, reached.recovering))
        return min(costs)

    return least(0, future.first, np.zeros((1, 1)), np.zeros((1, 1, 1), dtype=bool))


def cost(plan: Programme, schedule: Schedule) -> float:
    return LATE_COST * schedule.violation_s + schedule.executor_s


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("plant", [FLINK, replace(FLINK, replays=False, latency_s=math.inf), SPARK], ids=["stops", "unpromised", "live"])
def test_no_sequence_of_executors_is_better(plant: KnownPlant, seed: int) -> None:
    outages = (Outage(at_s=31.0, down_s=20.0, repeated_s=5.0),) if seed % 2 else ()
    future = Future(arrivals=loads(seed, 310.0, 7), least=1, most=3, first=2, outages=outages, recovery_s=45.0 if seed % 3 else None)
    found, least = best_schedule(plant, future, STEP_S), brute_force(Programme(plant, future, STEP_S), future)
    assert found.violation_s == pytest.approx(least // LATE_COST, abs=1e-6)
    assert found.executor_s <= 1.02 * (least % LATE_COST) + 2 * STEP_S, "backlogs are told apart in levels"


def test_a_constant_load_needs_the_fewest_that_carry_it_all_the_time() -> None:
    future = Future(arrivals=Arrivals.through((0.0, 3600.0), (290.0, 290.0)), least=1, most=6, first=3)
    found = best_schedule(replace(FLINK, latency_s=1.0), future, STEP_S)
    assert found.changes == ((0.0, 3),) and found.violation_s == 0.0 and found.executor_s == 3 * 3600.0


def test_executors_come_before_the_load_that_needs_them() -> None:
    rising = Arrivals.through((0.0, 1790.0, 1800.0, 3600.0), (100.0, 100.0, 900.0, 900.0))
    found = best_schedule(SPARK, Future(arrivals=rising, least=1, most=12, first=2), STEP_S)
    grown = next(at_s for at_s, executors in found.changes if executors >= 10)
    assert found.violation_s == 0.0 and 1740.0 <= grown <= 1800.0


def test_a_change_that_breaks_the_promise_is_not_worth_its_saving() -> None:
    falling = Arrivals.through((0.0, 600.0, 610.0, 3600.0), (500.0, 500.0, 100.0, 100.0))
    future = Future(arrivals=falling, least=1, most=6, first=6)
    slow, quick = (best_schedule(replace(FLINK, down_s=15.0, latency_s=promised_s), future, STEP_S) for promised_s in (60.0, 10.0))
    assert slow.executor_s < 0.6 * quick.executor_s and slow.violation_s == 0.0
    assert quick.violation_s == 0.0 and quick.executor_s == 6 * 3600.0


def test_executors_for_the_recovery_are_there_in_time() -> None:
    steady, failure = Arrivals.through((0.0, 3600.0), (200.0, 200.0)), (Outage(at_s=1800.0, down_s=60.0, repeated_s=5.0),)
    future = Future(arrivals=steady, least=1, most=12, first=2, outages=failure)
    patient, prompt = (best_schedule(FLINK, replace(future, recovery_s=promised_s), STEP_S) for promised_s in (None, 120.0))
    assert max(executors for _, executors in prompt.changes) >= 5, "65 s of 200 rows/s are worked off in 60 s beside those that arrive"
    assert prompt.executor_s < 2.2 * 3600.0, "and are there for the recovery alone"
    assert prompt.violation_s == patient.violation_s <= 90.0, "rows wait for longer than promised while the job is down, whatever the executors"


def test_where_promises_cannot_be_kept_they_are_broken_for_the_shortest_time() -> None:
    passing = Arrivals.through((0.0, 600.0, 610.0, 700.0, 710.0, 3600.0), (100.0, 100.0, 900.0, 900.0, 100.0, 100.0))
    future = Future(arrivals=passing, least=1, most=4, first=1)
    found = best_schedule(replace(FLINK, latency_s=35.0), future, STEP_S)
    assert max(executors for _, executors in found.changes) == 4 and found.changes[-1][1] <= 2
    assert 150.0 <= found.violation_s <= 200.0, "50,000 rows too many, worked off at 300 rows/s more than arrive"
