"""The continuous engine: a job whose tasks run all the time, as a fluid in steps of a second."""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.monitor.facts import Observation
from penstock.core.shapes.chance import FloatArray
from penstock.simulator.continuous_query import ContinuousQuery
from penstock.simulator.engine import refusal
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.fluid import Stretch, flowing, latency_s, seconds_of
from penstock.simulator.graph import QueryGraph
from penstock.simulator.ground_truth import Record, Rescaled, Struck, together
from penstock.simulator.load import Load, Topic
from penstock.simulator.sharing import Sharer, shared
from penstock.simulator.simulated_executors import SimulatedExecutors

AHEAD_S = 300
"""The most seconds that are computed at once."""
HAIR_S = 1e-6
"""Tolerance for rounding of a clock that counts from 1970."""
HOP_S = 0.5
"""What is written in a second can be read this much after its end: in the middle of the next second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An instruction under way. `ready_s` is when it takes effect if the job keeps running; None: when the job is up again."""

    instruction: Instruction
    report: Callable[[Outcome], None]
    asked_s: float
    before: int
    ready_s: float | None


def misfit(values: Mapping[str, Any], settings: ContinuousSettings) -> str:
    """Return why a query whose tasks run all the time cannot have these values; empty if it can."""
    trigger = values.get("trigger")
    if trigger is not None and (trigger.kind != "real_time" or trigger.interval_s <= settings.pause_s):
        return f"a continuous job takes checkpoints further apart than {settings.pause_s:g} s, not {trigger}"
    return "a continuous job has no partitions of state to change" if values.get("partitions") is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ahead:
    """Seconds that are computed ahead, for each query; `cpu_s` has a row for each second and a column for each executor."""

    first: int
    end: int
    stretches: tuple[Stretch, ...]
    cpu_s: FloatArray


