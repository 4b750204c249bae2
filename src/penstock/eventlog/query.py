"""A streaming query as its event log shows it: open batches, commits, and arrivals by the rows counted at the start of each batch."""

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from penstock.core.monitor.facts import ArrivalSample, BatchFact, ExecutorShare, QueryFacts, StageFact
from penstock.eventlog.events import QueryProgressed, TaskEnded
from penstock.eventlog.rhythm import Rhythm

PROBABILITIES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


class ArrivalCurve:
    """Rows arrived by a time, as far back as rows still wait, linear between the counts at the start of each batch.

    If the source does not report what a batch left behind, a batch is assumed to take all rows.

    >>> curve = ArrivalCurve()
    >>> curve.batch(100.0, rows=5000, behind_rows=None) is None
    True
    >>> curve.batch(110.0, rows=1000, behind_rows=None).wall_s[::3]
    (100.0, 105.0, 110.0)
    """

    def __init__(self) -> None:
        self._times_s: list[float] = []
        self._rows: list[float] = []
        self.processed_rows = 0.0

    @property
    def newest_rows(self) -> float | None:
        return self._rows[-1] if self._rows else None

    @property
    def counted_s(self) -> float | None:
        """When the newest rows were counted."""
        return self._times_s[-1] if self._times_s else None

    def idle(self, at_s: float) -> None:
        """Record that no more rows had arrived by then."""
        if self._times_s and at_s > self._times_s[-1]:
            self._times_s[-1] = at_s

    def batch(self, started_s: float, *, rows: float, behind_rows: float | None) -> ArrivalSample | None:
        """Return when the rows of a batch arrived; None for one without rows and for the first one, whose rows may have waited for long."""
        before = self.processed_rows
        self.processed_rows += rows
        known = bool(self._times_s)
        self._count(started_s, self.processed_rows + (behind_rows or 0.0))
        if not known or rows <= 0:
            return None
        wall_s = np.interp(before + rows * np.array(PROBABILITIES), self._rows, self._times_s)
        self._forget()
        return ArrivalSample(rows=rows, probabilities=PROBABILITIES, wall_s=tuple(wall_s.tolist()))

    def _count(self, at_s: float, newest: float) -> None:
        """Record a count; one that is not above the last one only shows that no rows arrived since."""
        if self._times_s and at_s <= self._times_s[-1]:
            self._rows[-1] = max(self._rows[-1], newest)
        elif self._rows and newest <= self._rows[-1]:
            self._times_s[-1] = at_s
        else:
            self._times_s.append(at_s)
            self._rows.append(newest)

    def _forget(self) -> None:
        """Drop points that no waiting row needs."""
        keep = max(0, int(np.searchsorted(self._rows, self.processed_rows, side="right")) - 1)
        del self._times_s[:keep], self._rows[:keep]


@dataclass(slots=True)
class Share:
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
    """A batch that has not committed yet: the work done for each of its stages, by id."""

    stages: dict[int, Shares] = field(default_factory=dict)

    def facts(self) -> tuple[StageFact, ...]:
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
    """A query up to the last event taken, and its batches since the last call of `facts`."""

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
        """Add a task of a batch that has not committed yet."""
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
        """Whether it has committed a batch since the last call of `facts`."""
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
