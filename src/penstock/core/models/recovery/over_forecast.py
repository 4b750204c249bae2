"""A recovery model asked over a forecast of the load: what it expects, how far the forecast may be off, and how much lies beyond its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.forecast_arrivals import foreseen

TRUSTED_S = 900.0
"""Recoveries longer than this are flagged: no load stays constant so long (Khaos sec. III-C), and no forecast that decisions use reaches further."""

RecoveryModel = Callable[[Arrivals, float], Estimate | NotReady]
"""What a model says of a failure at that time under those arrivals; `asking.py` makes one of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryEstimate(Estimate):
    """A recovery time; `continued_share` of it lies beyond the end of the forecast, where the load is only taken to stay as it was."""

    continued_share: float

    @property
    def flagged(self) -> bool:
        """Whether it rests on more than is known: it is longer than 15 minutes, or than the forecast."""
        return self.continued_share > 0 or self.value > TRUSTED_S


def over_forecast(
    model: RecoveryModel, forecast: Forecast, *, at_s: float | None = None, history: Sequence[tuple[float, float]] = ()
) -> RecoveryEstimate | NotReady:
    """The recovery from a failure at `at_s` (the start of the forecast), with bounds from the model and from the forecast's quantiles together."""
    struck_s = forecast.start_s if at_s is None else at_s
    arrivals = foreseen(forecast, history)
    expected = model(arrivals, struck_s)
    if isinstance(expected, NotReady):
        return expected
    others = (model(foreseen(forecast, history, quantile), struck_s) for quantile in (LOW_LEVEL, HIGH_LEVEL))
    reached_s = [expected.value, *(other.value for other in others if isinstance(other, Estimate))]
    low, high = bounds_of(expected.value, (expected.low, expected.high), (min(reached_s), max(reached_s)))
    return RecoveryEstimate(value=expected.value, low=low, high=high, continued_share=continued_share(arrivals, struck_s, expected.value))


def continued_share(arrivals: Arrivals, at_s: float, recovery_s: float) -> float:
    """The share of a recovery that lies beyond the last point of the arrivals; all of one that never ends.

    >>> ramp = Arrivals.through((0.0, 900.0), (10.0, 20.0))
    >>> continued_share(ramp, 300.0, 400.0), continued_share(ramp, 300.0, 800.0), continued_share(ramp, 300.0, math.inf)
    (0.0, 0.25, 1.0)
    """
    if recovery_s == math.inf:
        return 1.0
    return min(1.0, max(0.0, at_s + recovery_s - arrivals.last_s) / recovery_s) if recovery_s > 0 else 0.0


def bounds_of(value: float, *causes: tuple[float, float]) -> tuple[float, float]:
    """Bounds of a time that several independent causes make uncertain: on each side, the root of the sum of squares of how far each of them reaches.

    >>> bounds_of(100.0, (70.0, 103.0), (60.0, 104.0))
    (50.0, 105.0)
    """
    if value == math.inf:
        return min(low for low, _ in causes), math.inf
    below = math.hypot(*(max(0.0, value - low) for low, _ in causes))
    above = math.hypot(*(max(0.0, high - value) for _, high in causes))
    return max(0.0, value - below), value + above
