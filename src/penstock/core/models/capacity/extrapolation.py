"""The error at high utilisation of capacity learnt at low utilisation."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from penstock.core.models.capacity.executor_use import ExecutorUses
from penstock.core.models.capacity.job_capacity import JobCapacity
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score, mape

MOST_SCORED = 1000
"""Moments that are enough to measure an error."""


def quiet(readings: Iterable[ExecutorUses], max_utilization: float) -> list[ExecutorUses]:
    """Return the moments at which no executor was busier than this."""
    return [reading for reading in readings if peak(reading) <= max_utilization]


def busiest_third(readings: Iterable[ExecutorUses]) -> float:
    """Return the utilisation of the busiest executor that a third of the moments exceed."""
    return float(np.quantile([peak(reading) for reading in readings], 2 / 3))


def score_extrapolation(readings: Sequence[ExecutorUses], *, max_utilization: float, model: JobCapacity | None = None) -> Score | NotReady:
    """Learn from the quiet moments and score throughput at all others, given the utilisation of the executors there.

    Beside it the mean throughput of the quiet moments, and the paper's sum of regressions. `model` has the settings. At most
    `MOST_SCORED` moments are scored, evenly spaced.
    """
    model = model or JobCapacity()
    low = quiet(readings, max_utilization)
    rest = [reading for reading in readings if reading.is_whole and peak(reading) > max_utilization and total(reading) > 0.0]
    if not low or not rest:
        return NotReady(why=f"no readings of all executors {'above' if low else 'up to'} a utilisation of {max_utilization:g}")
    rest = rest[:: -(-len(rest) // MOST_SCORED)]
    predicted = _predicted(model.learn(low), rest)
    paper = _predicted(replace(model, method="daedalus").learn(low), rest)
    if isinstance(predicted, NotReady):
        return predicted
    actual = [total(reading) for reading in rest]
    mean = sum(total(reading) for reading in low) / len(low)
    return Score(
        mape=mape(predicted, actual),
        constant_mape=mape([mean] * len(rest), actual),
        paper_mape=None if isinstance(paper, NotReady) else mape(paper, actual),
        held_out=len(rest),
    )


def peak(reading: ExecutorUses) -> float:
    """Return the highest utilisation of a moment."""
    return max((use.utilization for use in reading.uses), default=0.0)


def total(reading: ExecutorUses) -> float:
    """Return the rows/s of all executors together."""
    return sum(use.throughput_rows_per_s for use in reading.uses)


def _predicted(model: JobCapacity, readings: Sequence[ExecutorUses]) -> list[float] | NotReady:
    model, values = model.settled(), []
    for reading in readings:
        answer = model.predict_throughput(reading)
        if isinstance(answer, NotReady):
            return answer
        values.append(answer.value)
    return values
