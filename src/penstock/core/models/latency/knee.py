"""The rate at which each number of executors stops keeping up, measured and interpolated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log, pow

import numpy as np

from penstock.core.models.arrays import Floats

POWERS = np.linspace(0.0, 1.0, 11)
"""Powers of the number of executors in the rate it carries that are tried, from none to proportional."""
SCATTERS = (0.02, 0.06, 0.2)
"""Scatter of the limits about a common power law that is tried, as logarithms; the profile decides."""
LEVELS = 48
"""Number of levels of the power law that are tried, over the range that the profile allows."""
PLACES = 33
"""Grid points between the last stable and the first unstable rate."""
WIDEST = log(8.0)
"""Where executors carried none of their rates, the limit is searched down to this far below the smallest, as a logarithm."""
LEAST = 1e-9
LEFT_OUT = 12.0
"""Power laws whose log-likelihood is this much below that of the best are ignored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knee:
    """The largest rate that a number of executors kept up with, and the smallest at which it did not; None where there was none."""

    executors: int
    last_stable_rows_per_s: float | None
    first_unstable_rows_per_s: float | None


def knees(profile: Sequence[tuple[int, float, bool]]) -> tuple[Knee, ...]:
    """Return the knee of each number of executors in a profile of (executors, rate, valid); more executors never have a lower one.

    Where rows contradict each other (a valid rate above an invalid one; more executors failing below a rate that fewer carry), the fewest are
    overruled, and of equally good solutions the lower rates are taken.

    >>> profile = [(2, 10.0, True), (2, 20.0, False), (4, 10.0, True), (4, 20.0, True), (4, 30.0, False)]
    >>> [(knee.last_stable_rows_per_s, knee.first_unstable_rows_per_s) for knee in knees(profile)]
    [(10.0, 20.0), (20.0, 30.0)]
    """
    by_executors = {executors: [(rate, valid) for other, rate, valid in profile if other == executors] for executors in sorted({row[0] for row in profile})}
    most = _most_carried([rows for _, rows in by_executors.items()])
    return tuple(
        Knee(
            executors=executors,
            last_stable_rows_per_s=max((rate for rate, _ in rows if rate <= carried), default=None),
            first_unstable_rows_per_s=min((rate for rate, _ in rows if rate > carried), default=None),
        )
        for (executors, rows), carried in zip(by_executors.items(), most, strict=True)
    )


