"""Recovery time that a change of executors costs, or a failure at a number of executors."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from penstock.core.domain.cadence import Cadence
from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.trigger import Plant
from penstock.core.models.capacity.batch_law import LikelyLaws, least_alike
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.once import once
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s, uncommitted_s
from penstock.core.models.recovery.downtime import LOST_EXECUTOR_S, Priors
from penstock.core.models.recovery.outage import Outage, drained_s, recovery_s
from penstock.core.models.recovery.predicted_recovery import expected_recovery

UNSEEN = Priors()


class Situation(Protocol):
    """What a recovery depends on; an assessment has all of it. `stops` holds those of "rescale_up" and "rescale_down" that stop the job."""

    @property
    def at_s(self) -> float: ...
    @property
    def plant(self) -> Plant: ...
    @property
    def executors(self) -> int: ...
    @property
    def cadence(self) -> Cadence: ...
    @property
    def batch_s(self) -> float | None: ...
    @property
    def batch_laws(self) -> LikelyLaws | None: ...
    @property
    def arrivals(self) -> Arrivals | None: ...
    @property
    def forecast(self) -> Forecast | None: ...
    @property
    def capacities(self) -> Mapping[int, Estimate]: ...
    @property
    def downtimes_s(self) -> Mapping[str, float]: ...
    @property
    def stops(self) -> frozenset[str]: ...
    @property
    def excess_lag_rows(self) -> float: ...
    def capacity(self, executors: int) -> float | None: ...
    def saturated(self, executors: int) -> float | None: ...


def recovery_after_s(seen: Situation, executors: int) -> float | None:
    """Return the seconds until the job has caught up after a change to these executors; at the present ones, after a failure. None if a capacity is unknown.

    A rescale that stops the job is an outage with its own downtime (Daedalus sec. 3.4). A live one costs the longer of its transition and of a
    recovery from a failure with the new executors (PAPER-NOTES "Live rescale").
    """
    now, new = seen.capacity(seen.executors), seen.capacity(executors)
    if seen.arrivals is None or now is None or new is None:
        return None
    if executors == seen.executors:
        return recovery_from_failure_s(seen, executors, new)
    kind: DisturbanceKind = "rescale_up" if executors > seen.executors else "rescale_down"
    if kind in seen.stops:
        return recovery_s(seen.arrivals, seen.at_s, new, seen.cadence.interval_s, downtime_s(seen, kind), seen.excess_lag_rows)
    (_, transition), failure_s = rescale_recovery(seen, executors), recovery_from_failure_s(seen, executors, new)
    return failure_s if failure_s is None or transition is None else max(transition.value, failure_s)


def rescale_recovery(seen: Situation, executors: int) -> tuple[DisturbanceKind, Estimate | None]:
    """Return the kind of a rescale to these executors and the recovery from it: from an outage if it stops the job, else from its live transition.

    None where a capacity is not known, or a live transition leaves no lag.
    """
    kind: DisturbanceKind = "rescale_up" if executors > seen.executors else "rescale_down"
    now, new, took_s = seen.capacities.get(seen.executors), seen.capacities.get(executors), downtime_s(seen, kind)
    if seen.arrivals is None or now is None or new is None:
        return kind, None
    if kind in seen.stops:
        outage = Outage(at_s=seen.at_s, interval_s=seen.cadence.interval_s, downtime_s=took_s, lag_rows=seen.excess_lag_rows)
        return kind, expected_recovery(seen.arrivals, seen.forecast, new, outage, Estimate.exactly(took_s))
    rescale = LiveRescale(
        at_s=seen.at_s, ready_after_s=took_s, throughput_now_rows_per_s=seen.saturated(seen.executors) or now.value,
        throughput_new_rows_per_s=seen.saturated(executors) or new.value, excess_lag_rows=seen.excess_lag_rows,
    )  # fmt: skip
    lasts_s = transition_s(seen.arrivals, rescale)
    return kind, Estimate.exactly(lasts_s) if lasts_s > 0 else None


def recovery_from_failure_s(seen: Situation, executors: int, capacity_rows_per_s: float) -> float | None:
    """Return the seconds to recover from a failure now, at the worst moment, with these executors, this capacity and the present lag.

    Micro-batches whose cost is known lose an executor as a batch starts, repeat its tasks and catch up batch by batch (PAPER-NOTES "Catch-up in
    micro-batches"); anything else fails just before a commit and recovers as in Daedalus sec. 3.4.
    """
    if seen.arrivals is None:
        return None
    if seen.batch_laws is not None:
        law = seen.batch_laws.best
        return _caught_up_s(seen)(max(min(2, executors), least_alike(executors, law.partitions, law.cores_per_executor)))
    repeated = repeated_s(seen, longer(seen.capacity(seen.executors), capacity_rows_per_s))
    return recovery_s(seen.arrivals, seen.at_s, capacity_rows_per_s, repeated, downtime_s(seen, failure_of(seen.plant)), seen.excess_lag_rows)


@once(4)
def _caught_up_s(seen: Situation) -> Callable[[int], float]:
    """Return the recovery from a failure now, batch by batch, as a cached function of the executors: policies ask about many that recover alike.

    The only executor is not like one of two: all work waits for its replacement.
    """
    laws, arrivals, down_s = seen.batch_laws, seen.arrivals, downtime_s(seen, failure_of(seen.plant))
    assert laws is not None and arrivals is not None

    @cache
    def recovered_s(executors: int) -> float:
        outage = BatchOutage(at_s=seen.at_s, downtime_s=down_s, cadence=seen.cadence, executors=executors, lag_rows=seen.excess_lag_rows, lost_s=seen.at_s)
        return recovery_by_batches_s(laws.best, arrivals, outage)

    return recovered_s


def repeated_s(seen: Situation, batches_longer: float = 1.0) -> float:
    """Return the seconds of arrivals that a failure makes the job process again in the worst case, if batches take this many times as long as now."""
    if seen.plant == "continuous" or seen.batch_s is None:
        return seen.cadence.apart_s
    return uncommitted_s(seen.cadence.interval_s, batches_longer * seen.batch_s)


def longer(capacity_now: float | None, capacity_then: float) -> float:
    """Return the factor by which a batch takes longer at `capacity_then` than at `capacity_now`; 1.0 while the present capacity is unknown.

    >>> longer(400.0, 200.0), longer(None, 200.0)
    (2.0, 1.0)
    """
    return 1.0 if capacity_now is None or capacity_then <= 0.0 else capacity_now / capacity_then


def failure_of(plant: Plant) -> DisturbanceKind:
    """Return what the loss of an executor amounts to: retried tasks in micro-batches, a restart of the query where tasks run all the time."""
    return "executor_loss" if plant == "micro_batch" else "query_restart"


def downtime_s(seen: Situation, kind: DisturbanceKind) -> float:
    """Return the learnt downtime; before any was seen, the initial one of Daedalus sec. 3.4, where a failure that stops the job takes as long as a scale-up."""
    known_s = seen.downtimes_s.get(kind)
    if known_s is not None:
        return known_s
    if kind == "executor_loss" and seen.plant == "micro_batch":
        return LOST_EXECUTOR_S
    return UNSEEN.rescale_down_s if kind == "rescale_down" else UNSEEN.rescale_up_s


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRescale:
    """A rescale at `at_s` during which the job keeps running: the new executors work `ready_after_s` later, the present ones until then.

    `excess_lag_rows` is the present lag in excess of a healthy one. Throughputs are those of a saturated job: what is below them leaves no lag.
    """

    at_s: float
    ready_after_s: float
    throughput_now_rows_per_s: float
    throughput_new_rows_per_s: float
    excess_lag_rows: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("ready_after_s", self.ready_after_s), ("excess_lag_rows", self.excess_lag_rows)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} of a rescale must be 0 or more, found {value}")


def transition_s(arrivals: Arrivals, rescale: LiveRescale) -> float:
    """Return the seconds until the lag of a live rescale is gone; 0 if it causes none.

    The lag is the excess lag + integral of max(0, F - C_now) until the new executors work, drained with what those have to spare.

    >>> rescale = LiveRescale(at_s=0.0, ready_after_s=30.0, throughput_now_rows_per_s=100.0, throughput_new_rows_per_s=200.0)
    >>> transition_s(Arrivals.constant(120.0), rescale), transition_s(Arrivals.constant(90.0), rescale)
    (37.5, 0.0)
    """
    ready_s = rescale.at_s + rescale.ready_after_s
    lag_rows = rescale.excess_lag_rows + rows_above(arrivals, rescale.throughput_now_rows_per_s, rescale.at_s, ready_s)
    return drained_s(arrivals, ready_s, lag_rows, rescale.throughput_new_rows_per_s) - rescale.at_s if lag_rows > 0 else 0.0


def rows_above(arrivals: Arrivals, level_rows_per_s: float, start_s: float, end_s: float) -> float:
    """Return the integral of max(0, rate - level).

    >>> rows_above(Arrivals.through((0.0, 10.0), (0.0, 100.0)), 50.0, 0.0, 12.0)
    225.0
    """
    rows = 0.0
    for piece in arrivals.pieces(start_s):
        stop_s, rate_out = (piece.end_s, piece.rate_out) if piece.end_s <= end_s else (end_s, arrivals.rate(end_s))
        rows += (stop_s - piece.start_s) * _mean_above_zero(piece.rate_in - level_rows_per_s, rate_out - level_rows_per_s)
        if stop_s == end_s:
            break
    return rows


def _mean_above_zero(first: float, last: float) -> float:
    """Return the mean of max(0, x) over a line from `first` to `last`."""
    if min(first, last) >= 0:
        return (first + last) / 2
    highest = max(first, last, 0.0)
    return highest * highest / (2 * abs(last - first)) if highest > 0 else 0.0
