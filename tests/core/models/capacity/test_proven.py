"""Whatever a model says, a size takes at least what its batches prove."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.capacity.earned import CapacitySeen, EarnedCapacity
from penstock.core.models.capacity.proven import proven_by
from penstock.core.models.capacity.readings import WorkerReading, WorkersReading
from penstock.core.models.estimate import Estimate

INTERVAL_S = 2.0


def batches(law: BatchLaw, rows: float, scaleout: int, count: int = 5) -> list[BatchMeasured]:
    return [BatchMeasured(rows=rows, duration_s=law.duration_s(rows, scaleout), scaleout=scaleout, tasks=law.partitions)] * count


@given(overhead_s=st.floats(0.0, 1.5), row_us=st.floats(1.0, 5000.0), rows=st.floats(10.0, 1e5), scaleout=st.integers(1, 12), asked=st.integers(1, 16))
def test_what_is_proven_is_never_more_than_what_is_true(overhead_s: float, row_us: float, rows: float, scaleout: int, asked: int) -> None:
    law = BatchLaw(overhead_s=overhead_s, row_s=row_us / 1e6, partitions=12)
    if law.duration_s(rows, scaleout) > INTERVAL_S:
        return
    proven = proven_by(BatchCost(partitions=12).learn(batches(law, rows, scaleout)))
    assert proven is not None
    assert proven.rows_per_s(asked, INTERVAL_S) <= law.capacity_rows_per_s(asked, INTERVAL_S) * (1 + 1e-9)
    assert proven.rows_per_s(scaleout, INTERVAL_S) >= rows / INTERVAL_S * (1 - 1e-9), "it has just done so much"


def test_two_batches_prove_nothing_and_a_lucky_one_neither() -> None:
    law = BatchLaw(overhead_s=0.2, row_s=0.004, partitions=12)
    some = batches(law, 1000.0, 4)
    assert proven_by(BatchCost(partitions=12).learn(some[:2])) is None
    lucky = replace(some[0], duration_s=0.1)
    usual, with_luck = (proven_by(BatchCost(partitions=12).learn(seen)) for seen in (some, [*some, lucky]))
    assert usual is not None and with_luck == usual


def test_a_size_that_carries_its_load_is_not_said_to_fail_by_a_line_through_few_utilisations() -> None:
    """Rows and durations hardly move, so that the cost of a row is open; utilisation falls while executors warm up, so that its line is wrong."""
    seen = []
    for number in range(12):
        rows = 2100.0 + 10.0 * number
        workers = tuple(WorkerReading(worker=str(each), utilization=0.75 - 0.01 * number, throughput_rows_per_s=rows / INTERVAL_S / 4) for each in range(4))
        batch = BatchMeasured(rows=rows, duration_s=1.35 - 0.005 * number, scaleout=4, tasks=12)
        seen.append(CapacitySeen(workers=WorkersReading(at_s=2.0 * number, scaleout=4, since_change_s=None, workers=workers), batches=(batch,)))
    model = EarnedCapacity(by_batches=BatchCost(partitions=12)).learn(seen)
    answer = model.capacity(4, INTERVAL_S)
    assert isinstance(answer, Estimate) and answer.value >= 2100.0 * INTERVAL_S / 1.35 / INTERVAL_S
    assert answer.low > 1200.0
    assert "the batches prove at least" in model.choice(4, INTERVAL_S).why


def test_of_a_nearly_idle_job_smaller_sizes_are_known_as_what_a_worker_took_among_many_it_takes_among_few() -> None:
    """Two percent busy, and CPU that is noise for the most part: a line through that says nothing of other sizes."""
    rng = random.Random(3)
    seen = []
    for number in range(20):
        rates = [rng.uniform(80.0, 120.0) for _ in range(12)]
        workers = tuple(WorkerReading(worker=str(each), utilization=0.02 + rng.gauss(0.0, 0.004), throughput_rows_per_s=rates[each]) for each in range(12))
        seen.append(CapacitySeen(workers=WorkersReading(at_s=15.0 * number, scaleout=12, since_change_s=None, workers=workers)))
    model = EarnedCapacity().learn(seen)
    for size in (1, 3, 6):
        answer = model.capacity(size, None)
        assert isinstance(answer, Estimate) and answer.value >= answer.low >= 0.8 * 100.0 * size
