from typing import Any

from penstock.spark.live_rows import LOOKED_BACK_JOBS, LiveRows


class Store:
    """One job a batch, of one stage with two tasks that read five rows each."""

    def __init__(self) -> None:
        self.jobs = 0

    def job_ids(self, group: str) -> list[int]:
        return list(range(self.jobs))

    def job(self, job_id: int) -> dict[str, Any]:
        words = f"id = q\nrunId = r\nbatch = {job_id}"
        return {"jobId": job_id, "description": words, "stageIds": [job_id], "numFailedTasks": 0, "status": "SUCCEEDED"}

    def tasks(self, stage_id: int) -> list[dict[str, Any]]:
        return [
            {"taskId": 2 * stage_id + index, "index": index, "executorId": str(index), "launchTime": 1000, "duration": 10, "status": "SUCCESS",
             "taskMetrics": {"inputMetrics": {"recordsRead": 5}}}
            for index in (0, 1)
        ]  # fmt: skip


def test_what_is_kept_of_the_tasks_of_a_run_does_not_grow_with_its_batches() -> None:
    store = Store()
    live = LiveRows(store, 1.0)  # type: ignore[arg-type]
    for batch in range(5 * LOOKED_BACK_JOBS):
        store.jobs += 1
        live.look("r")
        live.look("r")
        live.forget_before(batch)
    assert live.read_rows == 10 * store.jobs, "each task is counted once"
    run = live._run
    assert max(len(run.over), len(run.jobs), len(run.stages)) <= LOOKED_BACK_JOBS and len(run.batches) <= 2
