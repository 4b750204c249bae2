"""What a size is charged: how long the job would take to recover from the change to it, or from a failure there."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from penstock.core.assessment import Assessment
from penstock.core.models.anomaly.disturbance import DisturbanceKind
from penstock.core.models.capacity.batch_law import least_alike
from penstock.core.models.once import once
from penstock.core.models.recovery.batches import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.downtime import LOST_EXECUTOR_S, Priors
from penstock.core.models.recovery.formula import recovery_s
from penstock.core.models.recovery.transition import LiveRescale, recovery_after_rescale_s
from penstock.core.models.recovery.worst_case import uncommitted_s
from penstock.core.usage.utilization import Plant

UNSEEN = Priors()


def recovery_after_s(seen: Assessment, executors: int) -> float | None:
    """Seconds until the job has caught up if it goes to this size now; for the present size, if it fails now. None while a capacity is not known.

    A rescale that stops the job is an outage of its own downtime (Daedalus sec. 3.4). One that does not costs the worse of its transition and of a
    failure at the new size (PAPER-NOTES "Live rescale").
    """
    now, new = seen.capacity(seen.current), seen.capacity(executors)
    if seen.arrivals is None or now is None or new is None:
        return None
    if executors == seen.current:
        return recovery_from_failure_s(seen, executors, new)
    kind: DisturbanceKind = "rescale_up" if executors > seen.current else "rescale_down"
    if kind in seen.stops:
        return recovery_s(seen.arrivals, seen.at_s, new, seen.interval_s, downtime_s(seen, kind), seen.excess_lag_rows)
    rescale = LiveRescale(
        at_s=seen.at_s,
        ready_after_s=downtime_s(seen, kind),
        capacity_now_rows_per_s=now,
        capacity_new_rows_per_s=new,
        excess_lag_rows=seen.excess_lag_rows,
    )
    failure_s = recovery_from_failure_s(seen, executors, new)
    return None if failure_s is None else recovery_after_rescale_s(seen.arrivals, rescale, failure_s)


def recovery_from_failure_s(seen: Assessment, executors: int, capacity_rows_per_s: float) -> float | None:
    """Seconds to recover from a failure now, just before a commit, at this size with this capacity and the lag that is there.

    Micro-batches whose cost is known catch up batch by batch (PAPER-NOTES "Catch-up in micro-batches"); anything else as Daedalus sec. 3.4 has it.
    """
    if seen.arrivals is None:
        return None
    if seen.batch_laws is not None:
        law = seen.batch_laws.best
        return _caught_up_s(seen)(least_alike(executors, law.partitions, law.cores_per_executor))
    repeated = repeated_s(seen, longer(seen.capacity(seen.current), capacity_rows_per_s))
    return recovery_s(seen.arrivals, seen.at_s, capacity_rows_per_s, repeated, downtime_s(seen, failure_of(seen.plant)), seen.excess_lag_rows)


@once(4)
def _caught_up_s(seen: Assessment) -> Callable[[int], float]:
    """Seconds to recover from a failure now at a size, batch by batch; each size is followed once, as a policy weighs many that are alike."""
    laws, arrivals, down_s = seen.batch_laws, seen.arrivals, downtime_s(seen, failure_of(seen.plant))
    assert laws is not None and arrivals is not None

    @cache
    def recovered_s(scaleout: int) -> float:
        outage = BatchOutage(at_s=seen.at_s, downtime_s=down_s, interval_s=seen.interval_s, scaleout=scaleout, lag_rows=seen.excess_lag_rows)
        return recovery_by_batches_s(laws.best, arrivals, outage)

    return recovered_s


def repeated_s(seen: Assessment, batches_longer: float = 1.0) -> float:
    """Seconds of arrivals that a failure makes the job process again, at worst, where batches take so many times as long as now."""
    if seen.plant == "continuous" or seen.batch_s is None:
        return seen.interval_s
    return uncommitted_s(seen.interval_s, batches_longer * seen.batch_s)


def longer(capacity_now: float | None, capacity_then: float) -> float:
    """Factor by which a batch's work takes longer at `capacity_then` than at `capacity_now`; 1.0 while the present capacity is unknown.

    >>> longer(400.0, 200.0), longer(None, 200.0)
    (2.0, 1.0)
    """
    return 1.0 if capacity_now is None or capacity_then <= 0.0 else capacity_now / capacity_then


def failure_of(plant: Plant) -> DisturbanceKind:
    """What the loss of an executor is: tasks tried again between batches, the end of the query where tasks run all the time."""
    return "executor_loss" if plant == "micro_batch" else "query_restart"


def downtime_s(seen: Assessment, kind: DisturbanceKind) -> float:
    """As learnt; before that what Daedalus sec. 3.4 begins with, where a failure that stops the job takes what scaling out does."""
    known_s = seen.downtimes_s.get(kind)
    if known_s is not None:
        return known_s
    if kind == "executor_loss" and seen.plant == "micro_batch":
        return LOST_EXECUTOR_S
    return UNSEEN.rescale_down_s if kind == "rescale_down" else UNSEEN.rescale_up_s
