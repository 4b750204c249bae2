"""How wrong the capacity of a job is at loads that it has not learnt, beside a constant and the paper's sum of regressions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from penstock.core.models.capacity.readings import WorkerReading, WorkersReading
from penstock.core.models.capacity.samples import Foretell, Sample, SampledStay, score_busiest
from penstock.core.models.capacity.stay import first_stay
from penstock.core.models.capacity.stay_columns import StayColumns, columns_of, job_regression_line
from penstock.core.models.capacity.utilization_law import AVERAGING_S
from penstock.core.models.capacity.workers_law import job_law_line, workers_law
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score


def score_stays(stays: Sequence[SampledStay], idle_spread: float) -> Score | NotReady:
    """Of the utilisation law; of what is kept of each set of workers, the busiest third is foretold by the rest."""
    return score_busiest([stay.samples for stay in stays], lambda samples: _learnt(samples, idle_spread))


def _learnt(samples: Sequence[Sample], idle_spread: float) -> tuple[Foretell, Foretell] | None:
    readings = [_reading(sample, number * AVERAGING_S) for number, sample in enumerate(samples)]
    stay = columns_of(first_stay(readings[0])).learned(readings, math.inf)
    law, paper = _by_law(stay, idle_spread), _by_paper(stay, idle_spread)
    return None if law is None or paper is None else (law, paper)


def _by_law(stay: StayColumns, idle_spread: float) -> Foretell | None:
    line, law = job_law_line(stay, idle_spread=idle_spread), workers_law(stay, idle_spread=idle_spread)
    return None if line is None or law is None else lambda sample: line.value_at(law.first_at(sample.mean_utilization))


def _by_paper(stay: StayColumns, idle_spread: float) -> Foretell | None:
    """Asked at the utilisation of the busiest as the mean of all tells it: the highest of noisy readings would be too high."""
    line = job_regression_line(stay, idle_spread=idle_spread)
    if line is None or stay.load.mean_y <= 0.0:
        return None
    busiest = float(stay.moments.mean_x.max()) / stay.load.mean_y
    return lambda sample: line.value_at(sample.mean_utilization * busiest)


def _reading(sample: Sample, at_s: float) -> WorkersReading:
    workers = tuple(
        WorkerReading(worker=f"{number}", utilization=utilization, throughput_rows_per_s=rate)
        for number, (utilization, rate) in enumerate(zip(sample.utilization, sample.throughput_rows_per_s, strict=True))
    )
    return WorkersReading(at_s=at_s, scaleout=len(workers), since_change_s=None, workers=workers)
