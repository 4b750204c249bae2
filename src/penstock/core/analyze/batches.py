"""Micro-batches as the models of their cost and of their latency learn them."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.analyze.job_shape import slots_of
from penstock.core.domain.job import PROMISED_SHARE
from penstock.core.domain.rate_limit import rows_per_batch
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.latency.batch_latency import BatchLatency, LatencyMeasured


def batch_measured(query: QueryReading, reading: Reading, *, warming: bool) -> BatchMeasured | None:
    """The average batch of the window; None where it is not known.

    In a window that ends at commits a batch takes what came during its cycle, which is the interval or, in overload, the batch before it.
    """
    if query.batch is None or query.batch.total_s <= 0 or query.throughput_rows_per_s is None or reading.executors_running < 1:
        return None
    return BatchMeasured(
        rows=query.throughput_rows_per_s * query.cycle_s,
        duration_s=query.batch.total_s,
        scaleout=reading.executors_running,
        tasks=most_tasks(query),
        warming=warming,
    )


def most_tasks(query: QueryReading) -> int | None:
    """Tasks of the stage that has the most of them; None while no stage was seen."""
    return max((max(1, round(stage.tasks)) for stage in query.stages), default=None)


def cost_of(query: QueryReading, reading: Reading, known: BatchCost | None) -> BatchCost | None:
    """The cost of this query's batches with the partitions, slots and limit that it has now; None before a stage was seen."""
    partitions, limit = most_tasks(query), query.rate_limit_rows_per_s
    if partitions is None:
        return known
    return BatchCost(
        partitions=partitions,
        cores_per_executor=slots_of(reading),
        limit_rows=None if limit is None else rows_per_batch(query.trigger, limit),
        batches=known.batches if known else (),
    )


def latency_of(query: QueryReading, reading: Reading, known: BatchLatency | None, batch: BatchMeasured) -> BatchLatency | None:
    """The latency of this query's batches after one more of them, and after the latency measured with it where the job kept up and was warm."""
    cost = cost_of(query, reading, known.cost if known else None)
    if cost is None:
        return None
    model = replace(known, cost=cost) if known else BatchLatency(cost=cost, quantile=PROMISED_SHARE)
    seen: list[LatencyMeasured | BatchMeasured] = [batch]
    rate, latency = query.arrival_rows_per_s, query.latency
    if rate is not None and latency is not None and latency.p95_s > 0 and query.excess_lag_rows == 0 and not batch.warming:
        seen.append(LatencyMeasured(interval_s=query.trigger.interval_s, rate_rows_per_s=rate, latency_s=latency.p95_s, scaleout=batch.scaleout))
    return model.learn(seen)
