"""A streaming query as its event log shows it: open batches, commits, and arrivals by the rows counted at the start of each batch."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

import numpy as np

from penstock.core.domain.trigger import Trigger
from penstock.core.monitor.facts import ArrivalSample, BatchFact, ExecutorShare, QueryFacts, StageFact
from penstock.eventlog.events import QueryProgressed, TaskEnded

KEPT = 400
WAITED_S = 0.1
"""A batch that starts more than this after the end of the one before has waited; one that starts as soon as possible takes a hundredth of it."""
LEAST_WAITS = 5
QUICK = 0.2
"""The quantile of cycles that is the interval: longer ones have skipped a trigger."""
NEAR = 0.05
REGULAR = 0.7
"""A trigger has an interval if at least this share of the cycles is a multiple of it; else batches waited for rows."""
SHORTEST_STEADY_S = 5.0
STEADY = 0.02
ALL_THE_TIME = 0.9
MOST = 0.9
"""A query is in Real-Time Mode if at least this share of its batches are as long as each other, within `STEADY`, and their tasks run all the time."""


class Rhythm:
    """The start, end and longest task of the last batches of a query."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, float]] = deque(maxlen=KEPT)

    def batch(self, started_s: float, committed_s: float, longest_task_s: float) -> None:
        self._batches.append((started_s, committed_s, longest_task_s))

    @property
    def trigger(self) -> Trigger:
        """With an interval if batches that waited started on a grid, else as soon as possible.

        The interval of a job that never keeps up cannot be seen, as its batches start without waiting.

        >>> steady = Rhythm()
        >>> for number in range(10):
        ...     steady.batch(10.0 * number + 0.003 * (number % 2), 10.0 * number + 4.0, 3.0)
        >>> str(steady.trigger), str(Rhythm().trigger)
        ('10s', 'asap')
        """
        cycles = sorted(start_s - before_s for (before_s, ended_s, _), (start_s, _, _) in pairwise(self._batches) if start_s - ended_s > WAITED_S)
        if len(cycles) < LEAST_WAITS:
            return Trigger()
        interval_s = rounded_s(cycles[int(QUICK * len(cycles))])
        whole = sum(abs(cycle / interval_s - max(1, round(cycle / interval_s))) <= NEAR for cycle in cycles)
        return Trigger(interval_s=interval_s) if whole >= REGULAR * len(cycles) else Trigger()

    @property
    def usual_s(self) -> float:
        """The median duration of its batches; 0 without any."""
        return median(ended_s - start_s for start_s, ended_s, _ in self._batches) if self._batches else 0.0

    @property
    def is_real_time(self) -> bool:
        """Whether the query is in Real-Time Mode: most batches have the same duration, and their tasks run all of it."""
        if len(self._batches) < LEAST_WAITS:
            return False
        known, usual_s = [(ended_s - start_s, task_s) for start_s, ended_s, task_s in self._batches], self.usual_s
        alike = sum(abs(length_s - usual_s) <= STEADY / 2 * usual_s and task_s >= ALL_THE_TIME * length_s for length_s, task_s in known)
        return usual_s >= SHORTEST_STEADY_S and alike >= MOST * len(known)


def rounded_s(seconds: float) -> float:
    """Round an interval to what a user would have written.

    >>> rounded_s(9.997), rounded_s(0.251), rounded_s(0.4999)
    (10.0, 0.25, 0.5)
    """
    return next((near for digits in (0, 1, 2) if (near := round(seconds, digits)) > 0 and abs(near - seconds) <= 0.02 * seconds), round(seconds, 3))


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
            name=self.name, state="running" if self.runs else "ended", trigger=self.rhythm.trigger, rate_limit_rows_per_s=None, started_s=self.started_s,
            batches=new, idle_s=self._idle_s, newest_rows=self._curve.newest_rows, processed_rows=self._curve.processed_rows, partitions=self._partitions,
            failures=self.failures, counted_s=self._curve.counted_s,
        )  # fmt: skip
