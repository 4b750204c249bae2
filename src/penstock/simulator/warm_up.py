"""What new executors lose: the first batches on them take up to three times as long (SPARK-FACTS)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def lost_s(work_s: float, ages_s: Sequence[float], *, factor: float, fades_s: float) -> float:
    """Seconds by which work that takes `work_s` on warm executors is longer on executors of these ages: the mean of what each alone would lose.

    An executor of age g takes 1 + f*exp(-g/tau) times as long and warms up while it works, so that W seconds of work become
    W + tau*ln(1 + f*exp(-g/tau)*(1 - exp(-W/tau))).
    By age and not by number of batches: so the short ones after a crash and the long ones after a stall follow one law.

    >>> round(lost_s(0.001, [0.0], factor=2.0, fades_s=8.0), 6), round(lost_s(1000.0, [0.0], factor=2.0, fades_s=8.0), 3)
    (0.002, 8.789)
    >>> lost_s(3.0, [math.inf, math.inf], factor=2.0, fades_s=8.0)
    0.0
    """
    if not ages_s:
        return 0.0
    worked = -math.expm1(-work_s / fades_s)
    return sum(fades_s * math.log1p(factor * math.exp(-age_s / fades_s) * worked) for age_s in ages_s) / len(ages_s)
