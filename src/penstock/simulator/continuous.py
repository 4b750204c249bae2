"""The continuous engine: a job whose tasks run all the time, as a fluid in steps of a second."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from penstock.core.domain.instruction import ChangeQuery, Instruction, Outcome, ScaleExecutors
from penstock.core.monitor.facts import BatchFact, Observation, OutputSample, QueryFacts
from penstock.simulator.asked import Asked, refusal
from penstock.simulator.checkpoints import Checkpoints
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.fluid import Flow, flowing
from penstock.simulator.load import Load
from penstock.simulator.record import Fault, Record, Rescaled, Struck
from penstock.simulator.stretch import Stretch, latency_s, seconds_of
from penstock.simulator.workers import Workers

AHEAD_S = 300
"""So many seconds are worked out at once."""
OUTPUTS_S = 120
"""An observation tells of the results of so many seconds at most."""
CAUGHT_UP_S = 0.01
"""A lag of so many seconds of arrivals is none."""
HAIR_S = 1e-6
"""What rounding may do to a time of a clock that counts from 1970."""


class ContinuousEngine:
    """A job of one query in which the busiest worker decides the capacity, and a failure costs what came since the last checkpoint.

    Inside, times count from the start of the run. A fault strikes at the beginning of its second, before a checkpoint of the same moment.
    """

    def __init__(self, settings: ContinuousSettings, load: Load, *, executors: int, seed: int = 0, faults: Sequence[Fault] = ()) -> None:
        if executors < 1 or any(fault.at_s < load.start_s for fault in faults):
            raise ValueError("a job has a worker at least, and no fault comes before it starts")
        self._settings = settings
        self._load = load
        self._record = Record(load.start_s)
        self._faults = deque(sorted(faults, key=lambda fault: fault.at_s))
        self._workers = Workers(settings, seed)
        self._workers.start(executors, load.start_s)
        self._size = executors
        self._trigger, self._limit = settings.trigger, settings.rate_limit_rows_per_s
        self._checkpoints = Checkpoints(since_s=0.0, interval_s=settings.interval_s, pause_s=settings.pause_s)
        self._asked: list[Asked] = []
        self._ahead: Stretch | None = None
        self._now = self._looked = 0
        self._down_until_s: float | None = None
        self._started_s = self._disturbed_s = 0.0
        self._arrived = self._position = self._committed = 0.0
        self._read = self._replayed = self._put_back = 0.0
        self._batches: list[BatchFact] = []
        self._batch_id = self._failures = 0

    @property
    def record(self) -> Record:
        return self._record

    def follow(self, load: Load) -> None:
        self._load, self._ahead = load, None

    def advance(self, until_s: float) -> None:
        end = math.floor(until_s - self._record.start_s + HAIR_S)
        while True:
            self._take_effect()
            if self._now >= end:
                return
            self._strike()
            step = min(end, self._undisturbed_until())
            if step > self._now:
                self._live(step)

    def _undisturbed_until(self) -> int:
        """The second at which something else than work happens, but not too far ahead."""
        moments = [self._down_until_s, *(each.ready_s for each in self._asked), self._second_of(self._faults[0]) if self._faults else None]
        return min([self._now + AHEAD_S, *(math.ceil(moment) for moment in moments if moment is not None)])

    def _second_of(self, fault: Fault) -> int:
        return math.floor(fault.at_s - self._record.start_s + HAIR_S)

    def _strike(self) -> None:
        """Suffer the faults that are due."""
        while self._faults and self._second_of(self._faults[0]) <= self._now:
            fault = self._faults.popleft()
            self._record.struck.append(Struck(at_s=fault.at_s, kind=fault.kind))
            self._failures += 1
            self._go_back()
            self._stand_still(self._settings.downtime_s + (self._settings.timeout_s if fault.kind == "timeout" else 0.0))

    def _go_back(self) -> None:
        """To the last checkpoint: what came since is to be read once more; less than nothing is rounding."""
        self._put_back += max(0.0, self._position - self._committed)
        self._position = self._committed

    def _stand_still(self, seconds: float) -> None:
        self._ahead, self._disturbed_s = None, float(self._now)
        self._down_until_s = max(self._down_until_s or 0.0, self._now + seconds)

    def _take_effect(self) -> None:
        """Come back, and finish what was asked, if it is time."""
        back_s = self._down_until_s if self._down_until_s is not None and self._down_until_s <= self._now else None
        done = [each for each in self._asked if (back_s is not None if each.ready_s is None else each.ready_s <= self._now)]
        if back_s is None and not done:
            return
        self._asked = [each for each in self._asked if each not in done]
        at_s = max(each.ready_s or 0.0 for each in done) if back_s is None else back_s
        size = len(self._workers)
        for each in done:
            if isinstance(each.instruction, ScaleExecutors):
                size = each.instruction.executors
            else:
                self._trigger, self._limit = each.instruction.trigger, each.instruction.rate_limit_rows_per_s
        self._workers.start(size, self._record.start_s + at_s)
        self._ahead, self._disturbed_s = None, at_s
        if back_s is not None:
            self._down_until_s, self._started_s = None, at_s
            self._checkpoints = Checkpoints(since_s=at_s, interval_s=self._trigger.interval_s, pause_s=self._settings.pause_s)
        for each in done:
            self._finish(each, at_s)

    def _finish(self, asked: Asked, at_s: float) -> None:
        took_s = at_s - asked.asked_s
        down_s = took_s if asked.ready_s is None else None
        if isinstance(asked.instruction, ScaleExecutors):
            start_s, after = self._record.start_s, asked.instruction.executors
            rescaled = Rescaled(asked_s=start_s + asked.asked_s, done_s=start_s + at_s, before=asked.before, after=after, down_s=down_s)
            self._record.rescales.append(rescaled)
        asked.report(Outcome(number=asked.instruction.number, done=True, took_s=took_s, down_s=down_s))

    def _live(self, end: int) -> None:
        """Work, or stand still, until second `end`; nothing else happens before it."""
        if self._ahead is None or self._ahead.end <= self._now:
            self._ahead = self._worked_out(self._undisturbed_until())
        ahead, record = self._ahead, self._record
        end = min(end, ahead.end)
        part = slice(self._now - ahead.first, end - ahead.first)
        seconds = ahead.seconds.part(part)
        record.append(seconds)
        record.deliver(ahead.flow.edges_s[1:][part], seconds.latency_s, seconds.finished_rows)
        if any(each.recovered_s is None for each in record.struck):
            caught_up_s = ahead.flow.caught_up_s(part, CAUGHT_UP_S)
            if caught_up_s is not None:
                record.recovered(caught_up_s)
        self._workers.work(seconds.finished_rows, ahead.cpu_s[part])
        if self._down_until_s is None:
            self._take_checkpoints(end, ahead.flow)
        self._read += float(seconds.finished_rows.sum())
        self._arrived, self._position = float(ahead.flow.arrived_until[part.stop]), float(ahead.flow.position[part.stop])
        self._now = end

    def _worked_out(self, end: int) -> Stretch:
        """What happens from now until second `end` if nothing else does."""
        edges_s, none = np.arange(self._now, end + 1, dtype=np.float64), np.zeros(end - self._now)
        if self._down_until_s is None:
            paused, down = np.diff(self._checkpoints.paused_s(edges_s)), none
        else:
            paused, down = none, np.clip(self._down_until_s - edges_s[:-1], 0.0, 1.0)
        capacity = min(self._workers.capacity_rows_per_s, math.inf if self._limit is None else self._limit)
        flow = flowing(self._load, self._record.start_s + edges_s, self._position, capacity, working=1.0 - down - paused)
        seconds = seconds_of(flow, latency_s(flow, capacity, paused, self._settings), workers=self._size, down=down, put_back=self._put_back)
        self._replayed, self._put_back = self._replayed + self._put_back, 0.0
        return Stretch(first=self._now, flow=flow, seconds=seconds, cpu_s=self._workers.cpu_s(flow.finished_rows, self._now))

    def _take_checkpoints(self, end: int, flow: Flow) -> None:
        grid = self._checkpoints
        times_s = self._record.start_s + grid.due(end)
        for at_s, position in zip(times_s.tolist(), np.interp(times_s, flow.edges_s, flow.position).tolist(), strict=True):
            rows, started_s = position - self._committed, at_s - grid.interval_s
            self._batches.append(
                BatchFact(batch_id=self._batch_id, started_s=started_s, committed_s=at_s, committed_wall_s=at_s, rows=rows, pause_s=grid.pause_s)
            )
            self._batch_id += 1
            self._committed = position
        self._checkpoints = replace(grid, taken=grid.taken + len(times_s))

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        reason = refusal(instruction, self._settings, self._asked)
        if reason or not isinstance(instruction, (ScaleExecutors, ChangeQuery)):
            report(Outcome(number=instruction.number, done=False, took_s=0.0, reason=reason))
            return
        settings, now_s, before, ready_s = self._settings, float(self._now), self._size, None
        size = instruction.executors if isinstance(instruction, ScaleExecutors) else before
        if isinstance(instruction, ScaleExecutors) and size == before:
            report(Outcome(number=instruction.number, done=True, took_s=0.0))
            return
        if size > before and settings.grows_live:
            ready_s = now_s + settings.up_s
        else:
            if settings.replays:
                self._go_back()
            self._committed = self._position
            self._stand_still(settings.down_s if size < before else settings.up_s)
        self._ahead, self._size = None, size
        self._asked.append(Asked(instruction=instruction, report=report, asked_s=now_s, before=before, ready_s=ready_s))

    def observation(self) -> Observation:
        start_s = self._record.start_s
        return Observation(
            at_s=start_s + self._now,
            started_s=start_s,
            disturbed_s=start_s + self._disturbed_s,
            executors_requested=self._size,
            executors=self._workers.facts,
            queries=(self._query(),),
        )

    def _query(self) -> QueryFacts:
        batches, self._batches = tuple(self._batches), []
        return QueryFacts(
            name=self._settings.query,
            state="running" if self._down_until_s is None else "restarting",
            trigger=self._trigger,
            rate_limit_rows_per_s=self._limit,
            started_s=self._record.start_s + self._started_s,
            batches=batches,
            newest_rows=self._arrived,
            processed_rows=self._position,
            failures=self._failures,
            read_rows=self._read,
            executor_rows=self._workers.rows,
            outputs=self._outputs(),
            replayed_rows=self._replayed + self._put_back,
        )

    def _outputs(self) -> tuple[OutputSample, ...]:
        """The results of each second since the last look."""
        first = max(self._looked, self._now - OUTPUTS_S)
        seen, self._looked = self._record.seconds(first), self._now
        written = enumerate(zip(seen.latency_s.tolist(), seen.finished_rows.tolist(), strict=True), first + 1)
        start_s = self._record.start_s
        return tuple(OutputSample(wall_s=start_s + second, latency_s=took_s, rows=rows) for second, (took_s, rows) in written if rows > 0)
