"""Run a recorded job again in the simulator: measure the simulator's own error, and tune settings that readings do not show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from penstock.core.config import Config
from penstock.core.domain.configuration import Change, Move, moved_in
from penstock.core.domain.instruction import Instruction, Outcome
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
"""Of a history on which settings are tried, its last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnError:
    """By how much the simulator is above (below: negative) the recorded run, as a share of it; None where that cannot be compared."""

    executors: float | None
    latency_p95: float | None
    """Of the readings' 95th percentiles, each weighted by what was processed meanwhile; this and throughput of the query that is furthest off."""
    throughput: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rerun:
    """The recorded sizes once more in the simulator: what truly happened there, what was read of it, and how far that is from what was recorded."""

    record: Record
    readings: tuple[Reading, ...]
    error: OwnError


def rerun(found: Calibrated, readings: Sequence[Reading], config: Config, *, seed: int = 0) -> Rerun:
    """The recorded sizes, triggers and limits run again, read at the recorded moments; compared a window after the start."""
    seen = [each for each in of_kind(of_query(readings, found.settings.query), found.kind) if found.counts(each[0].at_s)]
    engine = first_engine(found, seen, seed)
    again = run_again(engine, found, seen, config)
    return Rerun(record=engine.record, readings=tuple(again), error=compared(found, seen, again, config))


def lately(found: Calibrated, seen: Seen) -> tuple[Calibrated, Seen]:
    """The last of what is simulated of a history, from where the job had caught up: a longer one would not tell more, and is tried many times."""
    lived = [each for each in seen if found.counts(each[0].at_s)][-MOST_READINGS:]
    first, _ = caught_up(lived)
    start_s = max(found.start_s, first.at_s)
    faults = tuple(fault for fault in found.faults if fault.at_s >= start_s)
    tried = replace(found, start_s=start_s, executors=max(1, first.executors_running), faults=faults)
    return tried, [each for each in lived if tried.counts(each[0].at_s)]


def compared(found: Calibrated, seen: Seen, again: Sequence[Reading], config: Config) -> OwnError:
    """Each recorded reading with the simulated one of its moment; of several queries the one counts that is furthest off."""
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
    """The largest of those that are known, above or below.

    >>> furthest([0.1, None, -0.3]), furthest([None])
    (-0.3, None)
    """
    return max((each for each in errors if each is not None), key=abs, default=None)


def run_again(engine: Engine, found: Calibrated, seen: Seen, config: Config) -> list[Reading]:
    """A reading of the simulated run for each recorded one; whatever the next one shows changed is asked for right after the one before it."""
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
            moved = tuple(move for move in moved_in(query.name, query, wanted).moves if move.knob in ("trigger", "rate-limit"))
            if moved:
                plant.perform(Instruction(number=number, change=Change(moves=moved)), ignore)
    return again


def of_one_name(recorded: Reading, simulated: Reading, kind: Plant) -> list[Flow]:
    """The queries that both tell of, where the recorded one ran as the simulated one does."""
    known = {query.name: query for query in simulated.queries}
    return [(query, known[query.name]) for query in recorded.queries if query.name in known and (query.trigger.kind == "real_time") == (kind == "continuous")]


def ignore(outcome: Outcome) -> None:
    """What is refused, because the one before it is still under way, is asked for again at the next reading."""


def first_engine(found: Calibrated, seen: Seen, seed: int) -> Engine:
    """The job as it began, with the triggers and the limits of that time."""
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
    """Its latency, and what it was measured on."""
    return (query.latency.p95_s if query.latency else 0.0, query.throughput_rows_per_s or 0.0)


def mean(values: Sequence[tuple[float, float]]) -> float:
    """Of values with weights; 0 without any weight.

    >>> mean([(1.0, 3.0), (5.0, 1.0)])
    2.0
    """
    weight = sum(each for _, each in values)
    return sum(value * each for value, each in values) / weight if weight > 0 else 0.0


def beyond(simulated: float, real: float) -> float | None:
    """How much more that is, as a share.

    >>> round(beyond(11.0, 10.0), 3), beyond(1.0, 0.0)
    (0.1, None)
    """
    return simulated / real - 1.0 if real > 0 else None


FIRST_TASKS_S = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
FACTORS = (2.0, 1.0, 0.0)
"""What is tried; of two that do as well the first one, which is the usual one."""
NEW_S = 30.0
"""So long after they came they are seen in the latency."""


def with_newcomers(found: Calibrated, seen: Seen, changes: Sequence[Rescale], config: Config) -> Calibrated:
    """With those for which the recorded sizes, run again, come nearest to the latency that was recorded after scale-ups; as it is where there was none."""
    tried, recorded = lately(found, seen)
    new = [any(0 < reading.at_s - change.done_s <= NEW_S for change in changes if change.grows) for reading, _ in recorded]
    if not any(new):
        return found
    choices = [replace_newcomers(tried, first_task_s, factor) for first_task_s, factor in product(FIRST_TASKS_S, FACTORS)]
    best = min(choices, key=lambda choice: missed_s(choice, recorded, new, config))
    return replace(found, queries=best.queries)


