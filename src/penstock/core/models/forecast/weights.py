"""How much each candidate counts."""

from __future__ import annotations

from collections.abc import Mapping

SHARPNESS = 8.0
"""A candidate with twice the error of the best counts 2^8 times less."""
NEGLIGIBLE = 1e-6
"""Of the load: differences below it are rounding."""


def weights_of(losses: Mapping[str, float], beliefs: Mapping[str, float], load: float) -> dict[str, float]:
    """Shares that add up to one: belief times (loss / smallest loss)^-SHARPNESS; `load` is what the losses are measured against (the sum of the truth).

    >>> weights_of({"good": 1.0, "bad": 2.0}, {"good": 1.0, "bad": 1.0}, 100.0)["bad"].__round__(4)
    0.0039
    """
    names = list(beliefs)
    floor = NEGLIGIBLE * load
    best = min((losses.get(name, 0.0) for name in names), default=0.0) + floor
    raw = {name: beliefs[name] * ((losses.get(name, 0.0) + floor) / best) ** -SHARPNESS if best > 0 else beliefs[name] for name in names}
    total = sum(raw.values())
    return {name: value / total for name, value in raw.items()}
