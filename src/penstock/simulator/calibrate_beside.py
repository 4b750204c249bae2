"""The queries of a job beside its busiest one, found in their own readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.usage.utilization import Plant
from penstock.simulator.calibrate_batches import batch_settings, whole_batches
from penstock.simulator.calibrate_flow import flow_beside
from penstock.simulator.calibrated import CalibratedQuery, Found, Settings
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.from_history import Rescale, Seen, arrivals_of, kind_of, of_kind, of_query
from penstock.simulator.graph import OF_THE_ENGINE


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is known of the job when its other queries are looked at: how it works, and what was `first` found of the busiest one."""

    kind: Plant
    first: Found
    events: Sequence[Event]
    changes: Sequence[Rescale]
    up_s: float | None
    config: Config


def queries_beside(job: Beside, busiest: str, readings: Sequence[Reading]) -> tuple[tuple[CalibratedQuery, ...], dict[str, str]]:
    """All other queries in these readings that had something to do; and those that cannot be simulated with the busiest one, with the reason."""
    names = sorted({query.name for reading in readings for query in reading.queries} - {busiest})
    found = {name: query_beside(job, name, readings) for name in names}
    return tuple(each for each in found.values() if isinstance(each, CalibratedQuery)), {name: each for name, each in found.items() if isinstance(each, str)}


def query_beside(job: Beside, name: str, readings: Sequence[Reading]) -> CalibratedQuery | str | None:
    """The query of this name in these readings; in words, why it cannot be simulated with the busiest one; or None if it had nothing to do meanwhile."""
    seen = of_query(readings, name)
    if not any(query.arrival_rows_per_s or query.throughput_rows_per_s or query.lag_rows for _, query in seen):
        return None if all(query.throughput_rows_per_s == 0 or query.arrival_rows_per_s == 0 for _, query in seen) else "nobody knows what it read"
    if kind_of(seen) != job.kind:
        return f"it ran {'batch by batch, and the busiest one did not' if job.kind == 'continuous' else 'in Real-Time Mode, and the busiest one did not'}"
    try:
        arrivals, _ = arrivals_of(seen, job.config)
        found = own_settings(job, of_kind(seen, job.kind))
    except UserMistake as mistake:
        return str(mistake)
    return CalibratedQuery(settings=found.settings, arrivals=none_while_away(arrivals, seen, readings), likely=found.likely)


def own_settings(job: Beside, seen: Seen) -> Found:
    """What it costs itself, and what executors cost all queries."""
    main = job.first.settings
    if isinstance(main, ContinuousSettings):
        return flow_beside(job.first, seen)
    if not whole_batches(seen):
        raise UserMistake("no batch of it was seen")
    found = batch_settings(seen, job.events, job.changes, job.up_s)
    return replace(found, settings=on_executors_of(main, found.settings), likely=tuple(on_executors_of(main, each) for each in found.likely))


def on_executors_of(main: Settings, own: Settings) -> Settings:
    return replace(own, **{name: getattr(main, name) for name in OF_THE_ENGINE[type(main)]})


def none_while_away(arrivals: Arrivals, seen: Seen, readings: Sequence[Reading]) -> Arrivals:
    """Nothing arrives for a query in readings that lack it."""
    there = {reading.at_s for reading, _ in seen}
    away = {reading.at_s: 0.0 for reading in readings if reading.at_s not in there}
    if not away:
        return arrivals
    points = sorted((dict(zip(arrivals.time_s, arrivals.rate_rows_per_s, strict=True)) | away).items())
    return Arrivals.through([at_s for at_s, _ in points], [rate for _, rate in points])
