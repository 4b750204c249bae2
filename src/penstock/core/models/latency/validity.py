"""Which rates a scale-out carries, also between and beyond the scale-outs that were profiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import pow

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.latency.knee import Knee
from penstock.core.models.latency.shared_knee import likely_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A rate over scale-outs that never falls: straight between known points, a power law beyond them, never below what was carried.

    More executors never bring less than was seen with fewer, nor more than in proportion to them.
    """

    points: tuple[tuple[int, float], ...]
    carried: tuple[tuple[int, float], ...]

    def at(self, scaleout: int) -> float:
        """The rate at a scale-out.

        >>> ceiling = Ceiling(points=((2, 100.0), (4, 200.0)), carried=())
        >>> [round(ceiling.at(scaleout), 6) for scaleout in (3, 1, 8)]
        [150.0, 50.0, 400.0]
        """
        carried = max((rate for other, rate in self.carried if other <= scaleout), default=0.0)
        return max(carried, self._through_points(scaleout))

    def over(self, scaleouts: Floats) -> Floats:
        """The rates at many scale-outs."""
        limits = {scaleout: self.at(int(scaleout)) for scaleout in np.unique(scaleouts).tolist()}
        return np.array([limits[scaleout] for scaleout in scaleouts.tolist()], dtype=float)

    def _through_points(self, scaleout: int) -> float:
        first, last = self.points[0], self.points[-1]
        if scaleout < first[0]:
            return first[1] * pow(scaleout / first[0], self._exponent(alone=1.0))
        if scaleout > last[0]:
            return last[1] * pow(scaleout / last[0], self._exponent(alone=0.0))
        return float(np.interp(scaleout, [each for each, _ in self.points], [rate for _, rate in self.points]))

    def _exponent(self, alone: float) -> float:
        """The exponent of the power law through all points, between 0 and 1; `alone` of a single point."""
        if len(self.points) < 2 or min(rate for _, rate in self.points) <= 0:
            return alone
        logarithms = np.log(np.array(self.points))
        return float(np.clip(np.polyfit(logarithms[:, 0], logarithms[:, 1], 1)[0], 0.0, 1.0))


def too_much(found: Sequence[Knee]) -> Ceiling | None:
    """T_max over scale-outs by the first unstable rate; None where no rate was too much.

    >>> too_much([Knee(scaleout=2, last_stable_rows_per_s=10.0, first_unstable_rows_per_s=20.0)]).at(2)
    20.0
    """
    return _ceiling(found, lambda _, unstable: unstable)


def borderline(found: Sequence[Knee]) -> Ceiling | None:
    """Where an unseen rate is as likely valid as not: between the last stable and the first unstable rate, as the other scale-outs suggest, or midway.

    >>> borderline([Knee(scaleout=2, last_stable_rows_per_s=10.0, first_unstable_rows_per_s=20.0)]).at(2)
    15.0
    """
    limits = likely_limits(found)
    return _ceiling(found, lambda knee, unstable: limits.get(knee.scaleout, ((knee.last_stable_rows_per_s or 0.0) + unstable) / 2))


def _ceiling(found: Sequence[Knee], rate: Callable[[Knee, float], float]) -> Ceiling | None:
    points: list[tuple[int, float]] = []
    for knee in found:
        if knee.first_unstable_rows_per_s is not None:
            here = rate(knee, knee.first_unstable_rows_per_s)
            points.append((knee.scaleout, max([here, *(value for _, value in points)])))
    carried = tuple((knee.scaleout, knee.last_stable_rows_per_s) for knee in found if knee.last_stable_rows_per_s is not None)
    return Ceiling(points=tuple(points), carried=carried) if points else None
