"""How much each size can take, by the model that earned the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.core.assessment import Assessment
from penstock.core.models.arrays import Flags
from penstock.core.models.capacity.capacity_model import CapacityModel
from penstock.core.models.estimate import Estimate, Estimates, NotReady

MOST_TIMES = 10.0
"""An upper bound is at most this many times the value: a few batches may leave open whether a row costs anything at all."""


def capacities(model: CapacityModel, sizes: Sequence[int], interval_s: float) -> dict[int, Estimate]:
    """Capacity in rows/s of each size that is known. Sizes whose lower bound is 0 are left out unless the upper bound is 0 too.

    Where there are micro-batches their cost answers for every policy, as soon as it is known (PAPER-NOTES "Micro-batch capacity").
    """
    answers = model.capacities(sizes, interval_s)
    return {} if isinstance(answers, NotReady) else by_size(sizes, bounded(answers), say_something(answers))


def say_something(capacities: Estimates) -> Flags:
    """Whether the bounds of a capacity exclude anything: more than nothing, or surely nothing (batches that outlast their interval without a row).

    >>> say_something(Estimates(value=np.array([9.0, 9.0, 0.0]), low=np.array([1.0, 0.0, 0.0]), high=np.array([99.0, 99.0, 0.0]))).tolist()
    [True, False, True]
    """
    return np.asarray(np.isfinite(capacities.value) & ((capacities.low > 0.0) | (capacities.high <= 0.0)))


def by_size(sizes: Sequence[int], answers: Estimates, known: Flags) -> dict[int, Estimate]:
    return {size: answer for size, answer, tells in zip(sizes, answers.each(), known.tolist(), strict=True) if tells}


def capacity_why(model: CapacityModel, seen: Assessment, executors: int) -> str | None:
    """Which of the two models told the capacity of a size, and why that one, for people; None where neither did."""
    if executors not in seen.capacities:
        return None
    choice = model.choice(executors, seen.interval_s)
    return f"by {choice.model}: {choice.why}"


def carried_by(seen: Assessment, executors: int) -> Estimate | None:
    """What a size can take: as learnt while the job ran, else as the profile has it."""
    return seen.capacities.get(executors) or seen.t_max.get(executors)


def bounded(capacities: Estimates) -> Estimates:
    """The capacities with upper bounds that are finite.

    >>> bounded(Estimates(value=np.array([100.0]), low=np.array([50.0]), high=np.array([np.inf]))).high.tolist()
    [1000.0]
    """
    return replace(capacities, high=np.minimum(capacities.high, MOST_TIMES * capacities.value))
