"""The rate at which each scale-out stops keeping up, measured and interpolated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log, pow

import numpy as np

from penstock.core.models.arrays import Floats

POWERS = np.linspace(0.0, 1.0, 11)
"""Powers of the scale-out in the rate it carries that are tried, from none to proportional."""
SCATTERS = (0.02, 0.06, 0.2)
"""Scatter of scale-outs about a common power law that is tried, as logarithms; the profile decides."""
LEVELS = 48
"""Number of levels of the power law that are tried, over the range that the profile allows."""
PLACES = 33
"""Grid points between the last stable and the first unstable rate."""
WIDEST = log(8.0)
"""Where a scale-out carried none of its rates, its limit is searched down to this far below the smallest, as a logarithm."""
LEAST = 1e-9
LEFT_OUT = 12.0
"""Power laws whose log-likelihood is this much below that of the best are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """The largest rate that a scale-out kept up with, and the smallest at which it did not; None where there was none."""

    scaleout: int
    last_stable_rows_per_s: float | None
    first_unstable_rows_per_s: float | None


def knees(profile: Sequence[tuple[int, float, bool]]) -> tuple[Knee, ...]:
    """Return the knee of each scale-out in a profile of (scale-out, rate, valid), never falling with the scale-out.

    Where rows contradict each other (a valid rate above an invalid one; a larger scale-out failing below a smaller one), the fewest are
    overruled, and of equally good solutions the lower rates are taken.

    >>> profile = [(2, 10.0, True), (2, 20.0, False), (4, 10.0, True), (4, 20.0, True), (4, 30.0, False)]
    >>> [(knee.last_stable_rows_per_s, knee.first_unstable_rows_per_s) for knee in knees(profile)]
    [(10.0, 20.0), (20.0, 30.0)]
    """
    by_scaleout = {scaleout: [(rate, valid) for other, rate, valid in profile if other == scaleout] for scaleout in sorted({row[0] for row in profile})}
    most = _most_carried([rows for _, rows in by_scaleout.items()])
    return tuple(
        Knee(
            scaleout=scaleout,
            last_stable_rows_per_s=max((rate for rate, _ in rows if rate <= carried), default=None),
            first_unstable_rows_per_s=min((rate for rate, _ in rows if rate > carried), default=None),
        )
        for (scaleout, rows), carried in zip(by_scaleout.items(), most, strict=True)
    )


