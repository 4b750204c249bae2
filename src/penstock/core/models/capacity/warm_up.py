"""Readings of workers that were still warming up, told from the readings that came later."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.capacity.utilization_law import AVERAGING_S, tells_idle
from penstock.core.models.moments import PairedMoments

STEP_S = AVERAGING_S
"""A minute is judged at a time: utilisation is an average over as long."""

LATER_S = (180.0, 120.0, 60.0)
"""A minute is judged by what came this many seconds after it began, or later; where that is too little, the next number counts."""

FEWEST_LATER = 10
"""Moments that tell what workers are like when they are warm."""

LONGEST_SHARE = 0.25
"""No more than this share of the time is taken for a warm-up."""

BEGINS_SIGMA, ENDS_SIGMA = 3.0, 1.0
"""Standard deviations by which a minute is busier than its load explains: for the first to begin a warm-up, and for each next to continue it."""


LEAST_SCATTER = 0.002
"""Readings without noise still come rounded, and a fifth of a point of utilisation is no warm-up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """From the first moment of a set of workers until the first at which they were warm."""

    from_s: float
    until_s: float


def warm_ups(readings: Sequence[WorkersReading]) -> tuple[WarmUp, ...]:
    """The first minutes of every set of workers, as long as they were busier for their load than they were later.

    Where nobody knows when workers came, or where they take longer than a model's own warm-up, only the readings can tell. Too few of them tell nothing.
    """
    found = []
    for _, run in groupby((reading for reading in readings if reading.is_whole), key=lambda reading: reading.names):
        stay = list(run)
        at_s = np.array([reading.at_s for reading in stay])
        load = np.array([sum(worker.throughput_rows_per_s for worker in reading.workers) for reading in stay])
        utilization = np.array([sum(worker.utilization for worker in reading.workers) / len(reading.workers) for reading in stay])
        warm = warm_from(at_s, load, utilization)
        found += [WarmUp(from_s=stay[0].at_s, until_s=stay[warm].at_s)] if warm else []
    return tuple(found)


def without(readings: Iterable[WorkersReading], left_out: Sequence[WarmUp]) -> list[WorkersReading]:
    """The readings of other times."""
    return [reading for reading in readings if not any(each.from_s <= reading.at_s < each.until_s for each in left_out)]


def warm_from(at_s: Floats, load: Floats, utilization: Floats) -> int:
    """The first moment at which workers were warm; 0 if they always were, or if there is too little to tell.

    >>> at_s, load = np.arange(0.0, 1800.0, 15.0), np.linspace(100.0, 500.0, 120)
    >>> extra = np.clip(1.0 - at_s / 100.0, 0.0, None)
    >>> warm_from(at_s, load, 0.001 * load), float(at_s[warm_from(at_s, load, 0.001 * load * (1.0 + extra))])
    (0, 120.0)
    """
    start, sigma = 0, BEGINS_SIGMA
    while at_s[start] - at_s[0] < LONGEST_SHARE * (at_s[-1] - at_s[0]):
        first = int(np.searchsorted(at_s, at_s[start] + STEP_S))
        busier = busier_than_later(at_s[start:] - at_s[start], load[start:], utilization[start:])
        if busier is None or busier < sigma:
            break
        start, sigma = first, ENDS_SIGMA
    return start


def busier_than_later(since_s: Floats, load: Floats, utilization: Floats) -> float | None:
    """How many standard deviations the first minute is above the line of utilisation over load of what came later; None if that is too little."""
    first = int(np.searchsorted(since_s, STEP_S))
    later = next((start for start in (int(np.searchsorted(since_s, begin_s)) for begin_s in LATER_S) if len(since_s) - start >= FEWEST_LATER), None)
    if later is None:
        return None
    moments = PairedMoments.of(load[later:], utilization[later:])
    if moments.mean_x <= 0.0:
        return None
    told = tells_idle(moments)
    slope = moments.c_xy / moments.m2_x if told else moments.mean_y / moments.mean_x
    off_load, busier = float(load[:first].mean()) - moments.mean_x, float(utilization[:first].mean()) - moments.mean_y
    overlap = max(1.0, STEP_S / float(np.median(np.diff(since_s))))
    scatter = moments.unexplained_y() * (1.0 + overlap / moments.count + (overlap * off_load * off_load / moments.m2_x if told else 0.0))
    return (busier - slope * off_load) / float(np.sqrt(max(scatter, LEAST_SCATTER**2)))
