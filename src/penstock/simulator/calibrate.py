"""Build a simulator of a job from the job's own history."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.event import Event
from penstock.core.domain.fault import Fault
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Plant
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.calibrate_batches import batch_settings, whole_batches
from penstock.simulator.calibrate_flow import flow_beside, flow_settings
from penstock.simulator.calibrated import Calibrated, CalibratedQuery, Found
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.from_history import (
    LONGEST,
    SILENT_S,
    Rescale,
    Seen,
    arrivals_of,
    busiest_query,
    caught_up,
    kind_of,
    lasted_s,
    longest_stretch,
    of_kind,
    of_query,
    recorded_faults,
    rescales_done,
    usual_plan,
)
from penstock.simulator.graph import OF_THE_ENGINE
from penstock.simulator.rerun import with_batches_alone, with_newcomers
from penstock.simulator.sharing import Scheduler


def calibrated(
    readings: Sequence[Reading],
    events: Iterable[Event],
    config: Config,
    *,
    autopilot: Autopilot | None = None,
    up_s: float | None = None,
    scheduler: Scheduler = "fair",
    only: Plant | None = None,
) -> Calibrated:
    """Return the calibration by readings and events in the order of time; raise `UserMistake` if they show no work.

    Queries of another kind than the busiest one (micro-batch or continuous) are left out; `only` limits the choice of the busiest to one kind.
    `up_s` is the time to start an executor of a micro-batch job, if it is known, and `scheduler` how its queries share executors.
    """
    if not readings:
        raise UserMistake("the history holds no readings: there is nothing to simulate")
    events, name = list(events), busiest_query(readings, only)
    whole = of_query(readings, name)
    kind = kind_of(whole)
    seen, changes = of_kind(whole, kind), rescales_done(events)
    found = batch_settings(seen, events, changes, up_s) if kind == "micro_batch" else flow_settings(seen, events, changes, autopilot or Autopilot())
    lived = longest_stretch(seen, config.reading_interval_s)
    first, query = caught_up(lived)
    from_s, end_s = lived[0][0].at_s, lived[-1][0].at_s
    stretch = [reading for reading in readings if from_s <= reading.at_s <= end_s]
    arrivals, why = arrivals_of(of_query(stretch, name), config)
    names = sorted({query.name for reading in readings for query in reading.queries} - {name})
    others, left_out = queries_beside(Beside(kind=kind, busiest=found, events=events, changes=changes, up_s=up_s, config=config), names, stretch)
    struck = [fault for fault in recorded_faults(readings, (name, *(other.name for other in others))) if first.at_s < fault.at_s <= end_s]
    faults = tuple(fault for fault in struck if kind == "micro_batch" or fault.kind == "restart")
    # Start at a checkpoint, so that rescales replay as many rows as in the recorded run.
    since_checkpoint_s = 0.0 if kind == "micro_batch" else query.uptime_s if query.since_commit_s is None else query.since_commit_s
    job = Calibrated(
        kind=kind,
        queries=(CalibratedQuery(settings=found.settings, arrivals=arrivals, likely=found.likely), *others),
        start_s=first.at_s - since_checkpoint_s,
        end_s=end_s,
        executors=max(1, first.executors_running),
        scheduler=scheduler if kind == "micro_batch" else "fair",
        faults=faults,
        left_out=tuple(left_out),
        notes=(
            *found.notes,
            *why,
            *(note for other in others for note in other.notes),
            *not_beside(left_out),
            *shared_by(name, others),
            *not_simulated(whole, seen),
            *gaps(seen, lived),
            *ran_alone(name, readings, lived),
            *survived(struck, kind),
            *behind(seen),
        ),
    )
    if kind == "continuous":
        return job
    return with_newcomers(with_batches_alone(job, stretch, seen, config), seen, changes, config)


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known of the job when its other queries are calibrated."""

    kind: Plant
    busiest: Found
    events: Sequence[Event]
    changes: Sequence[Rescale]
    up_s: float | None
    config: Config


def queries_beside(job: Beside, names: Sequence[str], readings: Sequence[Reading]) -> tuple[tuple[CalibratedQuery, ...], dict[str, str]]:
    """Return the queries of these names that read rows; and the names of those that cannot be simulated with the busiest one, with the reason."""
    found: list[CalibratedQuery] = []
    why_not: dict[str, str] = {}
    for name in names:
        try:
            query = query_beside(job, name, readings)
        except UserMistake as mistake:
            why_not[name] = str(mistake)
        else:
            found += [] if query is None else [query]
    return tuple(found), why_not


def query_beside(job: Beside, name: str, readings: Sequence[Reading]) -> CalibratedQuery | None:
    """Return the query of this name, or None if it read no rows; raise `UserMistake` if it cannot be simulated with the busiest one."""
    seen = of_query(readings, name)
    if not seen:
        raise UserMistake("it did not run in the time that is simulated")
    known = [rows for _, query in seen for rows in (query.arrival_rows_per_s, query.throughput_rows_per_s) if rows is not None]
    if not any(known) and not any(query.lag_rows for _, query in seen):
        if known:
            return None
        raise UserMistake("the rows it read are not known")
    if kind_of(seen) != job.kind:
        raise UserMistake(f"it ran {'batch by batch' if job.kind == 'continuous' else 'in Real-Time Mode'}, and the busiest one did not")
    arrivals, why = arrivals_of(seen, job.config)
    found = own_settings(job, of_kind(seen, job.kind))
    return CalibratedQuery(
        settings=found.settings,
        arrivals=none_while_away(arrivals, seen, readings, job.config),
        likely=found.likely,
        notes=tuple(f"query {name}: {note}" for note in (*found.notes, *why) if note not in job.busiest.notes),
    )


