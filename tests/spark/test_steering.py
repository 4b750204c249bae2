from typing import Any

import pytest
from changes import changing
from waiting import wait_until

from penstock.core.domain.job_spec import SinkSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused
from penstock.spark.query_settings import QuerySettings

CODE = """
def same(rows):
    return rows

def spread(rows):
    return rows.repartition("key")
"""

HELD_UP = """
import time
from pathlib import Path

def write(rows, batch_id):
    while Path(__file__).with_name("hold").exists():
        Path(__file__).with_name("held").touch()
        time.sleep(0.05)
"""


def test_trigger_and_limit_change_on_the_same_checkpoint_and_the_outcome_says_what_it_cost(plant: Any) -> None:
    query = plant.query("same", code=CODE, rate="constant(1000)", trigger="2s")
    plant.wait_commits(query, 2)
    before = query.query.id
    outcome = plant.carry_out(changing(1, "q", trigger=(query.settings.trigger, Trigger(interval_s=1.0)), rate_limit=(None, 300.0)))
    assert outcome.done and outcome.took_s > 0
    assert outcome.down_s is not None and 0 < outcome.down_s <= outcome.took_s
    assert outcome.delayed_rows is not None and 0 < outcome.delayed_rows < 20_000
    assert "down" in outcome.reason and "interrupted" not in outcome.reason, "it was stopped between two batches"
    assert query.query.id == before, "it is the same query, from the same checkpoint"
    query.commits.take()
    plant.wait_commits(query, 2)
    taken = [progress.end_offsets[0]["position"] - progress.start_offsets[0]["position"] for progress in query.commits.take()]
    assert set(taken) == {300}, "300 rows/s in batches of 1 s"
    plant.engine.read()
    reading = plant.engine.read()
    assert reading.queries[0].trigger.interval_s == 1.0 and reading.queries[0].rate_limit_rows_per_s == 300.0
    assert not query.failures


def test_settings_with_which_the_query_cannot_live_are_taken_back(plant: Any) -> None:
    query = plant.query("same", code=CODE)
    plant.wait_commits(query, 1)
    outcome = plant.carry_out(changing(1, "q", trigger=(query.settings.trigger, Trigger(kind="real_time", interval_s=15.0))))
    assert not outcome.done and outcome.reason, "real-time mode does not take this source"
    assert query.settings.trigger == Trigger(interval_s=1.0) and query.state == "running"
    plant.wait_commits(query, 1)


def test_a_query_without_state_takes_a_new_number_of_shuffle_partitions(plant: Any) -> None:
    plant.session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    query = plant.query("spread", code=CODE)
    plant.wait_commits(query, 1)
    assert plant.carry_out(changing(1, "q", partitions=(4, 2))).done
    plant.wait_commits(query, 1)
    assert plant.engine.read().queries[0].partitions == 2
    wait_until(lambda: [stage.tasks for stage in plant.engine.read().queries[0].stages][-1:] == [2], what="a window without batches of before the change")


def test_a_batch_that_cannot_be_interrupted_delays_a_change_and_a_stop_and_never_loses_the_query(plant: Any) -> None:
    (plant.folder / "held_up.py").write_text(HELD_UP)
    hold, held = plant.folder / "hold", plant.folder / "held"
    query = plant.query("same", code=CODE, sink=SinkSpec(foreach_batch="held_up.py:write"))
    plant.wait_commits(query, 1)

    def hold_a_batch() -> None:
        held.unlink(missing_ok=True)
        hold.touch()
        plant.wait_until(held.exists, what="a batch that is held up")

    time_out = plant.session.conf.get("spark.sql.streaming.stopTimeout")
    plant.session.conf.set("spark.sql.streaming.stopTimeout", "500ms")
    try:
        hold_a_batch()
        with pytest.raises(Refused, match="did not stop"):
            query.change(QuerySettings(trigger=Trigger(interval_s=2.0)), commit_wait_s=0.2)
        assert query.state == "failed" and query.settings.trigger == Trigger(interval_s=1.0) and not query.is_over
        hold.unlink()
        plant.wait_until(lambda: query.state == "running", what="the restart, once the batch that was held up has ended")
        plant.wait_commits(query, 1)
        assert len(query.failures) == 1

        hold_a_batch()
        assert not plant.engine.stop_queries(0.2, lambda: False), "a batch was interrupted, and that is no error"
        assert query.state == "stopped"
    finally:
        hold.unlink(missing_ok=True)
        plant.session.conf.set("spark.sql.streaming.stopTimeout", time_out)
