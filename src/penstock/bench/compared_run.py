"""One run of a comparison, simulated: what it cost, what it kept, and how good its predictions were."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

from penstock.bench.comparisons import Workload, evenness
from penstock.bench.oracle import Future, Outage, Schedule, best_schedule
from penstock.core.config import EVEN
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Change, Move
from penstock.core.domain.events.autopilot_events import Decided, Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.fault import Fault
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.job_spec import PROMISED_SHARE, Promises
from penstock.core.knowledge.terms import Terms
from penstock.core.models.arrays import Floats
from penstock.core.policies.registry import labelled
from penstock.core.report.run_report import RunReport
from penstock.experiments.cell import SIMULATED_CODE, fingerprint
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.exact_report import exact_report
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load
from penstock.stores.codec import encode
from penstock.wiring.setup import Setup, declared_of, engine_of, with_downtimes
from penstock.wiring.simulation import simulate

ORACLE = "oracle"
"""The label of the run that follows a schedule made with knowledge of the whole load and all failures."""
ORACLE_STEP_S = 15.0
MINUTE_S = 60
POINTS = 360
"""Points of a line in a figure."""
SHARES = tuple(number / 100 for number in range(101))
"""The shares of the rows whose latencies are kept."""
AGAIN_S = 1.0
"""A change that the plant refuses, as another one is under way, is asked for again after this time."""
SETTLED_MINUTES = 10
"""Without a promise a job has recovered when a minute is at most 1.2 times as late as the worst of this many before its failure."""
SHOWN_MINUTES = 3
"""The latency shows a failure within this many minutes, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A run over time, in parts of equal length: mean arrivals, and the most executors and the highest latency of each part."""

    part_s: float
    arriving_rows_per_s: tuple[float, ...]
    executors: tuple[float, ...]
    latency_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A recovery in seconds from a failure or a rescale: as predicted, and by the lag and by the latency; None is "not known" or "not by the end"."""

    kind: str
    at_s: float
    predicted_s: float | None
    by_lag_s: float | None
    by_latency_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """The capacity of some executors in rows/s: the median of what was believed with each decision, and the truth."""

    executors: int
    believed_rows_per_s: float
    true_rows_per_s: float

    @property
    def error(self) -> float:
        return self.believed_rows_per_s / self.true_rows_per_s - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedReport:
    """A run of a policy, or of the oracle's schedule.

    `latency_minutes_s` is the mean over all minutes of the p95 of the rows that finished in each, as the papers average it; a minute in which none finished
    counts with the age of the oldest waiting row. `latency_at` has the latency at each of `SHARES` of all rows. `forecast_wape` is that of the forecasts
    over their whole horizon, `forecast_near_wape` over its first part. `profiling_executor_s` were spent before the run.
    """

    report: RunReport
    latency_minutes_s: float
    latency_max_s: float
    latency_at: tuple[float, ...]
    line: Line
    recoveries: tuple[Recovered, ...] = ()
    forecast_wape: float | None = None
    forecast_near_wape: float | None = None
    capacities: tuple[Believed, ...] = ()
    profiling_executor_s: float | None = None

    @property
    def executor_s(self) -> float:
        return self.report.executor_s


@dataclass(frozen=True, kw_only=True)
class ComparedRun:
    """A policy by its label, or the oracle, on one repetition of a workload."""

    workload: Workload
    label: str
    repetition: int

    @property
    def in_parallel(self) -> bool:
        return True

    @cached_property
    def key(self) -> str:
        """A digest of all that the report depends on."""
        setup = encode(self.setup).encode() + self.label.encode()
        parts = [setup, *(fingerprint(package) for package in (*SIMULATED_CODE, "bench"))]
        return sha256(b"\n".join(sha256(part).digest() for part in parts)).hexdigest()[:32]

    @property
    def setup(self) -> Setup:
        of, seed, engine = self.workload, self.repetition, self.workload.engine_for(self.label)
        own = Autopilot(mode="active", rollback=False)
        autopilot = with_downtimes(own if self.label == ORACLE else labelled(self.label).on(own), engine, of.faults)
        terms = Terms(limits=of.limits, promises=of.promises, config=EVEN, autopilot=autopilot)
        return Setup(load=of.loads[seed], engine=engine, terms=terms, faults=of.faults, seed=seed)

    def run(self, progress: Callable[[float], None]) -> ComparedReport:
        setup = self.setup
        if self.label == ORACLE:
            record = followed(setup, planned(self.workload, setup))
            return compared(record, exact_report(record, setup.terms.promises, setup.load.time_s[0]), setup)
        ran = simulate(setup, lambda done_s, total_s: progress(done_s / total_s))
        predicted = {each.at_s: each.predicted_s for each in ran.failures}
        return replace(
            compared(ran.record, ran.report, setup, predicted),
            recoveries=(*failures(ran.record, setup.terms.promises, predicted), *rescales(ran.events)),
            forecast_wape=forecast_wape(ran.events, max),
            forecast_near_wape=forecast_wape(ran.events, min),
            capacities=capacities(ran.events, self.workload.engine, setup.terms.promises),
            profiling_executor_s=ran.profiling_executor_s,
        )


