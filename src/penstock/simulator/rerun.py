"""Run a recorded job again in the simulator: measure the simulator's own error, and tune settings that readings do not show."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from penstock.core.config import Config
from penstock.core.domain.configuration import Change, Move, moved_in
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.knobs import KNOBS
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.trigger import Plant
from penstock.simulator.calibrate_batches import whole_batches
from penstock.simulator.calibrated import Calibrated, CalibratedQuery, Settings
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.from_history import Rescale, Seen, caught_up, of_kind, of_query
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant

Flow = tuple[QueryReading, QueryReading]
"""A query as it was recorded, and as it was simulated."""
MOST_READINGS = 400
"""Settings are tuned on at most this many readings, the last of a history."""
FIRST_TASKS_S = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
FACTORS = (2.0, 1.0, 0.0)
"""The costs of new executors that are tried; of equally good ones the first is chosen, which is the default."""
NEW_S = 30.0
"""The latency shows the cost of new executors for this long after a scale-up."""
NOISES = (1.0, 0.25)
"""Shares of the spread of durations that are tried as noise: the rest is the wait for other queries."""
QUIET = 0.1
"""This share of the batches is assumed to have found the executors free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnError:
    """The relative error of the simulator on the recorded run, positive if it is above; None if it cannot be compared."""

    executors: float | None
    latency_p95: float | None
    """Of the mean of the readings' 95th percentiles, weighted by throughput; this and throughput are of the query with the largest error."""
    throughput: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rerun:
    """The recorded run, simulated with the recorded numbers of executors: its exact record, its readings and its error."""

    record: Record
    readings: tuple[Reading, ...]
    error: OwnError


def rerun(found: Calibrated, readings: Sequence[Reading], config: Config, *, seed: int = 0) -> Rerun:
    """Simulate the run with the recorded executors, triggers and limits, and compare the readings from a window after the start on."""
    seen = [each for each in of_kind(of_query(readings, found.settings.query), found.kind) if found.counts(each[0].at_s)]
    engine = first_engine(found, seen, seed)
    again = run_again(engine, found, seen, config)
    return Rerun(record=engine.record, readings=tuple(again), error=compared(found, seen, again, config))


def lately(found: Calibrated, seen: Seen) -> tuple[Calibrated, Seen]:
    """Return the last `MOST_READINGS` of a calibrated run, from where the job had caught up, to tune settings on."""
    lived = [each for each in seen if found.counts(each[0].at_s)][-MOST_READINGS:]
    first, _ = caught_up(lived)
    start_s = max(found.start_s, first.at_s)
    faults = tuple(fault for fault in found.faults if fault.at_s >= start_s)
    tried = replace(found, start_s=start_s, executors=max(1, first.executors_running), faults=faults)
    return tried, [each for each in lived if tried.counts(each[0].at_s)]


def compared(found: Calibrated, seen: Seen, again: Sequence[Reading], config: Config) -> OwnError:
    """Return the error of the simulated readings; of several queries the largest error counts."""
    pairs = [each for each in zip(seen, again, strict=True) if each[1].at_s >= found.start_s + config.reading_window_s]
    flows: dict[str, list[Flow]] = {}
    for (real, _), simulated in pairs:
        for flow in of_one_name(real, simulated, found.kind):
            flows.setdefault(flow[0].name, []).append(flow)
    return OwnError(
        executors=beyond(sum(other.executors_running for _, other in pairs), sum(real.executors_running for (real, _), _ in pairs)),
        latency_p95=furthest(map(latency_off, flows.values())),
        throughput=furthest(map(throughput_off, flows.values())),
    )


def latency_off(flows: Sequence[Flow]) -> float | None:
    late = [(weighed(one), weighed(other)) for one, other in flows if one.latency is not None and other.latency is not None]
    return beyond(mean([other for _, other in late]), mean([one for one, _ in late]))


def throughput_off(flows: Sequence[Flow]) -> float | None:
    through = [
        (one.throughput_rows_per_s, other.throughput_rows_per_s)
        for one, other in flows
        if one.throughput_rows_per_s is not None and other.throughput_rows_per_s is not None
    ]
    return beyond(sum(other for _, other in through), sum(one for one, _ in through))


def furthest(errors: Iterable[float | None]) -> float | None:
    """Return the known error with the largest absolute value.

    >>> furthest([0.1, None, -0.3]), furthest([None])
    (-0.3, None)
    """
    return max((each for each in errors if each is not None), key=abs, default=None)


