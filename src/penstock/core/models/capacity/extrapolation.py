"""How well capacity learnt at low utilisation holds at high utilisation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from penstock.core.models.capacity.job import JobCapacity
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score, mape


def quiet(readings: Iterable[WorkersReading], max_utilization: float) -> list[WorkersReading]:
    """The moments at which no worker was busier than this."""
    return [reading for reading in readings if _busiest(reading) <= max_utilization]


def score_extrapolation(readings: Sequence[WorkersReading], *, max_utilization: float, model: JobCapacity | None = None) -> Score | NotReady:
    """Learn from the quiet moments and score throughput at all others, given the utilisation of the busiest worker there.

    Beside it the mean throughput of the quiet moments, and the paper's sum of regressions. `model` carries settings.
    """
    model = model or JobCapacity()
    low = quiet(readings, max_utilization)
    rest = [reading for reading in readings if reading.is_whole and _busiest(reading) > max_utilization and _total(reading) > 0.0]
    if not low or not rest:
        return NotReady(why=f"no readings of all workers {'above' if low else 'up to'} a utilisation of {max_utilization:g}")
    predicted = _predicted(model.learn(low), rest)
    paper = _predicted(replace(model, method="daedalus").learn(low), rest)
    if isinstance(predicted, NotReady):
        return predicted
    actual = [_total(reading) for reading in rest]
    mean = sum(_total(reading) for reading in low) / len(low)
    return Score(
        mape=mape(predicted, actual),
        constant_mape=mape([mean] * len(rest), actual),
        paper_mape=None if isinstance(paper, NotReady) else mape(paper, actual),
        held_out=len(rest),
    )


def _busiest(reading: WorkersReading) -> float:
    return max((worker.utilization for worker in reading.workers), default=0.0)


def _total(reading: WorkersReading) -> float:
    return sum(worker.throughput_rows_per_s for worker in reading.workers)


def _predicted(model: JobCapacity, readings: Sequence[WorkersReading]) -> list[float] | NotReady:
    values = []
    for reading in readings:
        answer = model.predict(at_utilization=_busiest(reading), scaleout=reading.scaleout)
        if isinstance(answer, NotReady):
            return answer
        values.append(answer.value)
    return values
