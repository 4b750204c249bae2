"""What each stage of the job needs, for policies that count slots."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.analyze.job_shape import share_of
from penstock.core.assessment import StageNeed
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.models.estimate import Estimate
from penstock.core.models.stage_rates import StageRates

ALWAYS = 0.9
"""Tasks that run for such a share of the time run all the time."""


def stage_needs(models: Mapping[str, StageRates], reading: Reading) -> tuple[StageNeed, ...]:
    """Every stage of every query, of which both the rate of a busy slot and the rows for each row of all sources are known; empty unless all are."""
    needs: list[StageNeed] = []
    for query in reading.queries:
        share, model = share_of(query, reading), models.get(query.name, StageRates())
        for stage in query.stages:
            rate, selectivity = model.predict(stage.position), model.predict_selectivity(stage.position)
            if not isinstance(rate, Estimate) or not isinstance(selectivity, Estimate) or rate.value <= 0:
                return ()
            needs.append(StageNeed(position=len(needs), name=stage.name, rate_rows_per_s=rate.value, selectivity=share * selectivity.value))
    return tuple(needs)


def tells_work(query: QueryReading) -> bool:
    """Whether the run time of its stages is work: tasks that run all the time may only wait, unless what they cannot do piles up.

    Flink tells how long tasks were busy, Spark in Real-Time Mode how long they ran, but for the pauses between batches.
    """
    if query.trigger.kind != "real_time" or query.excess_lag_rows:
        return True
    running = 1.0 - min(1.0, (query.boundary_pause_s or 0.0) / query.trigger.interval_s) if query.trigger.interval_s > 0 else 1.0
    return all(stage.run_time_s_per_s < ALWAYS * running * stage.tasks for stage in query.stages)