def run_again(engine: Engine, found: Calibrated, seen: Seen, config: Config) -> list[Reading]:
    """Return a simulated reading for each recorded one; what a recorded reading shows changed is asked for right after the one before it.

    Outcomes are ignored: what is refused because a change is under way is asked for again at the next reading.
    """

    def ignore(outcome: Outcome) -> None: ...

    clock = SimulatedClock(found.start_s)
    plant = SimulatedPlant(engine, clock, config)
    again: list[Reading] = []
    for number, (reading, _) in enumerate(seen):
        clock.wait(reading.at_s - clock.now_s())
        again.append(plant.read())
        shown, _ = seen[min(number + 1, len(seen) - 1)]
        if shown.executors_requested >= 1 and shown.executors_requested != again[-1].executors_requested:
            rescale = Move(knob="executors", before=again[-1].executors_requested, after=shown.executors_requested)
            plant.perform(Instruction(number=number, change=Change(moves=(rescale,))), ignore)
        for wanted, query in of_one_name(shown, again[-1], found.kind):
            moved = tuple(move for move in moved_in(query.name, query, wanted).moves if not KNOBS[move.knob].in_checkpoint)
            if moved:
                plant.perform(Instruction(number=number, change=Change(moves=moved)), ignore)
    return again


def of_one_name(recorded: Reading, simulated: Reading, kind: Plant) -> list[Flow]:
    """Return the queries that are in both readings, if the recorded one ran in the simulated mode."""
    known = {query.name: query for query in simulated.queries}
    return [(query, known[query.name]) for query in recorded.queries if query.name in known and (query.trigger.kind == "real_time") == (kind == "continuous")]


def first_engine(found: Calibrated, seen: Seen, seed: int) -> Engine:
    """Return the engine with the triggers and limits of the first reading."""
    begun = {query.name: query for query in seen[0][0].queries}

    def as_begun(settings: Settings) -> Settings:
        query = begun.get(settings.query)
        if query is None or (query.trigger.kind == "real_time") != (found.kind == "continuous"):
            return settings
        if isinstance(settings, MicroBatchSettings):
            trigger = query.trigger if query.trigger.kind == settings.trigger.kind else settings.trigger
            return replace(settings, trigger=trigger, rate_limit_rows_per_s=query.rate_limit_rows_per_s)
        return replace(settings, interval_s=query.trigger.interval_s, rate_limit_rows_per_s=query.rate_limit_rows_per_s)

    job: Any = replace(found, queries=tuple(query.each(as_begun) for query in found.queries)).engine()
    engine = MicroBatchEngine if found.kind == "micro_batch" else ContinuousEngine
    return engine(job, Load.of(found.arrivals, found.start_s), executors=found.executors, seed=seed, faults=found.faults)


def weighed(query: QueryReading) -> tuple[float, float]:
    """Return the 95th percentile of latency, and its weight."""
    return (query.latency.p95_s if query.latency else 0.0, query.throughput_rows_per_s or 0.0)


def mean(values: Sequence[tuple[float, float]]) -> float:
    """Return the mean of values with weights; 0 without any weight.

    >>> mean([(1.0, 3.0), (5.0, 1.0)])
    2.0
    """
    weight = sum(each for _, each in values)
    return sum(value * each for value, each in values) / weight if weight > 0 else 0.0


def beyond(simulated: float, real: float) -> float | None:
    """Return the relative error.

    >>> round(beyond(11.0, 10.0), 3), beyond(1.0, 0.0)
    (0.1, None)
    """
    return simulated / real - 1.0 if real > 0 else None


def with_newcomers(found: Calibrated, seen: Seen, changes: Sequence[Rescale], config: Config) -> Calibrated:
    """Return the job with the costs of new executors whose rerun comes nearest to the recorded latency after scale-ups, if there were any."""
    tried, recorded = lately(found, seen)
    new = [any(0 < reading.at_s - change.done_s <= NEW_S for change in changes if change.grows) for reading, _ in recorded]
    if not any(new):
        return found

    def costing(first_task_s: float, factor: float) -> Calibrated:
        queries = (query.each(lambda settings: replace(settings, first_task_s=first_task_s, warm_up_factor=factor)) for query in tried.queries)
        return replace(tried, queries=tuple(queries))

    best = min((costing(*costs) for costs in product(FIRST_TASKS_S, FACTORS)), key=lambda choice: missed_s(choice, recorded, new, config))
    return replace(found, queries=best.queries)


