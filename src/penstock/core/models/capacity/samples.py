"""A few moments of a few executors, kept to measure the error of their capacity: those of low load predict those of high load."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from penstock.core.models.capacity.batch_cost import newest_of_each
from penstock.core.models.capacity.executor_lines import AVERAGING_S
from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses
from penstock.core.models.capacity.stay import Stay, executors_law, first_stay, job_law_line, job_regression_line
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score, mape

MOST_EXECUTORS = 6
"""Executors of which samples are kept: enough to see that they differ."""
PARTS = 20
"""Utilisations in the same of this many parts of the whole are alike."""
MOST_ALIKE = 4
"""The newest samples kept of those that are alike, so that a steady hour does not push out other loads."""
MOST_STAYS = 3
FEWEST = 9
"""With fewer moments a third of them is too few to measure an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Utilisation and throughput of each executor at one moment."""

    utilization: tuple[float, ...]
    throughput_rows_per_s: tuple[float, ...]

    @property
    def mean_utilization(self) -> float:
        return sum(self.utilization) / len(self.utilization)

    @property
    def total_rows_per_s(self) -> float:
        return sum(self.throughput_rows_per_s)

    def part(self) -> int:
        return min(PARTS, math.floor(PARTS * self.mean_utilization))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledStay:
    """Some of the executors that were together for a time, by name, and moments of them, the newest last."""

    names: tuple[str, ...]
    samples: tuple[Sample, ...]


Predict = Callable[[Sample], float]
"""Returns the throughput of all executors in rows/s, given their utilisations."""


def with_readings(stays: tuple[SampledStay, ...], seen: Sequence[ExecutorUses]) -> tuple[SampledStay, ...]:
    """Add samples of these readings, in the order of time; a stay with too few samples for a score makes room for the next one."""
    for names, run in groupby(seen, key=lambda reading: reading.names[:MOST_EXECUTORS]):
        more = [_sample(reading, set(names)) for reading in run]
        if stays and stays[-1].names == names:
            stays = (*stays[:-1], replace(stays[-1], samples=newest_of_each((*stays[-1].samples, *more), Sample.part, MOST_ALIKE)))
            continue
        earlier = tuple(stay for stay in stays if len(stay.samples) >= FEWEST)
        stays = (*earlier, SampledStay(names=names, samples=newest_of_each(more, Sample.part, MOST_ALIKE)))[-MOST_STAYS:]
    return stays


def _sample(reading: ExecutorUses, chosen: set[str]) -> Sample:
    uses = sorted((each for each in reading.uses if each.executor in chosen), key=lambda each: each.executor)
    return Sample(utilization=tuple(each.utilization for each in uses), throughput_rows_per_s=tuple(each.throughput_rows_per_s for each in uses))


def score_stays(stays: Sequence[SampledStay], idle_spread: float) -> Score | NotReady:
    """Learn from the quieter two thirds of each stay, and score the throughput of all its executors in the rest.

    `mape` is the error of the utilisation law, `paper_mape` that of the paper's regressions, `constant_mape` that of the mean of the quieter moments. A
    capacity is asked for at a utilisation that was not seen, so an error at those that were would flatter. Throughput decides what is quiet: utilisation is
    the noisier of the two, and its highest values are too high.
    """
    said: list[tuple[float, float, float, float]] = []
    for samples in (stay.samples for stay in stays):
        limit = float(np.quantile([each.total_rows_per_s for each in samples], 2 / 3)) if samples else 0.0
        low = [each for each in samples if each.total_rows_per_s <= limit]
        learnt = _learnt(low, idle_spread) if len(samples) >= FEWEST else None
        if learnt is not None:
            law, paper = learnt
            mean = sum(each.total_rows_per_s for each in low) / len(low)
            said += [(law(each), mean, paper(each), each.total_rows_per_s) for each in samples if each.total_rows_per_s > limit]
    if not said:
        most = max((len(stay.samples) for stay in stays), default=0)
        return NotReady(why=f"{most} moments kept of the same executors: at least {FEWEST} are needed, not all equally busy")
    by_law, constant, by_paper, actual = zip(*said, strict=True)
    return Score(mape=mape(by_law, actual), constant_mape=mape(constant, actual), paper_mape=mape(by_paper, actual), held_out=len(said))


def _learnt(samples: Sequence[Sample], idle_spread: float) -> tuple[Predict, Predict] | None:
    readings = [_reading(sample, number * AVERAGING_S) for number, sample in enumerate(samples)]
    stay = first_stay(readings[0]).learned(readings, math.inf)
    law, paper = _by_law(stay, idle_spread), _by_paper(stay, idle_spread)
    return None if law is None or paper is None else (law, paper)


def _by_law(stay: Stay, idle_spread: float) -> Predict | None:
    line, law = job_law_line(stay, idle_spread=idle_spread), executors_law(stay, idle_spread=idle_spread)
    return None if line is None or law is None else lambda sample: line.value_at(law.first_at(sample.mean_utilization))


def _by_paper(stay: Stay, idle_spread: float) -> Predict | None:
    """Return the utilisation of the busiest executor, derived from the mean of all: the highest of noisy readings would be too high."""
    line = job_regression_line(stay, idle_spread=idle_spread)
    if line is None or stay.load.mean_y <= 0.0:
        return None
    busiest = float(stay.by_executor.moments.mean_x.max()) / stay.load.mean_y
    return lambda sample: line.value_at(sample.mean_utilization * busiest)


def _reading(sample: Sample, at_s: float) -> ExecutorUses:
    uses = tuple(
        ExecutorUse(executor=f"{number}", utilization=utilization, throughput_rows_per_s=rate)
        for number, (utilization, rate) in enumerate(zip(sample.utilization, sample.throughput_rows_per_s, strict=True))
    )
    return ExecutorUses(at_s=at_s, executors=len(uses), since_change_s=None, uses=uses)
