"""How much each size can take, by the model that earned the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from penstock.core.assessment import Assessment
from penstock.core.models.capacity.earned import EarnedCapacity
from penstock.core.models.estimate import Estimate

MOST_TIMES = 10.0
"""An upper bound is at most this many times the value: a few batches may leave open whether a row costs anything at all."""


def capacities(model: EarnedCapacity, sizes: Sequence[int], interval_s: float) -> dict[int, Estimate]:
    """Capacity in rows/s of each size that is known. Sizes whose lower bound is 0 are left out unless the upper bound is 0 too.

    Where there are micro-batches their cost answers for every policy, as soon as it is known (PAPER-NOTES "Micro-batch capacity").
    """
    model = settled(model)
    answers = model.capacities(sizes, interval_s)
    return {size: bounded(answer) for size, answer in answers.items() if isinstance(answer, Estimate) and says_something(answer)}


def says_something(capacity: Estimate) -> bool:
    """Whether the bounds of a capacity exclude anything: more than nothing, or surely nothing (batches that outlast their interval without a row).

    >>> [says_something(Estimate(value=value, low=low, high=high)) for value, low, high in ((9.0, 1.0, 99.0), (9.0, 0.0, 99.0), (0.0, 0.0, 0.0))]
    [True, False, True]
    """
    return isfinite(capacity.value) and (capacity.low > 0.0 or capacity.high <= 0.0)


def capacity_why(model: EarnedCapacity, seen: Assessment, executors: int) -> str | None:
    """Which of the two models told the capacity of a size, and why that one, for people; None where neither did."""
    if executors not in seen.capacities:
        return None
    choice = settled(model).choice(executors, seen.interval_s)
    return f"by {choice.model}: {choice.why}"


def settled(model: EarnedCapacity) -> EarnedCapacity:
    return replace(model, by_utilization=model.by_utilization.settled())


def carried_by(seen: Assessment, executors: int) -> Estimate | None:
    """What a size can take: as learnt while the job ran, else as the profile has it."""
    return seen.capacities.get(executors) or seen.t_max.get(executors)


def bounded(capacity: Estimate) -> Estimate:
    """The capacity with an upper bound that is finite.

    >>> bounded(Estimate(value=100.0, low=50.0, high=float("inf"))).high
    1000.0
    """
    return replace(capacity, high=min(capacity.high, MOST_TIMES * capacity.value))
