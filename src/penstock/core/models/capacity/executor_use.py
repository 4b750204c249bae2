"""Utilisation and throughput of every executor at one moment, and which of these readings to leave out: glitches and warm-up."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.capacity.executor_lines import AVERAGING_S, shows_idle
from penstock.core.models.estimate import SIGMA_PER_MAD
from penstock.core.models.moments import PairedMoments
from penstock.core.models.once import once


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorUse:
    """One executor; `utilization` is 0 to 1, best as an average over a minute that ends at a commit (Daedalus sec. 3.1)."""

    executor: str
    utilization: float
    throughput_rows_per_s: float

    @property
    def is_sane(self) -> bool:
        """Whether both numbers are numbers and not negative."""
        return 0.0 <= self.utilization < math.inf and 0.0 <= self.throughput_rows_per_s < math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorUses:
    """All executors of a job at one moment; `since_change_s` is the time since executors last came, went or restarted, None if unknown."""

    at_s: float
    executors: int
    since_change_s: float | None
    uses: tuple[ExecutorUse, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The executors, sorted: the same set is the same tuple."""
        return tuple(sorted(use.executor for use in self.uses))

    @property
    def is_whole(self) -> bool:
        """Whether every executor has one sane reading: a sum over less is not the throughput of the job."""
        return len(self.uses) == self.executors == len(set(self.names)) > 0 and all(use.is_sane for use in self.uses)


def as_arrays(readings: Sequence[ExecutorUses]) -> tuple[Floats, Floats]:
    """Return utilisation and throughput, a row for each moment and a column for each executor in the order of names."""
    both = np.array([_in_order(reading) for reading in readings])
    return both[:, 0], both[:, 1]


@once(32)
def _in_order(reading: ExecutorUses) -> Floats:
    """Cached because a reading is used in every turn in which it waits to be judged."""
    ordered = sorted(reading.uses, key=attrgetter("executor"))
    return np.array([[use.utilization for use in ordered], [use.throughput_rows_per_s for use in ordered]], dtype=float)


WINDOW = 9
"""Readings among which one is judged; what lasts for more than half of them is no glitch."""

TOLERATED_SHARE = 0.25
"""A throughput within this share of what its utilisation suggests is no glitch, however little the others scatter."""

TOLERATED_SIGMA = 5.0
"""A throughput within this many robust standard deviations of the others is no glitch."""


def glitches(utilization: Floats, throughput: Floats) -> Flags:
    """Return which moments of a window are glitches of at least one executor (Hampel's filter on throughput given utilisation); rows are moments.

    An executor's rows per second of utilisation has a median m over the window; a throughput y belongs if it lies among the m * u of the window, or near
    them: where the load rises or falls steeply, utilisation, an average, comes later than throughput. The tolerance is a multiple of the median |y - m * u|.

    >>> steady = np.full((9, 1), 0.5)
    >>> rates = np.full((9, 1), 1000.0)
    >>> rates[4, 0] = 0.0
    >>> np.flatnonzero(glitches(steady, rates)).tolist()
    [4]
    """
    return np.asarray(_off(throughput[:, :, None], utilization.T[None], throughput.T[None]).any(axis=1))


def leading_glitches(utilization: Floats, throughput: Floats, window: int = WINDOW) -> Flags:
    """Return for every moment that starts a whole window whether it is a glitch in that window."""
    view = np.lib.stride_tricks.sliding_window_view
    moments = len(utilization) - window + 1
    around = view(utilization, window, axis=0), view(throughput, window, axis=0)
    return np.asarray(_off(throughput[:moments, :, None], *around).any(axis=1))


def _off(y: Floats, around_u: Floats, around_y: Floats) -> Flags:
    """Axes: moment, executor, and the window (of one element in y)."""
    ratio = np.divide(around_y, around_u, out=np.zeros(around_u.shape), where=around_u > 0.0)
    expected = np.median(ratio, axis=2, keepdims=True) * around_u
    scale = np.median(np.abs(around_y - expected), axis=2, keepdims=True) * SIGMA_PER_MAD
    low, high = expected.min(axis=2, keepdims=True), expected.max(axis=2, keepdims=True)
    nearest = np.clip(y, low, high)
    return np.asarray((np.abs(y - nearest) > np.maximum(TOLERATED_SHARE * nearest, TOLERATED_SIGMA * scale))[:, :, 0])


STEP_S = AVERAGING_S
"""A minute is judged at a time, the averaging time of utilisation."""

LATER_S = (180.0, 120.0, 60.0)
"""A minute is judged by readings at least this many seconds after its start; if they are too few, by the next number."""

FEWEST_LATER = 10
"""Moments needed to know what executors are like when they are warm."""

LONGEST_SHARE = 0.25
"""A warm-up is no longer than this share of the time."""

BEGINS_SIGMA, ENDS_SIGMA = 3.0, 1.0
"""Standard deviations by which a minute must be busier than its load explains, to begin a warm-up and to continue it."""


LEAST_SCATTER = 0.002
"""Standard deviation of utilisation assumed at least: readings without noise are still rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """The time from the first moment of a set of executors to the first at which they were warm."""

    from_s: float
    until_s: float


def warm_ups(readings: Sequence[ExecutorUses]) -> tuple[WarmUp, ...]:
    """Return the first minutes of every set of executors in which they were busier for their load than later.

    For files that do not say when executors came, and executors that take longer than a model's own warm-up. Too few readings show nothing.
    """
    found = []
    for _, run in groupby((reading for reading in readings if reading.is_whole), key=lambda reading: reading.names):
        stay = list(run)
        at_s = np.array([reading.at_s for reading in stay])
        load = np.array([sum(use.throughput_rows_per_s for use in reading.uses) for reading in stay])
        utilization = np.array([sum(use.utilization for use in reading.uses) / len(reading.uses) for reading in stay])
        warm = warm_from(at_s, load, utilization)
        found += [WarmUp(from_s=stay[0].at_s, until_s=stay[warm].at_s)] if warm else []
    return tuple(found)


def without(readings: Iterable[ExecutorUses], left_out: Sequence[WarmUp]) -> list[ExecutorUses]:
    """Return the readings outside of these warm-ups."""
    return [reading for reading in readings if not any(each.from_s <= reading.at_s < each.until_s for each in left_out)]


def warm_from(at_s: Floats, load: Floats, utilization: Floats) -> int:
    """Return the first moment at which executors were warm; 0 if they always were, or if there are too few readings.

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
    """Return by how many standard deviations the first minute is above the later line of utilisation over load; None with too few later readings."""
    first = int(np.searchsorted(since_s, STEP_S))
    later = next((start for start in (int(np.searchsorted(since_s, begin_s)) for begin_s in LATER_S) if len(since_s) - start >= FEWEST_LATER), None)
    if later is None:
        return None
    moments = PairedMoments.of(load[later:], utilization[later:])
    if moments.mean_x <= 0.0:
        return None
    sloped = shows_idle(moments)
    slope = moments.c_xy / moments.m2_x if sloped else moments.mean_y / moments.mean_x
    off_load, busier = float(load[:first].mean()) - moments.mean_x, float(utilization[:first].mean()) - moments.mean_y
    overlap = max(1.0, STEP_S / float(np.median(np.diff(since_s))))
    scatter = moments.unexplained_y() * (1.0 + overlap / moments.count + (overlap * off_load * off_load / moments.m2_x if sloped else 0.0))
    return (busier - slope * off_load) / float(np.sqrt(max(scatter, LEAST_SCATTER**2)))
