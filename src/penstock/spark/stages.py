"""What the stages of each batch did, and on which executors."""

from __future__ import annotations

from penstock.core.monitor.facts import StageFact
from penstock.spark.jvm import StatusStore
from penstock.spark.progress import batch_of_job, parse_stage


class StageReader:
    """Reads the Spark jobs of one query, each of them once."""

    def __init__(self, store: StatusStore) -> None:
        self._store = store
        self._seen: dict[str, int] = {}

    def stages_of(self, run_id: str, batches: set[int]) -> dict[int, tuple[StageFact, ...]]:
        """The stages of these committed batches, by batch, in the order in which they ran."""
        last = self._seen.get(run_id, -1)
        stages: dict[int, list[dict[str, dict[str, int]]]] = {}
        for job_id in self._store.job_ids(run_id):
            if job_id <= last:
                continue
            job = self._store.job(job_id)
            batch = None if job is None else batch_of_job(job)
            if job is None or batch is None or (batches and batch > max(batches)):
                continue
            self._seen = {run_id: max(job_id, self._seen.get(run_id, -1))}
            if batch in batches:
                shares = (self._store.stage_shares(stage_id) for stage_id in sorted(job["stageIds"]))
                stages.setdefault(batch, []).extend(share for share in shares if share)
        return {batch: tuple(parse_stage(position, share) for position, share in enumerate(found)) for batch, found in stages.items()}
