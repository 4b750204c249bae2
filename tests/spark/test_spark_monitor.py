from typing import Any

import numpy as np
import pytest

from penstock.core.domain.events.query_events import ClockSkewed
from penstock.spark.query_settings import QuerySettings
from penstock.spark.script_query import WriterRecipe

CODE = """
from pyspark.sql import functions as F

def counts(rows):
    return rows.groupBy("key").agg(F.count("*").alias("n"))
"""


def place(plant: Any, query: Any) -> tuple[float, int]:
    """How many rows have come by now, and how many of them are committed."""
    return plant.traces["q"].positions.newest()["trace"], query.commits.last.end_offsets[0]["position"]


def test_a_reading_agrees_with_what_is_known_of_the_trace(plant: Any) -> None:
    plant.wait_until(lambda: len(plant.engine.pool.running()) == 2, what="two executors")
    query = plant.query("job_q.py:counts", code=CODE, mode="complete", rate="constant(1000)", trigger="2s")
    plant.wait_commits(query, 4)
    plant.engine.read()
    plant.wait_commits(query, 2)
    earlier_newest, earlier_committed = place(plant, query)
    reading = plant.engine.read()
    later_newest, later_committed = place(plant, query)
    q = reading.queries[0]

    assert reading.arrival_rows_per_s == pytest.approx(1000, rel=0.03), "the arrival rate is measured at the source"
    assert reading.throughput_rows_per_s == pytest.approx(1000, rel=0.35)
    assert earlier_newest - later_committed <= reading.lag_rows <= later_newest - earlier_committed, "lag is exact"
    assert reading.lag_s == pytest.approx(reading.lag_rows / 1000, abs=1.0)
    assert reading.excess_lag_rows is not None and reading.excess_lag_rows <= reading.lag_rows
    assert reading.busyness is not None and 0 < reading.busyness <= 1

    last = query.commits.last
    start, end = last.start_offsets[0]["position"], last.end_offsets[0]["position"]
    truth = last.committed_wall_s - plant.traces["q"].state.schedule().arrival_of(np.arange(start, end))
    assert reading.latency is not None and reading.latency.p50_s <= reading.latency.p95_s <= reading.latency.p99_s
    assert reading.latency.p95_s == pytest.approx(np.quantile(truth, 0.95), rel=0.5), "latency is commit minus scheduled arrival"

    assert reading.executors_running == reading.executors_requested == 2
    assert len(reading.executors) == 2
    shares = [executor.throughput_rows_per_s for executor in reading.executors]
    assert sum(share or 0 for share in shares) == pytest.approx(reading.throughput_rows_per_s, rel=0.01)
    assert all(executor.cpu_cores is not None and executor.cpu_cores > 0 for executor in reading.executors)
    assert all(executor.busyness is not None for executor in reading.executors)

    assert [stage.position for stage in q.stages] == [0, 1]
    assert q.stages[0].tasks == 4 and q.stages[0].rows_per_s == pytest.approx(reading.throughput_rows_per_s, rel=0.01)
    assert all(stage.run_time_s_per_s > 0 and stage.busyness for stage in q.stages)
    assert q.batch is not None and {"addBatch", "queryPlanning", "walCommit", "commitOffsets"} <= set(q.batch.parts_s)
    assert sum(q.batch.parts_s.values()) == pytest.approx(q.batch.total_s, rel=0.2)
    assert q.state_rows == pytest.approx(1000, abs=10) and q.state_memory_bytes, "nearly each of the 1000 keys has come by now"
    assert q.trigger.interval_s == 2 and q.partitions == 3 and q.failures == 0
    assert reading.uptime_s > 0 and reading.since_disturbance_s is not None


def test_a_source_without_counts_leaves_the_arrival_rate_unknown(plant: Any) -> None:
    writer = plant.session.readStream.format("rate").option("rowsPerSecond", 100).load().writeStream.format("noop")
    recipe = WriterRecipe(writer.option("checkpointLocation", str(plant.folder / "c")).trigger(processingTime="1 second"), arrival_column="timestamp")
    query = plant.engine.add("r", recipe, QuerySettings(trigger=recipe.trigger))
    plant.wait_commits(query, 3)
    plant.engine.read()
    reading = plant.engine.read()
    assert reading.arrival_rows_per_s is None and reading.lag_rows is None
    assert reading.throughput_rows_per_s is not None and reading.throughput_rows_per_s > 50
    assert reading.latency is not None, "latency needs only a column that says when a row arrived"


def test_records_from_the_future_are_clock_skew_and_not_a_latency(plant: Any) -> None:
    future = plant.session.readStream.format("rate-micro-batch").option("rowsPerBatch", 100).option("startTimestamp", 4_000_000_000_000).load()
    writer = future.writeStream.format("noop").option("checkpointLocation", str(plant.folder / "c")).trigger(processingTime="1 second")
    recipe = WriterRecipe(writer, arrival_column="timestamp")
    query = plant.engine.add("f", recipe, QuerySettings(trigger=recipe.trigger))
    plant.wait_commits(query, 2)
    reading = plant.engine.read()
    assert reading.latency is None
    assert reading.queries[0].clock_skew_s is not None and reading.queries[0].clock_skew_s > 1e8
    plant.engine.read()
    assert len(plant.said(ClockSkewed)) == 1
