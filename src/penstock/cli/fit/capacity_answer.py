"""The capacity of the workers that are there at the end of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.models.capacity.job_capacity import JobCapacity, WorkerShare
from penstock.core.models.capacity.worker_readings import WorkersReading
from penstock.core.models.estimate import Estimate, NotReady


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityAnswer:
    """The capacity of `workers` workers; `shares` lists each, and is empty where only others were read for long enough."""

    model: JobCapacity
    workers: int
    capacity: Estimate
    skew: float
    shares: tuple[WorkerShare, ...]
    notes: tuple[str, ...]


def answered(empty: JobCapacity, used: Sequence[WorkersReading], *, present: tuple[str, ...], at_utilization: float) -> CapacityAnswer | NotReady:
    """The capacity of the `present` workers; if too little is known of them, that of the workers before them, scaled, and a note says so."""
    whole = model = empty.learn(used).settled()
    left = list(used)
    while left and isinstance(model.skew(), NotReady):
        last = left[-1].names
        while left and left[-1].names == last:
            left.pop()
        model = empty.learn(left).settled()
    capacity, skew = model.predict(at_utilization=at_utilization, scaleout=len(present)), model.skew(at_utilization=at_utilization)
    if model.stay is None or isinstance(skew, NotReady):
        why = whole.skew()
        return why if isinstance(why, NotReady) else NotReady(why="no workers were read")
    if isinstance(capacity, NotReady):
        return capacity
    if model.stay.names == present:
        shares = model.workers(at_utilization=at_utilization)
        return CapacityAnswer(model=model, workers=len(present), capacity=capacity, skew=skew, shares=shares, notes=())
    return CapacityAnswer(
        model=model, workers=len(present), capacity=capacity, skew=skew, shares=(), notes=(told_from_others(len(present), model.stay.scaleout),)
    )


def told_from_others(present: int, before: int) -> str:
    """
    >>> told_from_others(9, 6)
    'too few readings of the 9 workers at the end can be used: this is what the 6 before them can take, times 9/6'
    """
    times = "" if present == before else f", times {present}/{before}"
    return f"too few readings of the {present} workers at the end can be used: this is what the {before} before them can take{times}"
