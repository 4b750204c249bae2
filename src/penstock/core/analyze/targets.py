"""Promises that no number of executors can keep."""

import math
from dataclasses import replace

from penstock.core.analyze.assess import declared_downtimes
from penstock.core.analyze.capacities import carried_by
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Comparison
from penstock.core.domain.events.autopilot_events import THROUGHPUT, TargetFeasible, TargetInfeasible
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import recovery_s
from penstock.core.models.recovery.recovery_cost import downtime_s, failure_of, repeated_s

LOOKS = 3
"""A target must be found out of reach, or back in reach, this often in a row before that is said: while capacity is learnt it may alternate."""


def watch_targets(knowledge: Knowledge, seen: Assessment, autopilot: Autopilot) -> tuple[Knowledge, list[Event]]:
    """Report each target that is out of reach in several checks in a row, and when it is in reach again; at once if that follows from the declaration."""
    found, said = targets(seen), knowledge.trust.infeasible
    changed = [*(target for target in found if target not in said), *(target for target in said if target not in found)]
    doubted = {target: knowledge.trust.doubted.get(target, 0) + 1 for target in changed}
    certain = {target for target, why in found.items() if is_certain(why, knowledge, seen, autopilot)}
    sure = [target for target, looks in doubted.items() if looks >= LOOKS or target in certain]
    if not sure and doubted == knowledge.trust.doubted:
        return knowledge, []
    events: list[Event] = [
        TargetInfeasible(at_s=seen.at_s, target=target, why=found[target]) if target in found else TargetFeasible(at_s=seen.at_s, target=target)
        for target in sure
    ]
    infeasible = (*(target for target in said if target not in sure), *(target for target in sure if target in found))
    left = {target: looks for target, looks in doubted.items() if target not in sure}
    return replace(knowledge, trust=replace(knowledge.trust, infeasible=infeasible, doubted=left)), events


def is_certain(why: Comparison, knowledge: Knowledge, seen: Assessment, autopilot: Autopilot) -> bool:
    """Return whether it needs no second look: it follows from the trigger, or from a downtime that the owner declared and nothing seen since has changed."""
    if why.code == "recovery_below_downtime":
        kind = failure_of(seen.plant)
        return kind not in knowledge.learnt.downtimes.learnt and kind in declared_downtimes(autopilot, seen.plant)
    return why.code == "latency_below_trigger"


def targets(seen: Assessment) -> dict[str, Comparison]:
    """Return why not even the most executors can meet a target, by target; judged by the bounds in its favour, so that little knowledge raises no alarm."""
    why = {"recovery time": _recovery(seen), "latency": _latency(seen), THROUGHPUT: _throughput(seen)}
    return {target: each for target, each in why.items() if each is not None}


def _recovery(seen: Assessment) -> Comparison | None:
    """Return why the recovery time is out of reach: below the downtime of a failure, or of what the most executors need at the forecast peak."""
    promised_s, down_s = seen.promises.recovery_s, downtime_s(seen, failure_of(seen.plant))
    if promised_s is None:
        return None
    if promised_s <= down_s:
        return Comparison(code="recovery_below_downtime", value=down_s, limit=promised_s)
    largest, peak = most_throughput(seen), seen.peak(math.inf)
    if largest is None or peak <= 0:
        return None
    takes_s = recovery_s(Arrivals.constant(peak), seen.at_s, largest.high, repeated_s(seen), down_s)
    return Comparison(code="recovery_above_target", value=takes_s, limit=promised_s) if takes_s > promised_s else None


def _latency(seen: Assessment) -> Comparison | None:
    """Return why the latency is out of reach: below the wait for the trigger, or the latency of the most executors under the load to come."""
    promised_s = seen.promises.latency_p95_s
    if promised_s is None:
        return None
    waits_s = max((query.trigger.interval_s for query in seen.reading.active if query.trigger.kind == "processing_time"), default=0.0)
    if promised_s < waits_s:
        return Comparison(code="latency_below_trigger", value=waits_s, limit=promised_s)
    overhead = None if seen.batch_laws is None else seen.batch_laws.estimate(lambda law: law.base_s(seen.limits.max_executors))
    if overhead is not None and seen.cadence.promised and overhead.low >= seen.cadence.longest_s:
        return Comparison(code="latency_below_overhead", value=overhead.value, limit=promised_s)
    best = seen.latencies.get(seen.limits.max_executors)
    if best is None or best.low <= promised_s or keeps_latency(seen, promised_s):
        return None
    return Comparison(code="latency", value=best.value, limit=promised_s)


def keeps_latency(seen: Assessment, promised_s: float) -> bool:
    """Return whether the job keeps this latency under the largest load that is forecast."""
    latency, arriving = seen.reading.latency, seen.reading.arrival_rows_per_s or 0.0
    return latency is not None and latency.p95_s <= promised_s and arriving >= seen.peak(math.inf) and not falls_behind(seen)


def _throughput(seen: Assessment) -> Comparison | None:
    largest, peak = most_throughput(seen), seen.peak(math.inf)
    return Comparison(code="peak_above_capacity", value=peak, limit=largest.value) if largest is not None and peak > largest.high else None


def most_throughput(seen: Assessment) -> Estimate | None:
    """Return the throughput in rows/s of the most executors when they are saturated; at least what the job processes now without falling behind."""
    most, laws = seen.limits.max_executors, seen.batch_laws
    known = carried_by(seen, most)
    if known is None:
        return None
    saturated = known if laws is None else laws.estimate(lambda law: law.saturated_rows_per_s(most, seen.cadence.interval_s))
    shown = 0.0 if seen.executors > most or falls_behind(seen) else seen.reading.throughput_rows_per_s or 0.0
    value, low, high = (max(pair) for pair in ((known.value, saturated.value), (known.low, saturated.low), (known.high, saturated.high)))
    return Estimate(value=max(value, shown), low=low, high=max(high, shown))


def falls_behind(seen: Assessment) -> bool:
    """Return whether more arrives than is processed while rows wait, or that is not known."""
    reading = seen.reading
    done, arriving, waiting = reading.throughput_rows_per_s, reading.arrival_rows_per_s, reading.excess_lag_rows
    return done is None or arriving is None or (arriving > done and (waiting is None or waiting > 0))
