import os
from pathlib import Path

import psutil
import pytest
from testbeds import Stage, continuous_stage

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.fault import Fault
from penstock.core.errors import NotReachable, UserMistake


def test_a_copy_reads_what_it_was_launched_with(stage: Stage) -> None:
    wanted, reading = stage.configuration, stage.copy().read()
    assert reading.executors_requested == reading.executors_running == wanted.executors
    (query,) = reading.queries
    knobs = wanted.queries["q"]
    assert (query.name, query.trigger, query.rate_limit_rows_per_s) == ("q", knobs.trigger, knobs.rate_limit_rows_per_s)
    assert query.partitions == knobs.partitions


def test_the_rate_that_is_set_arrives(stage: Stage) -> None:
    copy = stage.copy()
    copy.read()
    for rate in (700.0, 300.0):
        copy.set_rate(rate)
        arrived = stage.until(copy, lambda reading: reading.arrival_rows_per_s == pytest.approx(rate, rel=0.03), f"{rate:g} rows/s")  # noqa: B023
        assert arrived.failures == 0


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


def test_a_query_that_the_job_does_not_have_is_refused(stage: Stage) -> None:
    with pytest.raises(UserMistake, match="no query"):
        stage.testbed.launch(Configuration(executors=1, queries={"other": stage.configuration.queries["q"]}))


def test_stop_leaves_nothing_and_another_configuration_can_be_launched_after_it(stage: Stage, state_home: Path) -> None:
    copy = stage.copy()
    for _ in range(2):
        copy.stop()
    with pytest.raises(NotReachable):
        copy.read()
    if stage.is_real:
        assert not [process for process in psutil.process_iter(["cmdline"]) if "original-copy" in " ".join(process.info["cmdline"] or [])]
        assert not [path for path, _, _ in os.walk(state_home) if "original-copy" in path]
    stage.shared = stage.testbed.launch(Configuration(executors=2))
    reading = stage.shared.read()
    (query,) = reading.queries
    assert reading.executors_running == 2 and reading.failures == 0 and query.state == "running"
    assert query.rate_limit_rows_per_s is None and query.trigger != stage.configuration.queries["q"].trigger, "as the job has it"
    stage.shared.stop()
    stage.shared = None


def test_copies_side_by_side_see_the_same_rate_and_only_the_large_ones_keep_up() -> None:
    stage = continuous_stage()
    copies = [stage.testbed.launch(Configuration(executors=executors)) for executors in (1, 2, 4)]
    for copy in copies:
        copy.set_rate(1500.0)
        copy.read()
    stage.wait(60.0)
    readings = [copy.read() for copy in copies]
    assert {reading.at_s for reading in readings} == {5060.0}
    assert [reading.arrival_rows_per_s for reading in readings] == pytest.approx([1500.0] * 3)
    assert [reading.throughput_rows_per_s for reading in readings] == pytest.approx([1000.0, 1500.0, 1500.0], rel=0.02)
    assert [(reading.excess_lag_rows or 0.0) > 1000.0 for reading in readings] == [True, False, False]
