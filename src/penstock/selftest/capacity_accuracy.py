"""Measure the error of the capacity model: extrapolated from low utilisation, and on executors measured at maximum load."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from penstock.core.models.capacity.executor_use import ExecutorUses, warm_ups, without
from penstock.core.models.capacity.extrapolation import peak, quiet, total
from penstock.core.models.capacity.job_capacity import JobCapacity, Method
from penstock.core.models.estimate import Estimate
from penstock.selftest.model_targets import SEEDS, Found, Measured
from penstock.selftest.worlds.uneven_executors import LOADS, UnevenExecutors, skewed
from penstock.tables.executor_table import read_executors

METHODS: tuple[Method, Method] = ("utilization_law", "daedalus")
SATURATED = "workers_p12_saturated.csv"
LIMITS = (0.5, 0.6)
READINGS = 120
IDLE_APART, COLD = "idle differs by executor", "warming up at the start"
KINDS: Mapping[str, Callable[[random.Random, UnevenExecutors], UnevenExecutors]] = {
    IDLE_APART: lambda chance, alike: replace(alike, idles=tuple(max(0.0, chance.gauss(0.06, 0.036)) for _ in alike.proportions)),
    COLD: lambda chance, alike: replace(alike, warm_after_s=chance.uniform(60.0, 120.0)),
}
"""Executors that differ or warm up; tried with varying loads only, as one load level shows neither."""
VARYING = ("rising", "a sine")


def capacity(at_maximum: Path | None = None) -> Found:
    """Measure on generated executors, and on those that were measured at maximum load, if there is a file of them."""
    measured = [extrapolated(name, limit) for name in LOADS for limit in LIMITS]
    measured += [extrapolated(name, limit, kind) for kind in KINDS for name in VARYING if name in LOADS for limit in LIMITS]
    return Found(measured=(*measured, *(saturated(at_maximum) if at_maximum else ())))


def extrapolated(load: str, limit: float, kind: str | None = None) -> Measured:
    """Fit the capacity of twelve skewed executors to readings in which the busiest was at most at `limit`, as `penstock fit capacity` does."""
    errors: dict[Method, list[float]] = {method: [] for method in METHODS}
    constant: list[float] = []
    for seed in SEEDS:
        chance = random.Random(seed)
        executors = skewed(chance, utilization_noise=0.02, idle=chance.uniform(0.0, 0.05), noise_lasts_s=30.0)
        executors = KINDS[kind](chance, executors) if kind else executors
        seen = quiet(executors.ramp(chance, LOADS[load](READINGS)), limit)
        seen = without(seen, warm_ups(seen))
        for method, each in errors.items():
            each.append(error_of(method, seen, 1.0, executors.capacity))
        constant.append(abs(mean_throughput(seen) / executors.capacity - 1.0))
    return Measured(
        what=f"capacity from utilisation up to {limit}, load {load}{f', {kind}' if kind else ''}: error",
        found=float(np.mean(errors["utilization_law"])),
        most=0.05,
        constant=float(np.mean(constant)),
        paper=float(np.mean(errors["daedalus"])),
        beside=f"worst {max(errors['utilization_law']):.3g}",
    )


def saturated(path: Path) -> list[Measured]:
    """Measure on twelve executors at maximum load; their mean throughput is their capacity, so a constant has no error."""
    readings = read_executors(path, columns={"utilization": "cpu"}).readings
    third = len(readings) // 3
    first, rest = readings[:third], readings[third:]
    busiest = float(np.mean([peak(reading) for reading in rest]))
    skew = JobCapacity().learn(readings).skew()
    law, paper = (error_of(method, readings, 1.0, mean_throughput(readings)) for method in METHODS)
    law_of_rest, paper_of_rest = (error_of(method, first, busiest, mean_throughput(rest)) for method in METHODS)
    without = f"without skew {skew - 1.0:.3g} too high" if isinstance(skew, float) else ""
    return [
        Measured(what="capacity of measured executors at maximum load: error", found=law, most=0.05, constant=0.0, paper=paper, beside=without),
        Measured(
            what="capacity of measured executors, from their first third: error",
            found=law_of_rest,
            constant=abs(mean_throughput(first) / mean_throughput(rest) - 1.0),
            paper=paper_of_rest,
            beside="what a row costs has changed since",
        ),
    ]


def error_of(method: Method, seen: Sequence[ExecutorUses], at_utilization: float, truth: float) -> float:
    """Return the relative error; 1 if the model is not ready."""
    answer = JobCapacity(method=method).learn(seen).predict(at_utilization=at_utilization)
    return abs(answer.value / truth - 1.0) if isinstance(answer, Estimate) else 1.0


def mean_throughput(readings: Sequence[ExecutorUses]) -> float:
    return float(np.mean([total(reading) for reading in readings]))
