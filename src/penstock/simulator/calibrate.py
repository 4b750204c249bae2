"""A simulator made like a job, from the job's own history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.simulator.calibrate_alone import with_batches_alone
from penstock.simulator.calibrate_batches import batch_settings
from penstock.simulator.calibrate_beside import Beside, query_beside
from penstock.simulator.calibrate_flow import flow_settings
from penstock.simulator.calibrate_newcomers import with_newcomers
from penstock.simulator.calibrated import Calibrated, CalibratedQuery
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.from_history import (
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
    rescales,
    usual_plan,
)
from penstock.simulator.sharing import Scheduler

OFTEN = 0.1
"""A job that was behind its load in a larger share of the readings is hard to simulate."""


def calibrated(
    readings: Sequence[Reading],
    events: Iterable[Event],
    config: Config,
    *,
    autopilot: Autopilot | None = None,
    up_s: float | None = None,
    scheduler: Scheduler = "fair",
) -> Calibrated:
    """From readings and events in the order of time; only a history without work is refused.

    Queries that do not work as the busiest one does, batch by batch or all the time, are left out. `up_s` is how long a new executor of a job in
    micro-batches takes to come, where somebody knows, and `scheduler` how its queries share executors.
    """
    if not readings:
        raise UserMistake("the history holds no readings: there is nothing to simulate")
    events, name = list(events), busiest_query(readings)
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
    others = Beside(kind=kind, first=found, events=events, changes=changes, up_s=up_s, config=config)
    beside = {other: query_beside(others, other, stretch) for other in names}
    taken = tuple(each for each in beside.values() if isinstance(each, CalibratedQuery))
    left_out = {other: each for other, each in beside.items() if isinstance(each, str)}
    struck = [fault for fault in recorded_faults(readings, (name, *(each.name for each in taken))) if first.at_s < fault.at_s <= end_s]
    faults = tuple(fault for fault in struck if kind == "micro_batch" or fault.kind == "restart")
    # Checkpoints are then where they were, and a rescale of the recorded run replays what it did.
    since_checkpoint_s = 0.0 if kind == "micro_batch" else query.uptime_s if query.since_commit_s is None else query.since_commit_s
    job = Calibrated(
        kind=kind,
        queries=(CalibratedQuery(settings=found.settings, arrivals=arrivals, likely=found.likely), *taken),
        start_s=first.at_s - since_checkpoint_s,
        end_s=end_s,
        executors=max(1, first.executors_running),
        scheduler=scheduler,
        faults=faults,
        left_out=tuple(left_out),
        notes=(
            *found.notes,
            *why,
            *(f"query {other} is not simulated, and what it needs counts as nothing: {why_not}" for other, why_not in left_out.items()),
            *shared_by(name, taken),
            *not_simulated(whole, seen),
            *gaps(seen, lived),
            *survived(len(struck), len(faults)),
            *behind(seen),
        ),
    )
    if kind == "continuous":
        return job
    return with_newcomers(with_batches_alone(job, stretch, seen, config), seen, changes, config)


def shared_by(name: str, others: Sequence[CalibratedQuery]) -> tuple[str, ...]:
    """In words, that several queries are simulated, and what is taken for the cost of each."""
    if not others:
        return ()
    names = ", ".join((name, *(each.name for each in others)))
    alike = ", and a row of one is taken to cost what a row of another does" if isinstance(others[0].settings, ContinuousSettings) else ""
    return (f"{1 + len(others)} queries share the executors, {names}: they are simulated together{alike}",)


def not_simulated(whole: Seen, seen: Seen) -> tuple[str, ...]:
    """In words, what is left out of the busiest query: times in another mode, settings that were in force for a while."""
    trigger, limit = usual_plan(seen)
    notes = []
    if len(seen) < len(whole):
        notes.append(f"the mode changed: {len(whole) - len(seen)} of {len(whole)} readings are of another one and left out")
    if len({(query.trigger, query.rate_limit_rows_per_s) for _, query in seen}) > 1:
        words = "no limit" if limit is None else f"a limit of {limit:,.0f} rows/s"
        notes.append(f"trigger or rate limit changed: the usual ones are simulated, {trigger} and {words}")
    return tuple(notes)


def gaps(seen: Seen, lived: Seen) -> tuple[str, ...]:
    """In words, that the job did not run all the time: a stop is no load, and what came before or after it is another run."""
    if len(lived) == len(seen):
        return ()
    lasted, of = (duration_words(round(each)) for each in (lasted_s(lived), lasted_s(seen)))
    return (f"the job did not run all the time: of the {of} from its first reading to its last, the longest stretch without a gap is simulated, {lasted}",)


def survived(struck: int, simulated: int) -> tuple[str, ...]:
    """In words, that where tasks run all the time the loss of an executor is simulated by the restart of the query that it ends, if it does.

    >>> survived(struck=3, simulated=2), survived(struck=3, simulated=1)
    ((), ('1 executor was lost without an end of the query: that is not simulated',))
    """
    alone = struck - 2 * simulated
    return (f"{alone} executor{'s were' if alone > 1 else ' was'} lost without an end of the query: that is not simulated",) if alone > 0 else ()


def behind(seen: Seen) -> tuple[str, ...]:
    """In words, that the job was often so far behind its load that latencies cannot be met well: there they sum up every error of its cost."""
    late = sum((query.excess_lag_rows or 0.0) > max(query.trigger.interval_s, 1.0) * (query.arrival_rows_per_s or 0.0) for _, query in seen)
    if late <= OFTEN * len(seen):
        return ()
    return (f"the job was behind its load in {late / len(seen):.0%} of the readings: there a small error of its capacity makes a large one of its latency",)
