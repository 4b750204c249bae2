import signal
import time
from typing import Any

from changes import scaling

from penstock.core.domain.events.executor_events import ExecutorLost
from penstock.core.domain.instruction import MISSING


def test_executors_come_and_leave_live_and_a_crashed_one_is_replaced_after_a_scale_down(plant: Any) -> None:
    plant.wait_until(lambda: len(plant.engine.pool.running()) >= 2, what="two executors")
    query = plant.query("job_q.py:passed_on", code="def passed_on(rows):\n    return rows\n")
    plant.wait_commits(query, 2)
    plant.engine.read()

    up = plant.carry_out(scaling(1, 2, 3))
    assert up.done and up.took_s > 0 and up.down_s is None, "the query works on meanwhile"
    assert len(plant.engine.pool.running()) == 3
    assert plant.carry_out(scaling(2, 3, 2)).done and len(plant.engine.pool.running()) == 2
    # Where executors are not decommissioned they are killed, and each kill lowers Spark's own target.
    plant.engine.pool._decommission = False
    assert plant.carry_out(scaling(3, 2, 1)).done
    survivors = plant.engine.pool.running()
    assert len(survivors) == 1
    assert query.state == "running" and not query.failures, "rescaling must not end a query"

    plant.engine.read()
    victim = plant.engine.processes.process(survivors[0])
    assert victim is not None
    victim.send_signal(signal.SIGKILL)
    plant.wait_until(lambda: survivors[0] not in plant.engine.pool.running(), what="the loss of the executor")
    plant.wait_until(lambda: len(plant.engine.pool.running()) == 1, what="the replacement of the executor")
    plant.engine.read()
    assert [event.executor_id for event in plant.said(ExecutorLost)] == [survivors[0]]
    plant.wait_commits(query, 2)
    assert not query.failures


def test_executors_that_never_arrive_are_reported_missing_and_those_that_run_go_on(plant: Any) -> None:
    plant.wait_until(lambda: len(plant.engine.pool.running()) >= 2, what="two executors")
    began = time.monotonic()
    scaled = plant.engine.pool.scale(9, timeout_s=8, wait_for_gap=lambda: None)
    assert not scaled.done and scaled.reason == MISSING
    assert 8 <= time.monotonic() - began < 30
    plant.wait_until(lambda: len(plant.engine.pool.running()) >= 3, what="as many as the cluster gives")
    assert len(plant.engine.pool.running()) == 3, "the cluster gives no more than the session's limit"
    assert plant.engine.pool.scale(2, timeout_s=60, wait_for_gap=lambda: None).done
