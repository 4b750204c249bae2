import pytest
from testbeds import Stage

from penstock.core.domain.fault import Fault


def test_a_killed_executor_is_counted_as_a_failure_and_replaced(stage: Stage) -> None:
    copy = stage.copy()
    before = stage.until(copy, lambda reading: (reading.throughput_rows_per_s or 0.0) > 0.0, "it works")
    injected = copy.faults.inject(Fault(kind="kill"))
    assert injected.executor_id in {each.executor_id for each in before.executors}
    stage.until(copy, lambda reading: reading.failures == before.failures + 1, "the failure is counted")
    copy.faults.undo(injected)
    whole = stage.until(copy, lambda reading: reading.executors_running == 2 and (reading.throughput_rows_per_s or 0.0) > 0.0, "it is replaced, and works")
    assert whole.failures == before.failures + 1


def test_a_frozen_executor_goes_on_when_that_is_undone(stage: Stage) -> None:
    copy = stage.copy()
    before = stage.until(copy, lambda reading: (reading.throughput_rows_per_s or 0.0) > 0.0, "it works")
    injected = copy.faults.inject(Fault(kind="freeze"))
    assert injected.executor_id in {each.executor_id for each in before.executors}
    stage.wait(3.0)
    for _ in range(2):
        copy.faults.undo(injected)
    stage.wait(6.0)
    after = stage.until(copy, lambda reading: (reading.throughput_rows_per_s or 0.0) > 0.0, "it works again")
    assert after.failures == before.failures
    assert {each.executor_id for each in after.executors} == {each.executor_id for each in before.executors}


@pytest.mark.parametrize("stage", ["micro_batch", "continuous"], indirect=True)
def test_a_freeze_with_a_duration_ends_by_itself(stage: Stage) -> None:
    copy = stage.copy()
    before = stage.until(copy, lambda reading: (reading.throughput_rows_per_s or 0.0) > 0.0, "it works")
    copy.faults.inject(Fault(kind="freeze", duration_s=1.0))
    stage.wait(7.0)
    after = stage.until(copy, lambda reading: (reading.throughput_rows_per_s or 0.0) > 0.0, "it works again")
    assert after.failures == before.failures
