"""Find the settings of a query whose tasks run all the time in its readings."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

import numpy as np

from penstock.core.analyze.learn import executor_uses
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.models.capacity.job_capacity import JobCapacity
from penstock.core.models.estimate import Estimate, NotReady
from penstock.simulator.calibrated import Found, Settings
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.fluid import FULLEST
from penstock.simulator.from_history import Rescale, Seen, median_of, restarted_after_s, usual_plan, usual_took_s

BALANCED = 0.05
"""Capacities of executors that vary by less than this are equal: the rest is noise of the measurement."""


def flow_settings(seen: Seen, events: Iterable[Event], rescales: Sequence[Rescale], autopilot: Autopilot) -> Found:
    """Return the settings of a query, from its readings, rescales and restarts."""
    trigger, limit = usual_plan(seen)
    capacity, skew, bounds, notes = capacity_of([reading for reading, _ in seen], autopilot)
    usual = ContinuousSettings(capacity_rows_per_s=capacity)
    pauses_s = [each.boundary_pause_s for _, each in seen if each.boundary_pause_s is not None]
    found_s = {
        "restart of the query": (restarted_after_s(events, seen[-1][1].name), usual.downtime_s),
        "scale-up": (usual_took_s(rescales, grows=True), usual.up_s),
        "scale-down": (usual_took_s(rescales, grows=False), usual.down_s),
        "pause at a checkpoint": (median_of(pauses_s), usual.pause_s),
    }
    notes += [f"no {which} was seen: {usual_s:g} s are assumed" for which, (known_s, usual_s) in found_s.items() if known_s is None]
    downtime_s, up_s, down_s, pause_s = (usual_s if known_s is None else known_s for known_s, usual_s in found_s.values())
    settings = ContinuousSettings(
        capacity_rows_per_s=capacity, interval_s=trigger.interval_s, pause_s=min(pause_s, trigger.interval_s / 2), downtime_s=downtime_s, up_s=up_s,
        down_s=down_s, replays=replays(seen, rescales), grows_live=not any(each.grows and stopped(seen, each) for each in rescales),
        base_s=base_of(seen, usual), skew=skew, rate_limit_rows_per_s=limit, query=seen[-1][1].name,
    )  # fmt: skip
    return Found(settings=settings, likely=tuple(replace(settings, capacity_rows_per_s=share * capacity) for share in bounds), notes=tuple(notes))


def flow_beside(busiest: Found, seen: Seen) -> Found:
    """Return the settings of another query of the same job; CPU is only known for all queries together, so a row costs the same in each."""
    trigger, limit = usual_plan(seen)
    pause_s = median_of(each.boundary_pause_s for _, each in seen if each.boundary_pause_s is not None)

    def own(settings: Settings) -> Settings:
        assert isinstance(settings, ContinuousSettings)
        return replace(
            settings,
            interval_s=trigger.interval_s,
            pause_s=min(settings.pause_s if pause_s is None else pause_s, trigger.interval_s / 2),
            base_s=base_of(seen, settings),
            rate_limit_rows_per_s=limit,
            query=seen[-1][1].name,
        )

    return Found(settings=own(busiest.settings), likely=tuple(map(own, busiest.likely)))


def base_of(seen: Seen, usual: ContinuousSettings) -> float:
    """Return the median over readings without excess lag of the median latency without its queue."""
    bases_s = []
    for reading, query in seen:
        if query.latency is not None and query.throughput_rows_per_s is not None and query.excess_lag_rows == 0 and reading.executors_running > 0:
            utilization = min(FULLEST, query.throughput_rows_per_s / reading.executors_running / usual.capacity_rows_per_s)
            bases_s.append(query.latency.p50_s - usual.queue_s * utilization / (1 - utilization))
    return max(0.0, median(bases_s)) if bases_s else usual.base_s


def capacity_of(readings: Sequence[Reading], autopilot: Autopilot) -> tuple[float, float, tuple[float, ...], list[str]]:
    """Return the capacity of an executor in rows/s, the skew, the bounds of the capacity as shares of it, and notes if it is a guess.

    The busiest executor limits the engine, so where executors differ the largest capacity is returned.
    """
    known = [uses for reading in readings if (uses := executor_uses(reading, autopilot)) is not None]
    model = JobCapacity().learn(known).settled()
    carried = np.array([each.capacity_rows_per_s for each in model.each_executor()])
    if len(carried) and carried.mean() > 0:
        spread, bounds = float(carried.std() / carried.mean()), shares_of(model.predict())
        return (float(carried.mean()), 0.0, bounds, []) if spread < BALANCED else (float(carried.max()), spread, bounds, [])
    executors = max(1, readings[-1].executors_running)
    remembered = model.predict(executors=executors)
    if not isinstance(remembered, NotReady) and remembered.value > 0:
        return remembered.value / executors, 0.0, shares_of(remembered), []
    seen = [
        reading.throughput_rows_per_s / reading.executors_running
        for reading in readings
        if reading.throughput_rows_per_s is not None and reading.executors_running > 0
    ]
    if not seen or max(seen) <= 0:
        raise UserMistake("the history holds no reading of executors at work: there is nothing to simulate")
    why = remembered.why if isinstance(remembered, NotReady) else "no executor processed anything"
    return max(seen), 0.0, (), [f"{why}: the largest throughput of an executor that was seen, {max(seen):,.0f} rows/s, is used as its capacity"]


def shares_of(estimate: Estimate | NotReady) -> tuple[float, ...]:
    """Return both bounds as shares of the estimate; empty if the lower bound is 0.

    >>> shares_of(Estimate(value=1000.0, low=900.0, high=1200.0)), shares_of(Estimate(value=1000.0, low=0.0, high=2000.0))
    ((0.9, 1.2), ())
    """
    return () if isinstance(estimate, NotReady) or estimate.low <= 0 else (estimate.low / estimate.value, estimate.high / estimate.value)


def stopped(seen: Seen, rescale: Rescale) -> bool:
    """Return whether the query was down during the rescale."""
    return any(query.state != "running" for reading, query in seen if rescale.given_s < reading.at_s <= rescale.done_s)


def replays(seen: Seen, rescales: Sequence[Rescale]) -> bool:
    """Return whether rescales go back to the last checkpoint: rows were read again during one without a failure."""
    within = [(rescale.given_s, rescale.done_s) for rescale in rescales]
    return any(
        after.replayed_rows > before.replayed_rows and after.failures == before.failures
        for (_, before), (reading, after) in pairwise(seen)
        if any(from_s < reading.at_s <= until_s for from_s, until_s in within)
    )