def planned(workload: Workload, setup: Setup) -> Schedule:
    """Return the schedule of the oracle."""
    limits, known, promises = setup.terms.limits, workload.known, setup.terms.promises
    assert known is not None and not isinstance(workload.engine, QueryGraph)
    outages = tuple(outage(each, workload.engine) for each in setup.faults)
    future = Future(
        arrivals=setup.load, least=limits.min_executors, most=limits.max_executors, first=limits.first, outages=outages, recovery_s=promises.recovery_s
    )
    return best_schedule(known, future, ORACLE_STEP_S)


def outage(fault: Fault, engine: MicroBatchSettings | ContinuousSettings) -> Outage:
    """Return what a fault costs the oracle: the job stands still, or a batch is lost and repeated."""
    noticed_s = engine.timeout_s if fault.kind == "freeze" else 0.0
    if isinstance(engine, MicroBatchSettings):
        return Outage(at_s=fault.at_s, down_s=noticed_s + engine.retry_s)
    return Outage(at_s=fault.at_s, down_s=noticed_s + engine.downtime_s, repeated_s=engine.interval_s / 2)


def followed(setup: Setup, schedule: Schedule) -> Record:
    """Run a schedule on the plant itself."""
    start_s, end_s = setup.load.time_s[0], setup.load.last_s
    engine = engine_of(setup, declared_of(setup), Load.of(setup.load, start_s), setup.faults)
    present = declared_of(setup).executors
    for number, (at_s, executors) in enumerate(schedule.changes):
        asking_s, refused = at_s, executors != present
        while refused and asking_s < end_s:
            outcomes = list[Outcome]()
            engine.advance(asking_s)
            engine.perform(Instruction(number=number, change=Change(moves=(Move(knob="executors", before=present, after=executors),))), outcomes.append)
            refused, asking_s = any(not each.done for each in outcomes), asking_s + AGAIN_S
        present = executors
    engine.advance(end_s)
    return engine.record


def compared(record: Record, report: RunReport, setup: Setup, predicted: dict[float, float | None] | None = None) -> ComparedReport:
    """Return what the exact record of a run shows."""
    minutes, promises = minutes_p95_s(record), setup.terms.promises
    _, latency_s, rows = record.delivered
    order = np.argsort(latency_s)
    summed = np.cumsum(rows[order])
    at = np.searchsorted(summed, np.array(SHARES) * summed[-1] * (1 - 1e-9)) if len(summed) else np.zeros(0, dtype=np.int64)
    return ComparedReport(
        report=report,
        latency_minutes_s=float(minutes.mean()) if len(minutes) else 0.0,
        latency_max_s=float(latency_s.max()) if len(latency_s) else 0.0,
        latency_at=tuple(latency_s[order][np.minimum(at, len(order) - 1)].round(3).tolist()),
        line=line(record),
        recoveries=failures(record, promises, predicted or {}),
    )


