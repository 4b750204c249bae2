"""Executors are read all together or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from steady_job import SteadyJob

from penstock.core.analyze.learn import workers_reading
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.reading import ExecutorReading


def test_cpu_counts_against_what_a_whole_executor_is() -> None:
    reading = SteadyJob().reading()
    for cores, busy in ((None, 0.5), (2.0, 0.25)):
        workers = workers_reading(reading, Autopilot(executor_cpu_cores=cores))
        assert workers is not None and workers.is_whole and [worker.utilization for worker in workers.workers] == pytest.approx([busy] * 4)


@pytest.mark.parametrize("missing", ["cpu_cores", "throughput_rows_per_s"])
def test_one_executor_that_is_not_known_hides_them_all(missing: str) -> None:
    reading = SteadyJob().reading()
    executors: tuple[ExecutorReading, ...] = (replace(reading.executors[0], **{missing: None}), *reading.executors[1:])  # type: ignore[arg-type]
    assert workers_reading(replace(reading, executors=executors), Autopilot()) is None
    assert workers_reading(replace(reading, executors=()), Autopilot()) is None
