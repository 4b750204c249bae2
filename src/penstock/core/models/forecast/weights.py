"""How much each candidate counts."""

from __future__ import annotations

from collections.abc import Mapping

SHARPNESS = 3.0
"""How many independent errors a horizon is worth; what is tested on less is worth one."""
NEGLIGIBLE = 1e-6
"""Of the load: differences below it are rounding."""


def weights_of(losses: Mapping[str, float], beliefs: Mapping[str, float], load: float, horizons: float) -> dict[str, float]:
    """Shares that add up to one: belief times (loss / smallest loss)^-n, what n independent Laplace errors say of two candidates whose scales are unknown.

    `load` is what the losses are measured against (the sum of the truth), `horizons` over how many they were taken; n = 1 + SHARPNESS * horizons.

    >>> weights_of({"good": 1.0, "bad": 2.0}, {"good": 1.0, "bad": 1.0}, 100.0, 1.0)["bad"].__round__(4)
    0.0588
    """
    names = list(beliefs)
    floor = NEGLIGIBLE * load
    best = min((losses.get(name, 0.0) for name in names), default=0.0) + floor
    count = 1 + SHARPNESS * horizons
    raw = {name: beliefs[name] * (best / (losses.get(name, 0.0) + floor)) ** count if best > 0 else beliefs[name] for name in names}
    total = sum(raw.values())
    return {name: value / total for name, value in raw.items()}