def _most_carried(profile: Sequence[Sequence[tuple[float, bool]]]) -> list[float]:
    """Return for each number of executors, ascending, the largest rate taken as carried (0 for none): not falling, and contradicting the fewest rows.

    `cost[k, j]` are the fewest contradictions of the numbers of executors up to k if k carries exactly the j-th candidate.
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
    """Logarithms of the rates between which a number of executors stops keeping up; one of them may be infinite."""

    executors: int
    low: float
    high: float


def likely_limits(found: Sequence[Knee]) -> dict[int, float]:
    """Return for each overloaded number of executors the rate that it carries with a chance of one half; empty where only one was overloaded.

    Limits scatter about a power law of the executors with a power of at most one. If some are stable at 8 and not at 16, and twice as many at 22
    but not at 24, the smaller one is likely to carry a rate of 11.

    >>> smaller = Knee(executors=2, last_stable_rows_per_s=8.0, first_unstable_rows_per_s=16.0)
    >>> larger = Knee(executors=4, last_stable_rows_per_s=22.0, first_unstable_rows_per_s=24.0)
    >>> 11 < likely_limits([smaller, larger])[2] < 14
    True
    """
    brackets = _brackets(found)
    if sum(each.high < inf for each in brackets) < 2:
        return {}
    low, high, executors = (np.array([getattr(each, name) for each in brackets]) for name in ("low", "high", "executors"))
    centres, scatters = _laws(low, high, np.log(executors))
    inside = np.maximum(_share_below(high, centres, scatters) - _share_below(low, centres, scatters), LEAST)
    weights = np.log(inside).sum(axis=1)
    likely = weights > weights.max() - LEFT_OUT
    centres, scatters, inside, weights = centres[likely], scatters[likely], inside[likely], np.exp(weights[likely] - weights.max())
    limits = {}
    for place, bracket in enumerate(brackets):
        if bracket.high < inf:
            places = np.linspace(max(bracket.low, bracket.high - WIDEST), bracket.high, PLACES)
            chance = (weights / inside[:, place]) @ _share_below(places, centres[:, place, None], scatters)
            limits[bracket.executors] = exp(float(np.interp(0.5 * (chance[0] + chance[-1]), chance, places)))
    return limits


def _brackets(found: Sequence[Knee]) -> list[Bracket]:
    """Return the bracket of each number of executors; stable rates of fewer and unstable ones of more executors hold for it too."""
    stable = [-inf if not knee.last_stable_rows_per_s else log(knee.last_stable_rows_per_s) for knee in found]
    unstable = [inf if knee.first_unstable_rows_per_s is None else log(knee.first_unstable_rows_per_s) for knee in found]
    brackets = [Bracket(executors=knee.executors, low=max(stable[: place + 1]), high=min(unstable[place:])) for place, knee in enumerate(found)]
    return [each for each in brackets if each.low > -inf or each.high < inf]


def _laws(low: Floats, high: Floats, log_executors: Floats) -> tuple[Floats, Floats]:
    """Return the power laws to weigh: the logarithm of the limit of each number of executors (laws by executors), and the scatter about it (laws by 1)."""
    edges = np.stack([np.where(np.isfinite(low), low, high - WIDEST), np.where(np.isfinite(high), high, low)])
    tilted = edges[None] - POWERS[:, None, None] * log_executors
    lowest, highest = tilted.min(axis=(1, 2)), tilted.max(axis=(1, 2))
    levels = lowest[:, None] + (highest - lowest)[:, None] * np.linspace(0.0, 1.0, LEVELS)
    centres = (levels[:, :, None] + POWERS[:, None, None] * log_executors).reshape(-1, len(log_executors))
    return np.tile(centres, (len(SCATTERS), 1)), np.repeat(SCATTERS, len(centres))[:, None]


def _share_below(edge: Floats, centre: Floats, scatter: Floats) -> Floats:
    """Return the share of limits about a centre that is below an edge, by a logistic distribution: its tails tolerate an exceptional limit."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (edge - centre) / scatter)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A rate over executors that never falls: linear between known points, a power law beyond them with a power of at most 1, never below what was carried."""

    points: tuple[tuple[int, float], ...]
    carried: tuple[tuple[int, float], ...]

    def at(self, executors: int) -> float:
        """Return the rate of a number of executors.

        >>> ceiling = Ceiling(points=((2, 100.0), (4, 200.0)), carried=())
        >>> [round(ceiling.at(executors), 6) for executors in (3, 1, 8)]
        [150.0, 50.0, 400.0]
        """
        carried = max((rate for other, rate in self.carried if other <= executors), default=0.0)
        return max(carried, self._through_points(executors))

    def over(self, executor_counts: Floats) -> Floats:
        """Return the rates of many numbers of executors."""
        limits = {executors: self.at(int(executors)) for executors in np.unique(executor_counts).tolist()}
        return np.array([limits[executors] for executors in executor_counts.tolist()], dtype=float)

    def _through_points(self, executors: int) -> float:
        first, last = self.points[0], self.points[-1]
        if executors < first[0]:
            return first[1] * pow(executors / first[0], self._exponent(alone=1.0))
        if executors > last[0]:
            return last[1] * pow(executors / last[0], self._exponent(alone=0.0))
        return float(np.interp(executors, [each for each, _ in self.points], [rate for _, rate in self.points]))

    def _exponent(self, alone: float) -> float:
        """Return the exponent of the power law through all points, between 0 and 1; `alone` for a single point."""
        if len(self.points) < 2 or min(rate for _, rate in self.points) <= 0:
            return alone
        logarithms = np.log(np.array(self.points))
        return float(np.clip(np.polyfit(logarithms[:, 0], logarithms[:, 1], 1)[0], 0.0, 1.0))


def too_much(found: Sequence[Knee]) -> Ceiling | None:
    """Return T_max over executors by the first unstable rate; None where none was unstable.

    >>> too_much([Knee(executors=2, last_stable_rows_per_s=10.0, first_unstable_rows_per_s=20.0)]).at(2)
    20.0
    """
    return _ceiling(found, lambda _, unstable: unstable)


def borderline(found: Sequence[Knee]) -> Ceiling | None:
    """Return the rates that are valid with a chance of one half: between the last stable and the first unstable rate, by `likely_limits` or midway.

    >>> borderline([Knee(executors=2, last_stable_rows_per_s=10.0, first_unstable_rows_per_s=20.0)]).at(2)
    15.0
    """
    limits = likely_limits(found)
    return _ceiling(found, lambda knee, unstable: limits.get(knee.executors, ((knee.last_stable_rows_per_s or 0.0) + unstable) / 2))


def _ceiling(found: Sequence[Knee], rate: Callable[[Knee, float], float]) -> Ceiling | None:
    points: list[tuple[int, float]] = []
    for knee in found:
        if knee.first_unstable_rows_per_s is not None:
            here = rate(knee, knee.first_unstable_rows_per_s)
            points.append((knee.executors, max([here, *(value for _, value in points)])))
    carried = tuple((knee.executors, knee.last_stable_rows_per_s) for knee in found if knee.last_stable_rows_per_s is not None)
    return Ceiling(points=tuple(points), carried=carried) if points else None
