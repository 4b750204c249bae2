import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.reading import StageReading
from penstock.core.monitor.facts import BatchFact, ExecutorShare, StageFact
from penstock.core.monitor.stages import executor_shares, stage_readings
from penstock.core.monitor.window import Window

SHARES = st.lists(st.builds(ExecutorShare, executor_id=st.sampled_from("123"), task_time_s=st.floats(0, 60), rows=st.integers(0, 10_000)), max_size=4)


def stage(position: int, *shares: ExecutorShare, reads_source: bool = True, tasks: int = 4) -> StageFact:
    run_time_s = sum(share.task_time_s for share in shares)
    rows = sum(share.rows for share in shares)
    return StageFact(position=position, name=f"stage {position}", tasks=tasks, run_time_s=run_time_s, rows=rows, reads_source=reads_source, shares=shares)


def batch(rows: float, *stages: StageFact) -> BatchFact:
    return BatchFact(batch_id=1, started_s=0.0, committed_s=1.0, committed_wall_s=1.0, rows=rows, stages=stages)


@given(st.lists(st.tuples(st.floats(0, 1e6), SHARES, SHARES, SHARES), max_size=4))
def test_the_shares_of_the_executors_together_are_the_rows_of_the_batches(
    batches: list[tuple[float, list[ExecutorShare], list[ExecutorShare], list[ExecutorShare]]],
) -> None:
    facts = [batch(rows, stage(0, *first), stage(1, *second), stage(2, *third, reads_source=False)) for rows, first, second, third in batches]
    task_time, rows = executor_shares(facts)
    assert sum(rows.values()) == pytest.approx(sum(each.rows for each in facts if sum(stage.rows for stage in each.stages if stage.reads_source)))
    assert sum(task_time.values()) == pytest.approx(sum(stage.run_time_s for each in facts for stage in each.stages))


def test_a_source_that_is_scanned_twice_counts_once() -> None:
    left, right = ExecutorShare(executor_id="1", task_time_s=1.0, rows=300), ExecutorShare(executor_id="2", task_time_s=2.0, rows=100)
    task_time, rows = executor_shares([batch(400.0, stage(0, left, right), stage(1, left, right))])
    assert rows == {"1": 300.0, "2": 100.0}
    assert task_time == {"1": 2.0, "2": 4.0}


def test_a_stage_is_known_by_its_position_and_averaged_over_the_window() -> None:
    share = ExecutorShare(executor_id="1", task_time_s=3.0, rows=100)
    window = Window(start_s=0.0, end_s=10.0, batches=(batch(100.0, stage(1, share), stage(0, share)), batch(100.0, stage(0, share, tasks=8))))
    assert stage_readings(window, slots=2) == (
        StageReading(position=0, name="stage 0", tasks=6.0, rows_per_s=20.0, run_time_s_per_s=0.6, busyness=0.3),
        StageReading(position=1, name="stage 1", tasks=4.0, rows_per_s=10.0, run_time_s_per_s=0.3, busyness=0.15),
    )
    assert all(each.busyness is None for each in stage_readings(window, slots=0))