class ContinuousEngine:
    """A job of one query or several. The busiest executor limits the capacity, and a failure replays the rows since the last checkpoint.

    Internal times count from the start of the run. A fault happens at the beginning of its second, before a checkpoint of the same time. The loss of an
    executor and a rescale stop all queries, as each has tasks on every executor.
    """

    def __init__(
        self, of: ContinuousSettings | QueryGraph[ContinuousSettings], load: Load, *, executors: int, seed: int = 0, faults: Sequence[Fault] = ()
    ) -> None:
        if executors < 1 or any(fault.at_s < load.start_s for fault in faults):
            raise ValueError("a job has at least one executor, and no fault comes before it starts")
        graph = self._graph = QueryGraph.of(of)
        self._topics, sources = graph.topics(), graph.sources(load)
        self._queries = [ContinuousQuery(each.settings, graph.read_by(each, sources, self._topics), load.start_s) for each in graph.queries]
        self._start_s = load.start_s
        self._faults = deque(sorted(faults, key=lambda fault: fault.at_s))
        self._executors = SimulatedExecutors([each.settings for each in graph.queries], seed)
        self._executors.start(executors, load.start_s)
        self._requested = executors
        self._asked: list[Asked] = []
        self._ahead: Ahead | None = None
        self._now = 0
        self._disturbed_s = 0.0
        self._noticed_s: float | None = None

    @property
    def records(self) -> dict[str, Record]:
        return {query.name: query.record for query in self._queries}

    @property
    def record(self) -> Record:
        return together([query.record for query in self._queries])

    def follow(self, load: Load) -> None:
        sources = self._graph.sources(load)
        for query in self._queries:
            query.reads = sources.get(query.name, query.reads)
        self._ahead = None

    def advance(self, until_s: float) -> None:
        end = math.floor(until_s - self._start_s + HAIR_S)
        while True:
            self._notice()
            self._take_effect()
            if self._now >= end:
                return
            self._strike()
            step = min(end, self._undisturbed_until())
            if step > self._now:
                self._run(step)

    def _undisturbed_until(self) -> int:
        """Return the second of the next fault, restart or instruction, at most `AHEAD_S` from now."""
        moments = [*(query.down_until_s for query in self._queries), *(each.ready_s for each in self._asked)]
        moments.append(self._second_of(self._faults[0]) if self._faults else None)
        return min([self._now + AHEAD_S, *(math.ceil(moment) for moment in moments if moment is not None)])

    def _second_of(self, fault: Fault) -> int:
        return math.floor(fault.at_s - self._start_s + HAIR_S)

    def _strike(self) -> None:
        """Apply the faults that are due."""
        settings = self._graph.queries[0].settings
        while self._faults and self._second_of(self._faults[0]) <= self._now:
            fault = self._faults.popleft()
            if fault.duration_s is not None and fault.kind == "freeze":
                self._freeze(fault)
                continue
            failed = [query for query in self._queries if fault.query in (None, query.name)]
            for query in self._queries:
                query.record.struck.append(Struck(at_s=fault.at_s, kind=fault.kind, recovered_s=None if query in failed else fault.at_s))
            for query in failed:
                query.fail()
            self._take_down(failed, settings.downtime_s + (settings.timeout_s if fault.kind == "freeze" else 0.0))

    def strike(self, fault: Fault) -> str | None:
        fault = replace(fault, at_s=self._start_s + self._now)
        if fault.kind == "freeze":
            self._freeze(fault)
        else:
            self._faults.appendleft(fault)
            self._strike()
        return None if fault.kind == "restart" else self._executors.facts[0].executor_id

    def _freeze(self, fault: Fault) -> None:
        """All queries wait for an executor until it goes on after the duration, or the time-out makes its silence a failure."""
        timeout_s = self._graph.queries[0].settings.timeout_s
        for query in self._queries:
            query.record.struck.append(Struck(at_s=fault.at_s, kind=fault.kind))
        if fault.duration_s is None or fault.duration_s >= timeout_s:
            self._noticed_s = self._now + timeout_s
        self._take_down(self._queries, timeout_s if fault.duration_s is None else min(fault.duration_s, timeout_s))

    def _notice(self) -> None:
        if self._noticed_s is not None and self._noticed_s <= self._now:
            self._noticed_s = None
            for query in self._queries:
                query.fail()
            self._take_down(self._queries, self._graph.queries[0].settings.downtime_s)

    def thaw(self, executor_id: str) -> None:
        if self._noticed_s is not None:
            self._noticed_s = self._ahead = None
            for query in self._queries:
                query.down_until_s = float(self._now)

    def _take_down(self, queries: Sequence[ContinuousQuery], seconds: float) -> None:
        self._ahead, self._disturbed_s = None, float(self._now)
        for query in queries:
            query.take_down(self._now + seconds)

    def _take_effect(self) -> None:
        """Restart queries and finish instructions that are due; a rescale is done when the first query that it stopped is up again."""
        back = {query.name: query.down_until_s for query in self._queries if query.down_until_s is not None and query.down_until_s <= self._now}
        done = [(each, at_s) for each in self._asked if (at_s := effective_s(each, back, self._now)) is not None]
        if not back and not done:
            return
        self._asked = [each for each in self._asked if all(each is not other for other, _ in done)]
        executors = len(self._executors)
        for each, _ in done:
            change = each.instruction.change
            executors = executors if change.executors is None else change.executors[1]
            for query in self._queries:
                if query.name in change.queries:
                    query.change(change)
        at_s = max([*back.values(), *(at_s for _, at_s in done)])
        self._executors.start(executors, self._start_s + at_s)
        self._ahead, self._disturbed_s = None, at_s
        for query in self._queries:
            if query.name in back:
                query.restart()
        for each, at_s in done:
            self._finish(each, at_s)

    def _finish(self, asked: Asked, at_s: float) -> None:
        took_s = at_s - asked.asked_s
        down_s = took_s if asked.ready_s is None else None
        if asked.instruction.change.executors is not None:
            start_s, after = self._start_s, asked.instruction.change.executors[1]
            rescaled = Rescaled(asked_s=start_s + asked.asked_s, done_s=start_s + at_s, before=asked.before, after=after, down_s=down_s)
            for query in self._queries:
                query.record.rescales.append(rescaled)
        asked.report(Outcome(number=asked.instruction.number, done=True, took_s=took_s, down_s=down_s))

    def _run(self, end: int) -> None:
        """Simulate until second `end`, before which there is no fault, restart or instruction."""
        if self._ahead is None or self._ahead.end <= self._now:
            self._ahead = self._computed(self._undisturbed_until())
        ahead, end = self._ahead, min(end, self._ahead.end)
        part = slice(self._now - ahead.first, end - ahead.first)
        finished = []
        for each, query, stretch in zip(self._graph.queries, self._queries, ahead.stretches, strict=True):
            finished.append(query.run(stretch, part, end, len(self._executors)))
            if each.name in self._topics:
                self._topics[each.name].write(stretch.flow.edges_s[1:][part] + HOP_S, each.selectivity * finished[-1])
        self._executors.work(finished, ahead.cpu_s[part])
        self._now = end

    def _computed(self, end: int) -> Ahead:
        """Return the seconds from now until `end`, if nothing interferes."""
        edges_s = np.arange(self._now, end + 1, dtype=np.float64)
        stops = [query.stopped(edges_s) for query in self._queries]
        edges_s = self._start_s + edges_s
        sharers = [self._sharer(number, edges_s, 1.0 - down - paused) for number, (paused, down) in enumerate(stops)]
        written: dict[str, Topic] = {}
        stretches = []
        for each, query, sharer, (paused, down), working in zip(self._graph.queries, self._queries, sharers, stops, shared(sharers), strict=True):
            reads, capacity = query.reads if each.reads is None else written[each.reads], sharer.most_rows_per_s
            flow = flowing(reads, edges_s, query.position, capacity, working=working)
            left = np.divide(working, sharer.working, out=np.ones(len(working)), where=sharer.working > 0)
            latency = latency_s(flow, capacity * left, paused, query.settings)
            seconds = seconds_of(flow, latency, executors=self._requested, down=down, put_back=query.take_put_back())
            stretches.append(Stretch(flow=flow, seconds=seconds))
            if each.name in self._topics:
                written[each.name] = self._topics[each.name].ahead(edges_s[1:] + HOP_S, each.selectivity * flow.finished_rows)
        cpu_s = self._executors.cpu_s([each.flow.finished_rows for each in stretches], self._now)
        return Ahead(first=self._now, end=end, stretches=tuple(stretches), cpu_s=cpu_s)

    def _sharer(self, number: int, edges_s: FloatArray, working: FloatArray) -> Sharer:
        query, each = self._queries[number], self._graph.queries[number]
        arrived = query.reads.rows_until(edges_s)
        return Sharer(
            lag_rows=float(arrived[0]) - query.position,
            arrived_rows=np.diff(arrived),
            capacity_rows_per_s=self._executors.capacity_rows_per_s(query.settings),
            limit_rows_per_s=query.limit_rows_per_s,
            working=working,
            feeds=tuple(place for place, other in enumerate(self._graph.queries) if other.reads == each.name),
            selectivity=each.selectivity,
        )

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        queries, change = {query.name: query for query in self._queries}, instruction.change
        under_way = {target for each in self._asked for target in each.instruction.targets}
        reason = refusal(instruction, queries, under_way, lambda name, values: misfit(values, queries[name].settings))
        if reason:
            report(Outcome(number=instruction.number, done=False, took_s=0.0, reason=reason))
            return
        named = [queries[name] for name in change.queries]
        settings, now_s, before, ready_s = (named or self._queries)[0].settings, float(self._now), self._requested, None
        after = before if change.executors is None else change.executors[1]
        if not named and after == before:
            report(Outcome(number=instruction.number, done=True, took_s=0.0))
            return
        if not named and after > before and settings.grows_live:
            ready_s = now_s + settings.up_s
        else:
            stopped = named if change.executors is None else self._queries
            for each in stopped:
                each.stop()
            self._take_down(stopped, settings.down_s if after < before else settings.up_s)
        self._ahead, self._requested = None, after
        self._asked.append(Asked(instruction=instruction, report=report, asked_s=now_s, before=before, ready_s=ready_s))

    def observation(self) -> Observation:
        rows = self._executors.rows
        return Observation(
            at_s=self._start_s + self._now,
            started_s=self._start_s,
            disturbed_s=self._start_s + self._disturbed_s,
            executors_requested=self._requested,
            executors=self._executors.facts,
            queries=tuple(query.facts(self._now, each) for query, each in zip(self._queries, rows, strict=True)),
        )


def effective_s(asked: Asked, back_s: dict[str, float], now: int) -> float | None:
    """Return when the instruction took effect, if it has: a change with the restart of its query, a rescale with that of the first query it stopped."""
    if asked.ready_s is not None:
        return asked.ready_s if asked.ready_s <= now else None
    change = asked.instruction.change
    if change.executors is None:
        return back_s.get(change.queries[0])
    return min(back_s.values(), default=None)