def missed_s(choice: Calibrated, recorded: Seen, new: Sequence[bool], config: Config) -> float:
    """Return the summed error of the 95th percentiles of latency in readings of new executors."""
    again = run_again(first_engine(choice, recorded, seed=0), choice, recorded, config)
    pairs = [(query.latency, reading.queries[0].latency) for (_, query), reading, is_new in zip(recorded, again, new, strict=True) if is_new]
    return sum(abs(one.p95_s - other.p95_s) for one, other in pairs if one is not None and other is not None)


def with_batches_alone(found: Calibrated, readings: Sequence[Reading], seen: Seen, config: Config) -> Calibrated:
    """Return the job with the costs of batches that run alone: the recorded durations include the wait for other queries.

    Rows cost their task time; overheads and noise are those whose rerun comes nearest to the recorded durations. A job of one query stays as it is.
    """
    if len(found.queries) == 1:
        return found
    tried, recorded = lately(replace(found, queries=tuple(map(by_tasks, found.queries))), seen)

    def missed(queries: tuple[CalibratedQuery, ...]) -> float:
        choice = replace(tried, queries=queries)
        return off([reading for reading, _ in recorded], run_again(first_engine(choice, recorded, seed=0), choice, recorded, config))

    return replace(found, queries=min(choices(tried.queries, readings), key=missed))


def choices(queries: Sequence[CalibratedQuery], readings: Sequence[Reading]) -> Iterator[tuple[CalibratedQuery, ...]]:
    """Yield the queries with the overhead by durations, or by their quickest batches; each with all of the noise, or little of it."""
    by_durations = [query.settings.overhead_s for query in queries if isinstance(query.settings, MicroBatchSettings)]
    quick = [quick_overhead_s(query, of_query(readings, query.name)) for query in queries]
    for overheads_s, share in product((by_durations, quick), NOISES):
        yield tuple(priced(query, overhead_s, share) for query, overhead_s in zip(queries, overheads_s, strict=True))


def quick_overhead_s(query: CalibratedQuery, seen: Seen) -> float:
    """Return the overhead by the quickest batches, which did not wait for other queries."""
    settings = query.settings
    assert isinstance(settings, MicroBatchSettings)
    rows_only = replace(settings.law, overhead_s=0.0)
    beyond_s = [batch.duration_s - rows_only.duration_s(batch.rows, batch.executors) for *_, batch in whole_batches(seen)]
    return max(0.0, float(np.quantile(beyond_s, QUIET))) if beyond_s else settings.overhead_s


def priced(query: CalibratedQuery, overhead_s: float, noise_share: float) -> CalibratedQuery:
    """Return the query with this overhead, shifted for its likely settings as before, and a share of the noise."""
    best = query.settings
    assert isinstance(best, MicroBatchSettings)
    before_s = best.overhead_s

    def other(settings: MicroBatchSettings) -> MicroBatchSettings:
        return replace(settings, overhead_s=max(0.0, settings.overhead_s - before_s + overhead_s), noise=noise_share * settings.noise)

    return query.each(other)


def by_tasks(query: CalibratedQuery) -> CalibratedQuery:
    """Return the query without skew, which here is only the wait for slots of other queries. The likely costs of a row keep their ratio to the best one."""
    best = query.settings
    assert isinstance(best, MicroBatchSettings)

    def of_rows(settings: MicroBatchSettings) -> MicroBatchSettings:
        dearer = settings.row_s * settings.skew / (best.row_s * best.skew) if best.row_s > 0 else 1.0
        return replace(settings, row_s=dearer * best.row_s, skew=1.0)

    return query.each(of_rows)


def off(recorded: Sequence[Reading], again: Sequence[Reading]) -> float:
    """Return the mean absolute difference of the logarithms of batch durations in both runs."""
    apart = []
    for before, after in zip(recorded, again, strict=True):
        took_s = {query.name: query.batch.total_s for query in before.queries if query.batch is not None and query.batch.total_s > 0}
        apart += [
            abs(math.log(query.batch.total_s / took_s[query.name]))
            for query in after.queries
            if query.batch is not None and query.batch.total_s > 0 and query.name in took_s
        ]
    return sum(apart) / len(apart) if apart else math.inf
