"""One query of a continuous job: its input, its position and its checkpoints."""

import math
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.domain.configuration import Change
from penstock.core.monitor.facts import BatchFact, OutputSample, QueryFacts, StageFact
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.fluid import Flow, Stretch
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Rows

HAIR = 1e-9
"""Tolerance for rounding, as a share of an interval."""
OUTPUTS_S = 120
"""An observation has the results of at most this many seconds."""
CAUGHT_UP_S = 0.01
"""A lag of less than this many seconds of arrivals is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoints:
    """Checkpoints at every interval after `since_s`, each followed by a pause; `taken` of them are past.

    >>> grid = Checkpoints(since_s=0.0, interval_s=10.0, pause_s=2.0)
    >>> grid.due(30.0).tolist(), grid.due(30.5).tolist()
    ([10.0, 20.0], [10.0, 20.0, 30.0])
    >>> grid.paused_s(np.array([10.0, 11.0, 15.0, 22.0])).tolist()
    [0.0, 1.0, 2.0, 4.0]
    """

    since_s: float
    interval_s: float
    pause_s: float
    taken: int = 0

    def due(self, end_s: float) -> FloatArray:
        """Return the times before `end_s` of those not taken yet."""
        count = math.ceil((end_s - self.since_s) / self.interval_s - HAIR) - 1
        return np.asarray(self.since_s + self.interval_s * np.arange(self.taken + 1, count + 1))

    def paused_s(self, time_s: FloatArray) -> FloatArray:
        """Return the sum of the pauses until each time."""
        since_first_s = np.maximum(time_s - self.since_s - self.interval_s, 0.0)
        whole = np.floor(since_first_s / self.interval_s)
        return np.asarray(whole * self.pause_s + np.minimum(since_first_s - whole * self.interval_s, self.pause_s))


class ContinuousQuery:
    """A query that its engine runs and stops; internal times count from the start of the run. `put_back` are rows to replay that are not reported yet."""

    def __init__(self, settings: ContinuousSettings, reads: Rows, start_s: float) -> None:
        self.settings = settings
        self.reads = reads
        self.record = Record(start_s)
        self.down_until_s: float | None = None
        self.position = 0.0
        self.put_back = 0.0
        self._trigger, self._limit = settings.trigger, settings.rate_limit_rows_per_s
        self._checkpoints = Checkpoints(since_s=0.0, interval_s=settings.interval_s, pause_s=settings.pause_s)
        self._started_s = 0.0
        self._arrived = self._committed = self._read = self._replayed = 0.0
        self._batches: list[BatchFact] = []
        self._batch_id = self._failures = self._reported = 0

    @property
    def name(self) -> str:
        return self.settings.query

    @property
    def limit_rows_per_s(self) -> float:
        return math.inf if self._limit is None else self._limit

    def fail(self) -> None:
        self._failures += 1
        self.go_back()

    def go_back(self) -> None:
        """Go back to the last checkpoint: the rows since then are replayed."""
        self.put_back += max(0.0, self.position - self._committed)
        self.position = self._committed

    def stop(self) -> None:
        """Stop for an instruction: go back to the last checkpoint if rescales replay, else take a checkpoint now."""
        if self.settings.replays:
            self.go_back()
        self._committed = self.position

    def take_down(self, until_s: float) -> None:
        self.down_until_s = max(self.down_until_s or 0.0, until_s)

    def change(self, wanted: Change) -> None:
        values = wanted.of(self.name)
        self._trigger, self._limit = values.get("trigger", self._trigger), values.get("rate_limit_rows_per_s", self._limit)

    def restart(self) -> None:
        assert self.down_until_s is not None
        self._started_s, self.down_until_s = self.down_until_s, None
        self._checkpoints = Checkpoints(since_s=self._started_s, interval_s=self._trigger.interval_s, pause_s=self.settings.pause_s)

    def stopped(self, edges_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the share of each second in which it pauses for a checkpoint, and in which it is down."""
        none = np.zeros(len(edges_s) - 1)
        if self.down_until_s is None:
            return np.diff(self._checkpoints.paused_s(edges_s)), none
        return none, np.clip(self.down_until_s - edges_s[:-1], 0.0, 1.0)

    def take_put_back(self) -> float:
        """Return the rows that are replayed from now on, once."""
        rows, self.put_back = self.put_back, 0.0
        self._replayed += rows
        return rows

    def run(self, stretch: Stretch, part: slice, end: int, executors: int) -> FloatArray:
        """Run through a part of the computed seconds, until second `end`; return the rows that finish in each."""
        seconds, flow, record = stretch.seconds.part(part), stretch.flow, self.record
        record.append(seconds)
        record.deliver(flow.edges_s[1:][part], seconds.latency_s, seconds.finished_rows)
        if any(each.recovered_s is None for each in record.struck):
            caught_up_s = flow.caught_up_s(part, CAUGHT_UP_S)
            if caught_up_s is not None:
                record.recovered(caught_up_s)
        if self.down_until_s is None:
            self._take_checkpoints(end, flow, executors)
        self._read += float(seconds.finished_rows.sum())
        self._arrived, self.position = float(flow.arrived_until[part.stop]), float(flow.position[part.stop])
        return seconds.finished_rows

    def _take_checkpoints(self, end: int, flow: Flow, executors: int) -> None:
        grid = self._checkpoints
        times_s = self.record.start_s + grid.due(end)
        for at_s, position in zip(times_s.tolist(), np.interp(times_s, flow.edges_s, flow.position).tolist(), strict=True):
            rows, started_s = position - self._committed, at_s - grid.interval_s
            self._batches.append(
                BatchFact(
                    batch_id=self._batch_id, started_s=started_s, committed_s=at_s, committed_wall_s=at_s, rows=rows, pause_s=grid.pause_s,
                    stages=(self._stage(rows, executors),),
                )
            )  # fmt: skip
            self._batch_id += 1
            self._committed = position
        self._checkpoints = replace(grid, taken=grid.taken + len(times_s))

    def _stage(self, rows: float, executors: int) -> StageFact:
        """Return the only stage; its run time is the time its tasks were busy, as in Flink, not how long they ran."""
        busy_s = rows / self.settings.capacity_rows_per_s
        return StageFact(position=0, name="all", tasks=executors, run_time_s=busy_s, rows=round(rows), reads_source=True)

    def facts(self, now: int, executor_rows: dict[str, float]) -> QueryFacts:
        """Return the present state, with the checkpoints and the results since the last call."""
        batches, self._batches = tuple(self._batches), []
        return QueryFacts(
            name=self.name, state="running" if self.down_until_s is None else "restarting", trigger=self._trigger, rate_limit_rows_per_s=self._limit,
            started_s=self.record.start_s + self._started_s, batches=batches, newest_rows=self._arrived, processed_rows=self.position,
            failures=self._failures, read_rows=self._read, executor_rows=executor_rows, outputs=self._outputs(now),
            replayed_rows=self._replayed + self.put_back,
        )  # fmt: skip

    def _outputs(self, now: int) -> tuple[OutputSample, ...]:
        """Return the results of each second since the last call."""
        first = max(self._reported, now - OUTPUTS_S)
        record, self._reported = self.record, now
        written = enumerate(zip(record.column("latency_s", first).tolist(), record.column("finished_rows", first).tolist(), strict=True), first + 1)
        start_s = record.start_s
        return tuple(OutputSample(wall_s=start_s + second, latency_s=took_s, rows=rows) for second, (took_s, rows) in written if rows > 0)