def minutes_p95_s(record: Record) -> Floats:
    """Return the p95 of the rows that finished in each minute; the age of the oldest waiting row where none did."""
    finished_s, latency_s, rows = record.delivered
    oldest_s = record.column("oldest_s")
    count = len(record) // MINUTE_S
    minute = np.clip(((finished_s - record.start_s - 1e-6) // MINUTE_S).astype(np.int64), 0, max(0, count - 1))
    found = np.empty(count)
    order = np.lexsort((latency_s, minute))
    edges = np.searchsorted(minute[order], np.arange(count + 1))
    for number in range(count):
        part = order[edges[number] : edges[number + 1]]
        summed = np.cumsum(rows[part])
        if len(summed) and summed[-1] > 0:
            found[number] = latency_s[part][np.searchsorted(summed, PROMISED_SHARE * summed[-1])]
        else:
            found[number] = oldest_s[number * MINUTE_S : (number + 1) * MINUTE_S].max(initial=0.0)
    return found


def line(record: Record) -> Line:
    each = max(1, -(-len(record) // POINTS))
    parts = len(record) // each

    def folded(name: str, how: Callable[..., Floats]) -> tuple[float, ...]:
        return tuple(how(record.column(name)[: parts * each].reshape(parts, each), axis=1).round(3).tolist())

    late_s = np.maximum(record.column("latency_s"), record.column("oldest_s") * (record.column("down") > 0))
    latency_s = tuple(late_s[: parts * each].reshape(parts, each).max(axis=1).round(3).tolist())
    return Line(part_s=float(each), arriving_rows_per_s=folded("arrived_rows", np.mean), executors=folded("executors", np.max), latency_s=latency_s)


def failures(record: Record, promises: Promises, predicted: dict[float, float | None]) -> tuple[Recovered, ...]:
    """Return the recovery of each failure, by the lag as the record has it, and by the latency: from when no minute is late any more."""
    minutes = minutes_p95_s(record) if record.struck else np.zeros(0)
    return tuple(
        Recovered(
            kind=each.kind,
            at_s=each.at_s,
            predicted_s=predicted.get(each.at_s),
            by_lag_s=each.recovery_s,
            by_latency_s=latency_recovered_s(minutes, each.at_s - record.start_s, promises.latency_p95_s),
        )
        for each in record.struck
    )


def latency_recovered_s(minutes: Floats, at_s: float, promised_s: float | None) -> float | None:
    """Return the seconds until the first minute after a failure whose p95 is as before or as promised; None if there is none.

    >>> latency_recovered_s(np.array([1.0, 1.1, 9.0, 5.0, 1.0, 1.0]), 125.0, None)
    115.0
    """
    struck = int(at_s // MINUTE_S)
    before = minutes[max(0, struck - SETTLED_MINUTES) : struck]
    usual_s = promised_s if promised_s is not None else 1.2 * float(np.max(before)) if len(before) else math.inf
    late = minutes[struck:] > usual_s
    if not late[:SHOWN_MINUTES].any():
        return 0.0
    ends = np.flatnonzero(~late & np.maximum.accumulate(late))
    return float((struck + ends[0]) * MINUTE_S - at_s) if len(ends) else None


def rescales(events: Iterable[Event]) -> tuple[Recovered, ...]:
    """Return the recoveries from rescales that were predicted, as they were graded."""
    graded = (each for each in events if isinstance(each, Graded) and each.kind == "recovery" and each.about.startswith("rescale"))
    return tuple(Recovered(kind=each.about, at_s=each.made_s, predicted_s=each.predicted, by_lag_s=each.actual) for each in graded)


def forecast_wape(events: Iterable[Event], which: Callable[[Iterable[float]], float]) -> float | None:
    """Return the summed error of the forecasts over the summed load, of those that look the furthest or the least ahead; None if none was graded."""
    graded = [(float(each.about.split()[0]), each) for each in events if isinstance(each, Graded) and each.kind == "forecast"]
    if not graded:
        return None
    ahead_s = which([each_s for each_s, _ in graded])
    found = [each for each_s, each in graded if each_s == ahead_s]
    load = sum(each.actual for each in found)
    return sum(abs(each.predicted - each.actual) for each in found) / load if load > 0 else None


def capacities(events: Sequence[Event], engine: Simulable, promises: Promises) -> tuple[Believed, ...]:
    """Return the median capacity that each number of executors was believed to have, beside the true one."""
    believed: dict[int, list[float]] = {}
    for each in events:
        for candidate in each.decision.candidates if isinstance(each, Decided) else ():
            if candidate.capacity_rows_per_s is not None and not isinstance(engine, QueryGraph):
                believed.setdefault(candidate.executors, []).append(candidate.capacity_rows_per_s)
    return tuple(
        Believed(executors=executors, believed_rows_per_s=float(np.median(known)), true_rows_per_s=true_capacity(engine, promises, executors))
        for executors, known in sorted(believed.items())
    )


def true_capacity(engine: Simulable, promises: Promises, executors: int) -> float:
    """Return the capacity as a policy means it: under the promise in micro-batches, at saturation where tasks run all the time."""
    assert not isinstance(engine, QueryGraph)
    if isinstance(engine, ContinuousSettings):
        return engine.capacity_rows_per_s * (1.0 - engine.pause_s / engine.interval_s) * executors * evenness(engine.skew, executors)
    return engine.law.capacity_rows_per_s(executors, engine.cadence(promises))
