"""Where between its last stable and its first unstable rate each scale-out stops keeping up, by what all scale-outs show together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.latency.knee import Knee

POWERS = np.linspace(0.0, 1.0, 11)
"""The power of the scale-out in the rate it carries, from none to proportional."""
SCATTERS = (0.02, 0.06, 0.2)
"""How far scale-outs are from a common power law, as logarithms: what fits the profile decides."""
LEVELS = 48
"""Heights of the power law that are tried, over all that the profile leaves open."""
PLACES = 33
"""Places between the two rates where a limit may be."""
WIDEST = log(8.0)
"""Where a scale-out carried no rate that was tried, its limit is looked for down to this far below the smallest."""
LEAST = 1e-9
LEFT_OUT = 12.0
"""Laws whose log-likelihood is this much below the best's are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """The logarithms of two rates between which a scale-out stops keeping up; one of them may be infinite."""

    scaleout: int
    low: float
    high: float


def likely_limits(found: Sequence[Knee]) -> dict[int, float]:
    """The rate of each scale-out that was overloaded, at which a rate is as likely carried as not; empty where there is but one to learn from.

    Limits scatter about a power law of the scale-out with a power of at most one. One scale-out is stable at 8 and not at 16, a twice as large one at 22
    but not at 24: the smaller one is then likely to carry a rate of 11.

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
    """As more executors never carry less, a smaller scale-out's stable and a larger one's unstable rate hold for a scale-out too."""
    stable = [-inf if not knee.last_stable_rows_per_s else log(knee.last_stable_rows_per_s) for knee in found]
    unstable = [inf if knee.first_unstable_rows_per_s is None else log(knee.first_unstable_rows_per_s) for knee in found]
    brackets = [Bracket(scaleout=knee.scaleout, low=max(stable[: place + 1]), high=min(unstable[place:])) for place, knee in enumerate(found)]
    return [each for each in brackets if each.low > -inf or each.high < inf]


def _laws(low: Floats, high: Floats, log_sizes: Floats) -> tuple[Floats, Floats]:
    """The power laws to weigh: the logarithm of what each lets every scale-out carry (laws by scale-outs), and the scatter about it (laws by 1)."""
    edges = np.stack([np.where(np.isfinite(low), low, high - WIDEST), np.where(np.isfinite(high), high, low)])
    tilted = edges[None] - POWERS[:, None, None] * log_sizes
    lowest, highest = tilted.min(axis=(1, 2)), tilted.max(axis=(1, 2))
    levels = lowest[:, None] + (highest - lowest)[:, None] * np.linspace(0.0, 1.0, LEVELS)
    centres = (levels[:, :, None] + POWERS[:, None, None] * log_sizes).reshape(-1, len(log_sizes))
    return np.tile(centres, (len(SCATTERS), 1)), np.repeat(SCATTERS, len(centres))[:, None]


def _share_below(edge: Floats, centre: Floats, scatter: Floats) -> Floats:
    """The share of limits about a centre that is below an edge: the logistic distribution, whose tails forgive a scale-out that is like no other."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (edge - centre) / scatter)))
