"""How much each candidate counts."""

from __future__ import annotations

from collections.abc import Mapping

SHARPNESS = 8.0
"""A candidate with twice the error of the best counts 2^8 times less, once enough was seen."""
A_HORIZON = 3.0
"""What each horizon seen adds to the sharpness, from 1 on: a test on a few steps says little of the horizon."""
NEGLIGIBLE = 1e-6
"""Losses that differ by less than this share of the load are equal."""


def weights_of(losses: Mapping[str, float], beliefs: Mapping[str, float], load: float, horizons: float) -> dict[str, float]:
    """Shares that add up to one: belief times (loss / smallest loss)^-n, where n rises to SHARPNESS with the number of `horizons` the losses were taken over.

    `load` is what the losses are measured against (the sum of the truth).

    >>> [weights_of({"good": 1.0, "bad": 2.0}, {"good": 1.0, "bad": 1.0}, 100.0, horizons)["bad"].__round__(4) for horizons in (0.0, 1.0, 9.0)]
    [0.3333, 0.0588, 0.0039]
    """
    names = list(beliefs)
    floor = NEGLIGIBLE * load
    best = min((losses.get(name, 0.0) for name in names), default=0.0) + floor
    sharpness = min(SHARPNESS, 1 + A_HORIZON * horizons)
    raw = {name: beliefs[name] * ((losses.get(name, 0.0) + floor) / best) ** -sharpness if best > 0 else beliefs[name] for name in names}
    total = sum(raw.values())
    return {name: value / total for name, value in raw.items()}
