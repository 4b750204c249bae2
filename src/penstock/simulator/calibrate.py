"""A simulator made like a job, from the job's own history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.usage.utilization import Plant
from penstock.simulator.calibrate_alone import with_batches_alone
from penstock.simulator.calibrate_batches import batch_settings
from penstock.simulator.calibrate_beside import Beside, queries_beside
from penstock.simulator.calibrate_flow import flow_settings
from penstock.simulator.calibrate_newcomers import with_newcomers
from penstock.simulator.calibrate_notes import behind, gaps, not_beside, not_simulated, ran_alone, shared_by, survived
from penstock.simulator.calibrated import Calibrated, CalibratedQuery
from penstock.simulator.from_history import (
    arrivals_of,
    busiest_query,
    caught_up,
    kind_of,
    longest_stretch,
    of_kind,
    of_query,
    recorded_faults,
    rescales,
)
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
    """From readings and events in the order of time; only a history without work is refused.

    Queries that do not work as the busiest one does, batch by batch or all the time, are left out; it is the busiest of those that work as `only` says,
    if that is given. `up_s` is how long a new executor of a job in micro-batches takes to come, where somebody knows, and `scheduler` how its queries
    share executors; where tasks run all the time they do so fairly.
    """
    if not readings:
        raise UserMistake("the history holds no readings: there is nothing to simulate")
    events, name = list(events), busiest_query(readings, only)
    whole = of_query(readings, name)
    kind = kind_of(whole)
    seen, changes = of_kind(whole, kind), rescales(events, readings)
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
    # Checkpoints are then where they were, and a rescale of the recorded run replays what it did.
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
