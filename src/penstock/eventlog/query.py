"""One query of an event log, as a monitor would have seen it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from penstock.core.monitor.facts import BatchFact, ExecutorShare, QueryFacts, StageFact
from penstock.eventlog.arrivals import ArrivalCurve
from penstock.eventlog.events import QueryProgressed, TaskEnded
from penstock.eventlog.rhythm import Rhythm


@dataclass(slots=True)
class Share:
    """What one executor did for one stage."""

    run_time_s: float = 0.0
    source_rows: int = 0
    shuffle_rows: int = 0
    tasks: int = 0
    longest_s: float = 0.0

    def add(self, task: TaskEnded) -> None:
        self.run_time_s += task.run_time_s
        self.source_rows += task.source_rows
        self.shuffle_rows += task.shuffle_rows
        self.tasks += task.succeeded
        self.longest_s = max(self.longest_s, task.run_time_s)


Shares = dict[str, Share]
"""By executor."""


@dataclass(slots=True)
class OpenBatch:
    """A batch that has not committed yet: its stages by their ids, and what was done for each."""

    stages: dict[int, Shares] = field(default_factory=dict)

    def facts(self) -> tuple[StageFact, ...]:
        """Those that ran, in their order."""
        ran = [shares for _, shares in sorted(self.stages.items())]
        return tuple(stage_fact(position, shares) for position, shares in enumerate(ran))

    @property
    def longest_task_s(self) -> float:
        return max((share.longest_s for shares in self.stages.values() for share in shares.values()), default=0.0)


def stage_fact(position: int, shares: Shares) -> StageFact:
    read = sum(share.source_rows for share in shares.values())
    return StageFact(
        position=position,
        name="source" if read else f"after shuffle {position}" if position else "first",
        tasks=sum(share.tasks for share in shares.values()),
        run_time_s=sum(share.run_time_s for share in shares.values()),
        rows=read + sum(share.shuffle_rows for share in shares.values()),
        reads_source=read > 0,
        shares=tuple(
            ExecutorShare(executor_id=executor_id, task_time_s=share.run_time_s, rows=share.source_rows) for executor_id, share in sorted(shares.items())
        ),
    )


class LoggedQuery:
    """What a log has told of a query so far, and what is new since the last look."""

    def __init__(self, query_id: str, name: str | None, started_s: float) -> None:
        self.name = name or f"query {query_id[:8]}"
        self.started_s = started_s
        self.runs = True
        self.failures = 0
        self.tells_arrivals = False
        self.batches_in_all = 0
        self.rhythm = Rhythm()
        self._curve = ArrivalCurve()
        self._open: dict[int, OpenBatch] = defaultdict(OpenBatch)
        self._new: list[BatchFact] = []
        self._idle_s: float | None = None
        self._partitions: int | None = None

    def task(self, batch_id: int, task: TaskEnded) -> None:
        """A task of a batch that has not committed yet."""
        self._open[batch_id].stages.setdefault(task.stage, {}).setdefault(task.executor_id, Share()).add(task)

    def idle(self, at_s: float) -> None:
        self._idle_s = at_s
        self._curve.idle(at_s)

    def committed(self, batch: QueryProgressed) -> None:
        ran = self._open.pop(batch.batch_id, OpenBatch())
        for left in [batch_id for batch_id in self._open if batch_id < batch.batch_id]:
            del self._open[left]
        self.tells_arrivals = batch.behind_rows is not None
        self.batches_in_all += 1
        self._partitions = batch.partitions or self._partitions
        self.rhythm.batch(batch.started_s, batch.at_s, ran.longest_task_s)
        arrivals = self._curve.batch(batch.started_s, rows=batch.rows, behind_rows=batch.behind_rows)
        self._new.append(
            BatchFact(
                batch_id=batch.batch_id,
                started_s=batch.started_s,
                committed_s=batch.at_s,
                committed_wall_s=batch.at_s,
                rows=float(batch.rows),
                parts_s=batch.parts_s,
                arrivals=() if arrivals is None else (arrivals,),
                stages=ran.facts(),
                state_rows=batch.state_rows,
                state_memory_bytes=batch.state_memory_bytes,
            )
        )

    @property
    def has_news(self) -> bool:
        """Whether it has committed a batch since the last look."""
        return bool(self._new)

    def facts(self) -> QueryFacts:
        new, self._new = tuple(self._new), []
        return QueryFacts(
            name=self.name,
            state="running" if self.runs else "ended",
            trigger=self.rhythm.trigger,
            rate_limit_rows_per_s=None,
            started_s=self.started_s,
            batches=new,
            idle_s=self._idle_s,
            newest_rows=self._curve.newest_rows,
            processed_rows=self._curve.processed_rows,
            partitions=self._partitions,
            failures=self.failures,
            counted_s=self._curve.counted_s,
        )
