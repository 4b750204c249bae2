"""How long a micro-batch is going to take."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.simulator.batch import Batch
from penstock.simulator.crew import Crew
from penstock.simulator.microbatch_settings import MicroBatchSettings
from penstock.simulator.pool import Executor
from penstock.simulator.warm_up import lost_s

SHORTEST_BATCH_S = 1e-3


def planned_batch(
    settings: MicroBatchSettings, executors: Sequence[Executor], batch_id: int, processed_rows: float, waiting_rows: float, start_s: float, noise: float
) -> Batch:
    """The batch that takes in what waits, up to the limit, on these executors; `noise` is a standard normal number.

    >>> from penstock.simulator.pool import Pool
    >>> settings = MicroBatchSettings(overhead_s=0.5, row_s=0.001, partitions=12)
    >>> planned_batch(settings, Pool.warm(4, at_s=0.0).running, 0, 0.0, 4000.0, 10.0, noise=0.0).ends_s
    11.5
    """
    rows = min(waiting_rows, settings.limit_rows)
    factor = math.exp(settings.noise * noise)
    overhead_s = settings.overhead_s * (1.0 + settings.state_growth * processed_rows)
    work_s = settings.law.row_cost_s(len(executors)) * rows
    warm_s = max(factor * (overhead_s + work_s + settings.sink_s_per_row * rows), SHORTEST_BATCH_S)
    cold_s = lost_s(warm_s, [each.age_s(start_s) for each in executors], factor=settings.warm_up_factor, fades_s=settings.warm_up_s)
    stretch = factor * (1.0 + cold_s / warm_s)
    return Batch(
        batch_id=batch_id,
        first_row=processed_rows,
        rows=rows,
        started_s=start_s,
        works_from_s=start_s + overhead_s * stretch,
        done_s=start_s + warm_s + cold_s,
        planned_s=warm_s + cold_s,
        overhead_s=overhead_s * stretch,
        work_s=work_s * stretch,
        stretch=stretch,
        crew=Crew(tasks=settings.partitions, slots_each=settings.cores_per_executor, executors=tuple(each.executor_id for each in executors)),
        takes_all=rows == waiting_rows,
        after_s=warm_s + cold_s - (overhead_s + work_s) * stretch,
    )