def own_settings(job: Beside, seen: Seen) -> Found:
    """Return the query's own settings, with the settings of the executors from the busiest one."""
    main = job.busiest.settings
    if isinstance(main, ContinuousSettings):
        return flow_beside(job.busiest, seen)
    if not whole_batches(seen):
        raise UserMistake("it shows no batch that could be measured")
    found = batch_settings(seen, job.events, job.changes, job.up_s)
    shared: dict[str, Any] = {name: getattr(main, name) for name in OF_THE_ENGINE[type(main)]}
    return replace(found, settings=replace(found.settings, **shared), likely=tuple(replace(each, **shared) for each in found.likely))


def none_while_away(arrivals: Arrivals, seen: Seen, readings: Sequence[Reading], config: Config) -> Arrivals:
    """Return the arrivals with a rate of 0 before the query's first reading, after its last, and in gaps longer than `SILENT_S`.

    After a shorter gap the first rate includes what arrived in the gap.
    """
    there = [reading.at_s for reading, _ in seen]
    covered_s = LONGEST * config.reading_interval_s
    zeros: dict[float, float] = {}
    for reading in readings:
        place = bisect_right(there, reading.at_s)
        before_s, after_s = there[place - 1] if place else -math.inf, there[place] if place < len(there) else math.inf
        if before_s < reading.at_s <= after_s - covered_s and after_s - before_s > SILENT_S:
            zeros[reading.at_s] = 0.0
    if not zeros:
        return arrivals
    points = sorted((dict(zip(arrivals.time_s, arrivals.rate_rows_per_s, strict=True)) | zeros).items())
    return Arrivals.through([at_s for at_s, _ in points], [rate for _, rate in points])


OFTEN = 0.1
"""A job that was behind its load in a larger share of the readings is hard to simulate."""


def shared_by(name: str, others: Sequence[CalibratedQuery]) -> tuple[str, ...]:
    """Return a note that several queries are simulated, and what is assumed of their costs."""
    if not others:
        return ()
    names = ", ".join((name, *(each.name for each in others)))
    alike = ", and a row is assumed to cost the same in each" if isinstance(others[0].settings, ContinuousSettings) else ""
    return (f"{1 + len(others)} queries share the executors, {names}: they are simulated together{alike}",)


def not_beside(why_not: Mapping[str, str]) -> tuple[str, ...]:
    """Return a note for each query that is not simulated."""
    return tuple(f"query {name} is not simulated, and the executors it needs are not counted: {why}" for name, why in why_not.items())


def not_simulated(whole: Seen, seen: Seen) -> tuple[str, ...]:
    """Return notes of what is left out of the busiest query: times in another mode, and less usual settings."""
    trigger, limit = usual_plan(seen)
    notes = []
    if len(seen) < len(whole):
        notes.append(f"the mode changed: {len(whole) - len(seen)} of {len(whole)} readings are of another one and left out")
    if len({(query.trigger, query.rate_limit_rows_per_s) for _, query in seen}) > 1:
        words = "no limit" if limit is None else f"a limit of {limit:,.0f} rows/s"
        notes.append(f"trigger or rate limit changed: the usual ones are simulated, {trigger} and {words}")
    return tuple(notes)


def gaps(seen: Seen, lived: Seen) -> tuple[str, ...]:
    """Return a note if the job did not run all the time."""
    if len(lived) == len(seen):
        return ()
    lasted, of = (duration_words(round(each)) for each in (lasted_s(lived), lasted_s(seen)))
    return (f"the job did not run all the time: of the {of} from its first reading to its last, the longest stretch without a gap is simulated, {lasted}",)


def ran_alone(name: str, readings: Sequence[Reading], lived: Seen) -> tuple[str, ...]:
    """Return a note if other queries ran for long while the busiest did not."""
    from_s, end_s = lived[0][0].at_s, lived[-1][0].at_s
    outside = [reading.at_s for reading in readings if not from_s <= reading.at_s <= end_s and any(query.throughput_rows_per_s for query in reading.queries)]
    before_s, after_s = (max(span, default=0.0) - min(span, default=0.0) for span in ([s for s in outside if s < from_s], [s for s in outside if s > end_s]))
    if max(before_s, after_s) <= SILENT_S:
        return ()
    return (f"only the {duration_words(round(end_s - from_s))} are simulated in which query {name}, the busiest, ran: before or after it others did",)


def survived(struck: Sequence[Fault], kind: Plant) -> tuple[str, ...]:
    """Return a note if a continuous job lost executors without a restart of a query, which is not simulated.

    >>> lost, ended = Fault(at_s=5.0), Fault(at_s=5.0, kind="restart")
    >>> survived([lost, ended, ended], "continuous"), survived([lost], "continuous"), survived([lost], "micro_batch")
    ((), ('1 executor was lost without an end of the query: that is not simulated',), ())
    """
    restarts_s = {fault.at_s for fault in struck if fault.kind == "restart"}
    alone = 0 if kind == "micro_batch" else sum(fault.kind != "restart" for fault in struck) - len(restarts_s)
    return (f"{alone} executor{'s were' if alone > 1 else ' was'} lost without an end of the query: that is not simulated",) if alone > 0 else ()


def behind(seen: Seen) -> tuple[str, ...]:
    """Return a note if the job was often behind its load, where latencies add up every error of the capacity."""
    late = sum((query.excess_lag_rows or 0.0) > max(query.trigger.interval_s, 1.0) * (query.arrival_rows_per_s or 0.0) for _, query in seen)
    if late <= OFTEN * len(seen):
        return ()
    return (f"the job was behind its load in {late / len(seen):.0%} of the readings: there a small error of its capacity is a large error of its latency",)
