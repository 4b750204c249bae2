import signal
from typing import Any

import pytest
from changes import changing, scaling
from ledgers import positions_in

from penstock.core.domain.trigger import Trigger
from penstock.spark.sink import count_rows, pages

COUNTS = """
from pyspark.sql import functions as F

def counts(rows):
    return rows.groupBy((F.col("position") % 50).alias("bucket")).agg(F.count("*").alias("n"), F.max("position").alias("last"))

def all_rows(rows):
    return rows.select("position", "key")
"""


@pytest.mark.long
def test_thousands_of_keyed_records_survive_rescales_restarts_and_kills_without_loss_or_doubling(plant: Any) -> None:
    plant.wait_until(lambda: len(plant.engine.pool.running()) >= 2, what="two executors")
    query = plant.query("job_q.py:all_rows", code=COUNTS, rate="sine(mean=600, amplitude=300, period=20)", partitions="2")
    counted = plant.query("job_n.py:counts", code=COUNTS, name="n", rate="constant(400)", mode="complete", trigger="2s", partitions="2")
    plant.wait_commits(query, 1)

    plant.carry_out(scaling(1, 2, 3))
    changed = plant.carry_out(changing(2, "q", trigger=(Trigger(interval_s=1.0), Trigger(interval_s=0.5)), rate_limit=(None, 900.0)))
    assert changed.done and changed.delayed_rows is not None and changed.took_s > 0
    plant.carry_out(scaling(3, 3, 1))
    victim = plant.engine.processes.process(plant.engine.pool.running()[0])
    assert victim is not None
    victim.send_signal(signal.SIGKILL)
    plant.wait_commits(query, 2)
    with query.lock:
        query.query.stop()  # in the middle of a batch: what it had logged is replayed
        query.start()
    repartition = changing(5, "n", trigger=(Trigger(interval_s=2.0), Trigger(interval_s=1.0)), partitions=(4, 2))
    _, repartitioned = plant.carry_out_together(scaling(4, 1, 2), repartition)
    assert repartitioned.done, repartitioned.reason
    assert plant.carry_out(changing(6, "q", trigger=(Trigger(interval_s=0.5), Trigger(interval_s=1.0)), rate_limit=(900.0, None))).done
    plant.wait_commits(query, 3)
    plant.wait_commits(counted, 2)
    plant.engine.stop_queries(30, lambda: False)

    positions = positions_in(plant.ledger())
    assert len(positions) > 5000
    assert positions == list(range(len(positions))), "every position exactly once"
    assert len(positions) == count_rows(plant.ledger())
    assert [page["batch"] for page in pages(plant.ledger())] == list(range(len(pages(plant.ledger()))))

    buckets = plant.session.read.format("ledger").load(str(plant.ledger("n"))).collect()
    assert len(buckets) == 50
    assert sum(row.n for row in buckets) == max(row.last for row in buckets) + 1, "the state counts every record once, through the re-partitioning too"
    assert counted.commits.last.state_partitions == 2