def _most_carried(profile: Sequence[Sequence[tuple[float, bool]]]) -> list[float]:
    """Return for each scale-out, ascending, the largest rate taken as carried (0 for none): not falling, and contradicting the fewest rows.

    `cost[k, j]` are the fewest contradictions of the scale-outs up to k if k carries exactly the j-th candidate.
    """
    candidates = np.array([0.0, *sorted({rate for rows in profile for rate, _ in rows if rate > 0})])
    cost = np.zeros((len(profile), len(candidates)))
    for k, rows in enumerate(profile):
        carried = np.array([rate for rate, _ in rows])[:, None] <= candidates[None, :]
        contradictions = (carried != np.array([valid for _, valid in rows])[:, None]).sum(axis=0)
        cost[k] = contradictions + (np.minimum.accumulate(cost[k - 1]) if k else 0)
    chosen: list[float] = []
    end = len(candidates)
    for row in cost[::-1]:
        best = int(np.argmin(row[:end]))
        chosen.append(float(candidates[best]))
        end = best + 1
    return chosen[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Logarithms of the rates between which a scale-out stops keeping up; one of them may be infinite."""

    scaleout: int
    low: float
    high: float


def likely_limits(found: Sequence[Knee]) -> dict[int, float]:
    """Return for each overloaded scale-out the rate that it carries with a chance of one half; empty where only one scale-out was overloaded.

    Limits scatter about a power law of the scale-out with a power of at most one. If a scale-out is stable at 8 and not at 16, and one twice as large at 22
    but not at 24, the smaller one is likely to carry a rate of 11.

    >>> smaller = Knee(scaleout=2, last_stable_rows_per_s=8.0, first_unstable_rows_per_s=16.0)
    >>> larger = Knee(scaleout=4, last_stable_rows_per_s=22.0, first_unstable_rows_per_s=24.0)
    >>> 11 < likely_limits([smaller, larger])[2] < 14
    True
    """
    brackets = _brackets(found)
    if sum(each.high < inf for each in brackets) < 2:
        return {}
    low, high, sizes = (np.array([getattr(each, name) for each in brackets]) for name in ("low", "high", "scaleout"))
    centres, scatters = _laws(low, high, np.log(sizes))
    inside = np.maximum(_share_below(high, centres, scatters) - _share_below(low, centres, scatters), LEAST)
    weights = np.log(inside).sum(axis=1)
    likely = weights > weights.max() - LEFT_OUT
    centres, scatters, inside, weights = centres[likely], scatters[likely], inside[likely], np.exp(weights[likely] - weights.max())
    limits = {}
    for place, bracket in enumerate(brackets):
        if bracket.high < inf:
            places = np.linspace(max(bracket.low, bracket.high - WIDEST), bracket.high, PLACES)
            chance = (weights / inside[:, place]) @ _share_below(places, centres[:, place, None], scatters)
            limits[bracket.scaleout] = exp(float(np.interp(0.5 * (chance[0] + chance[-1]), chance, places)))
    return limits


def _brackets(found: Sequence[Knee]) -> list[Bracket]:
    """Return the bracket of each scale-out; stable rates of smaller and unstable ones of larger scale-outs hold for it too."""
    stable = [-inf if not knee.last_stable_rows_per_s else log(knee.last_stable_rows_per_s) for knee in found]
    unstable = [inf if knee.first_unstable_rows_per_s is None else log(knee.first_unstable_rows_per_s) for knee in found]
    brackets = [Bracket(scaleout=knee.scaleout, low=max(stable[: place + 1]), high=min(unstable[place:])) for place, knee in enumerate(found)]
    return [each for each in brackets if each.low > -inf or each.high < inf]


def _laws(low: Floats, high: Floats, log_sizes: Floats) -> tuple[Floats, Floats]:
    """Return the power laws to weigh: the logarithm of the limit of each scale-out (laws by scale-outs), and the scatter about it (laws by 1)."""
    edges = np.stack([np.where(np.isfinite(low), low, high - WIDEST), np.where(np.isfinite(high), high, low)])
    tilted = edges[None] - POWERS[:, None, None] * log_sizes
    lowest, highest = tilted.min(axis=(1, 2)), tilted.max(axis=(1, 2))
    levels = lowest[:, None] + (highest - lowest)[:, None] * np.linspace(0.0, 1.0, LEVELS)
    centres = (levels[:, :, None] + POWERS[:, None, None] * log_sizes).reshape(-1, len(log_sizes))
    return np.tile(centres, (len(SCATTERS), 1)), np.repeat(SCATTERS, len(centres))[:, None]


def _share_below(edge: Floats, centre: Floats, scatter: Floats) -> Floats:
    """Return the share of limits about a centre that is below an edge, by a logistic distribution: its tails tolerate an exceptional scale-out."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (edge - centre) / scatter)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A rate over scale-outs that never falls: linear between known points, a power law beyond them with a power of at most 1, never below what was carried."""

    points: tuple[tuple[int, float], ...]
    carried: tuple[tuple[int, float], ...]

    def at(self, scaleout: int) -> float:
        """Return the rate at a scale-out.

        >>> ceiling = Ceiling(points=((2, 100.0), (4, 200.0)), carried=())
        >>> [round(ceiling.at(scaleout), 6) for scaleout in (3, 1, 8)]
        [150.0, 50.0, 400.0]
        """
        carried = max((rate for other, rate in self.carried if other <= scaleout), default=0.0)
        return max(carried, self._through_points(scaleout))

    def over(self, scaleouts: Floats) -> Floats:
        """Return the rates at many scale-outs."""
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
        """Return the exponent of the power law through all points, between 0 and 1; `alone` for a single point."""
        if len(self.points) < 2 or min(rate for _, rate in self.points) <= 0:
            return alone
        logarithms = np.log(np.array(self.points))
        return float(np.clip(np.polyfit(logarithms[:, 0], logarithms[:, 1], 1)[0], 0.0, 1.0))


def too_much(found: Sequence[Knee]) -> Ceiling | None:
    """Return T_max over scale-outs by the first unstable rate; None where none was unstable.

    >>> too_much([Knee(scaleout=2, last_stable_rows_per_s=10.0, first_unstable_rows_per_s=20.0)]).at(2)
    20.0
    """
    return _ceiling(found, lambda _, unstable: unstable)


def borderline(found: Sequence[Knee]) -> Ceiling | None:
    """Return the rates that are valid with a chance of one half: between the last stable and the first unstable rate, by `likely_limits` or midway.

    >>> borderline([Knee(scaleout=2, last_stable_rows_per_s=10.0, first_unstable_rows_per_s=20.0)]).at(2)
    15.0
    """
    limits = likely_limits(found)
    return _ceiling(found, lambda knee, unstable: limits.get(knee.scaleout, ((knee.last_stable_rows_per_s or 0.0) + unstable) / 2))


def _ceiling(found: Sequence[Knee], rate: Callable[[Knee, float], float]) -> Ceiling | None:
    points: list[tuple[int, float]] = []
    for knee in found:
        if knee.first_unstable_rows_per_s is not None:
            points.append((knee.scaleout, max([rate(knee, knee.first_unstable_rows_per_s), *(value for _, value in points)])))
    carried = tuple((knee.scaleout, knee.last_stable_rows_per_s) for knee in found if knee.last_stable_rows_per_s is not None)
    return Ceiling(points=tuple(points), carried=carried) if points else None
