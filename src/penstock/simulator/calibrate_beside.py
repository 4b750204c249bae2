"""The queries of a job beside its busiest one, found in their own readings."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.plan.shadow import SILENT_S
from penstock.core.usage.utilization import Plant
from penstock.simulator.calibrate_batches import batch_settings, whole_batches
from penstock.simulator.calibrate_flow import flow_beside
from penstock.simulator.calibrated import CalibratedQuery, Found, Settings
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.from_history import LONGEST, Rescale, Seen, arrivals_of, kind_of, of_kind, of_query
from penstock.simulator.graph import OF_THE_ENGINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known of the job when its other queries are looked at: how it works, and what was found of the `busiest` one."""

    kind: Plant
    busiest: Found
    events: Sequence[Event]
    changes: Sequence[Rescale]
    up_s: float | None
    config: Config


def queries_beside(job: Beside, names: Sequence[str], readings: Sequence[Reading]) -> tuple[tuple[CalibratedQuery, ...], dict[str, str]]:
    """The queries of these names that had something to do; and those that cannot be simulated with the busiest one, with the reason."""
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
    """The query of this name in these readings; None if it had nothing to do. `UserMistake` if it cannot be simulated with the busiest one."""
    seen = of_query(readings, name)
    if not seen:
        raise UserMistake("it did not run in the time that is simulated")
    told = [rows for _, query in seen for rows in (query.arrival_rows_per_s, query.throughput_rows_per_s) if rows is not None]
    if not any(told) and not any(query.lag_rows for _, query in seen):
        if told:
            return None
        raise UserMistake("nobody knows what it read")
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
    """What it costs itself, and what executors cost all queries."""
    main = job.busiest.settings
    if isinstance(main, ContinuousSettings):
        return flow_beside(job.busiest, seen)
    if not whole_batches(seen):
        raise UserMistake("it shows no batch that could be measured")
    found = batch_settings(seen, job.events, job.changes, job.up_s)
    return replace(found, settings=on_executors_of(main, found.settings), likely=tuple(on_executors_of(main, each) for each in found.likely))


def on_executors_of(main: Settings, own: Settings) -> Settings:
    return replace(own, **{name: getattr(main, name) for name in OF_THE_ENGINE[type(main)]})


def none_while_away(arrivals: Arrivals, seen: Seen, readings: Sequence[Reading], config: Config) -> Arrivals:
    """Nothing arrives for a query before its first reading, after its last, and while it is gone for long.

    What one finds that is gone for minutes came meanwhile, and is told with its return.
    """
    there = [reading.at_s for reading, _ in seen]
    told = LONGEST * config.reading_interval_s
    zeros: dict[float, float] = {}
    for reading in readings:
        place = bisect_right(there, reading.at_s)
        before_s, after_s = there[place - 1] if place else -math.inf, there[place] if place < len(there) else math.inf
        if before_s < reading.at_s <= after_s - told and after_s - before_s > SILENT_S:
            zeros[reading.at_s] = 0.0
    if not zeros:
        return arrivals
    points = sorted((dict(zip(arrivals.time_s, arrivals.rate_rows_per_s, strict=True)) | zeros).items())
    return Arrivals.through([at_s for at_s, _ in points], [rate for _, rate in points])
