"""What is to be said of a calibration, in words: what is simulated, what is not, and what makes it hard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.plan.shadow import SILENT_S
from penstock.core.usage.utilization import Plant
from penstock.simulator.calibrated import CalibratedQuery
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.from_history import Seen, lasted_s, usual_plan
from penstock.simulator.ground_truth import Fault

OFTEN = 0.1
"""A job that was behind its load in a larger share of the readings is hard to simulate."""


def shared_by(name: str, others: Sequence[CalibratedQuery]) -> tuple[str, ...]:
    """That several queries are simulated, and what is taken for the cost of each."""
    if not others:
        return ()
    names = ", ".join((name, *(each.name for each in others)))
    alike = ", and a row of one is taken to cost what a row of another does" if isinstance(others[0].settings, ContinuousSettings) else ""
    return (f"{1 + len(others)} queries share the executors, {names}: they are simulated together{alike}",)


def not_beside(why_not: Mapping[str, str]) -> tuple[str, ...]:
    """That queries are not simulated, by their names, and why not."""
    return tuple(f"query {name} is not simulated, and what it needs counts as nothing: {why}" for name, why in why_not.items())


def not_simulated(whole: Seen, seen: Seen) -> tuple[str, ...]:
    """What is left out of the busiest query: times in another mode, settings that were in force for a while."""
    trigger, limit = usual_plan(seen)
    notes = []
    if len(seen) < len(whole):
        notes.append(f"the mode changed: {len(whole) - len(seen)} of {len(whole)} readings are of another one and left out")
    if len({(query.trigger, query.rate_limit_rows_per_s) for _, query in seen}) > 1:
        words = "no limit" if limit is None else f"a limit of {limit:,.0f} rows/s"
        notes.append(f"trigger or rate limit changed: the usual ones are simulated, {trigger} and {words}")
    return tuple(notes)


def gaps(seen: Seen, lived: Seen) -> tuple[str, ...]:
    """That the job did not run all the time: a stop is no load, and what came before or after it is another run."""
    if len(lived) == len(seen):
        return ()
    lasted, of = (duration_words(round(each)) for each in (lasted_s(lived), lasted_s(seen)))
    return (f"the job did not run all the time: of the {of} from its first reading to its last, the longest stretch without a gap is simulated, {lasted}",)


def ran_alone(name: str, readings: Sequence[Reading], lived: Seen) -> tuple[str, ...]:
    """That other queries ran for long while the busiest did not, which is not simulated."""
    from_s, end_s = lived[0][0].at_s, lived[-1][0].at_s
    outside = [reading.at_s for reading in readings if not from_s <= reading.at_s <= end_s and any(query.throughput_rows_per_s for query in reading.queries)]
    before_s, after_s = (max(span, default=0.0) - min(span, default=0.0) for span in ([s for s in outside if s < from_s], [s for s in outside if s > end_s]))
    if max(before_s, after_s) <= SILENT_S:
        return ()
    return (f"only the {duration_words(round(end_s - from_s))} are simulated in which query {name}, the busiest, ran: before or after it others did",)


def survived(struck: Sequence[Fault], kind: Plant) -> tuple[str, ...]:
    """That where tasks run all the time the loss of an executor is simulated by the restart of the query that it ends, if it does.

    >>> lost, ended = Fault(at_s=5.0), Fault(at_s=5.0, kind="restart")
    >>> survived([lost, ended, ended], "continuous"), survived([lost], "continuous"), survived([lost], "micro_batch")
    ((), ('1 executor was lost without an end of the query: that is not simulated',), ())
    """
    restarts_s = {fault.at_s for fault in struck if fault.kind == "restart"}
    alone = 0 if kind == "micro_batch" else sum(fault.kind != "restart" for fault in struck) - len(restarts_s)
    return (f"{alone} executor{'s were' if alone > 1 else ' was'} lost without an end of the query: that is not simulated",) if alone > 0 else ()


def behind(seen: Seen) -> tuple[str, ...]:
    """That the job was often so far behind its load that latencies cannot be met well: there they sum up every error of its cost."""
    late = sum((query.excess_lag_rows or 0.0) > max(query.trigger.interval_s, 1.0) * (query.arrival_rows_per_s or 0.0) for _, query in seen)
    if late <= OFTEN * len(seen):
        return ()
    return (f"the job was behind its load in {late / len(seen):.0%} of the readings: there a small error of its capacity makes a large one of its latency",)