def replace_newcomers(found: Calibrated, first_task_s: float, factor: float) -> Calibrated:
    def like(settings: Settings) -> Settings:
        assert isinstance(settings, MicroBatchSettings)
        return replace(settings, first_task_s=first_task_s, warm_up_factor=factor)

    return replace(found, queries=tuple(query.each(like) for query in found.queries))


def missed_s(choice: Calibrated, recorded: Seen, new: Sequence[bool], config: Config) -> float:
    """By how much its 95th percentiles are off, summed over the readings of new executors."""
    again = run_again(first_engine(choice, recorded, seed=0), choice, recorded, config)
    pairs = [(query.latency, reading.queries[0].latency) for (_, query), reading, is_new in zip(recorded, again, new, strict=True) if is_new]
    return sum(abs(one.p95_s - other.p95_s) for one, other in pairs if one is not None and other is not None)


NOISES = (1.0, 0.25)
"""Shares of the spread of durations that are tried for noise: the rest of it is who waited for whom."""
QUIET = 0.1
"""A batch in ten is taken to have found the executors free."""


def with_batches_alone(found: Calibrated, readings: Sequence[Reading], seen: Seen, config: Config) -> Calibrated:
    """With rows that cost what tasks took for them, and the overheads and the noise at which batches that run together again last most as they did.

    As it is where there is one query: its batches waited for nobody.
    """
    if len(found.queries) == 1:
        return found
    tried, recorded = lately(replace(found, queries=tuple(map(by_tasks, found.queries))), seen)

    def missed(queries: tuple[CalibratedQuery, ...]) -> float:
        choice = replace(tried, queries=queries)
        return off([reading for reading, _ in recorded], run_again(first_engine(choice, recorded, seed=0), choice, recorded, config))

    return replace(found, queries=min(choices(tried.queries, readings), key=missed))


def choices(queries: Sequence[CalibratedQuery], readings: Sequence[Reading]) -> Iterator[tuple[CalibratedQuery, ...]]:
    """What is tried: for all queries the overhead that durations tell, or that of their quickest batches; with all of the noise, or little of it."""
    told = [query.settings.overhead_s for query in queries if isinstance(query.settings, MicroBatchSettings)]
    quick = [quick_overhead_s(query, of_query(readings, query.name)) for query in queries]
    for overheads_s, share in product((told, quick), NOISES):
        yield tuple(priced(query, overhead_s, share) for query, overhead_s in zip(queries, overheads_s, strict=True))


def quick_overhead_s(query: CalibratedQuery, seen: Seen) -> float:
    """What batches that waited for nobody took beyond their rows."""
    settings = query.settings
    assert isinstance(settings, MicroBatchSettings)
    rows_only = replace(settings.law, overhead_s=0.0)
    beyond_s = [batch.duration_s - rows_only.duration_s(batch.rows, batch.scaleout) for *_, batch in whole_batches(seen)]
    return max(0.0, float(np.quantile(beyond_s, QUIET))) if beyond_s else settings.overhead_s


def priced(query: CalibratedQuery, overhead_s: float, noise_share: float) -> CalibratedQuery:
    """With this overhead, for dear and cheap rows so much more or less as before, and a share of the noise."""
    best = query.settings
    assert isinstance(best, MicroBatchSettings)
    before_s = best.overhead_s

    def other(settings: Settings) -> Settings:
        assert isinstance(settings, MicroBatchSettings)
        return replace(settings, overhead_s=max(0.0, settings.overhead_s - before_s + overhead_s), noise=noise_share * settings.noise)

    return query.each(other)


def by_tasks(query: CalibratedQuery) -> CalibratedQuery:
    """Without skew: to wait for the slots of another query looks like it. Rows may be dearer or cheaper by as large a share as before."""
    best = query.settings
    assert isinstance(best, MicroBatchSettings)

    def of_rows(settings: Settings) -> Settings:
        assert isinstance(settings, MicroBatchSettings)
        dearer = settings.row_s * settings.skew / (best.row_s * best.skew) if best.row_s > 0 else 1.0
        return replace(settings, row_s=dearer * best.row_s, skew=1.0)

    return query.each(of_rows)


def off(recorded: Sequence[Reading], again: Sequence[Reading]) -> float:
    """The mean distance of the durations of batches in both runs, in logarithms, where both tell."""
    apart = []
    for before, after in zip(recorded, again, strict=True):
        took_s = {query.name: query.batch.total_s for query in before.queries if query.batch is not None and query.batch.total_s > 0}
        apart += [
            abs(math.log(query.batch.total_s / took_s[query.name]))
            for query in after.queries
            if query.batch is not None and query.batch.total_s > 0 and query.name in took_s
        ]
    return sum(apart) / len(apart) if apart else math.inf
