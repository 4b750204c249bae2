"""When a query with a processing-time trigger looks for rows: at the multiples of its interval, as Spark does."""

from __future__ import annotations

import math

HAIR = 1e-4
"""Of an interval: what rounding may do to a time of a clock that counts from 1970."""


def next_trigger_s(started_s: float, interval_s: float) -> float:
    """The trigger after one that came at `started_s`; without an interval there is no other to wait for.

    >>> next_trigger_s(10.0, 5.0), next_trigger_s(12.0, 5.0), next_trigger_s(12.0, 0.0)
    (15.0, 15.0, 12.0)
    """
    return interval_s * (math.floor(started_s / interval_s + HAIR) + 1) if interval_s else started_s


def trigger_from_s(came_s: float, interval_s: float) -> float:
    """The first trigger that finds what came then; infinite for what never comes.

    >>> trigger_from_s(10.0, 5.0), trigger_from_s(10.1, 5.0), trigger_from_s(10.1, 0.0)
    (10.0, 15.0, 10.1)
    """
    return interval_s * math.ceil(came_s / interval_s - HAIR) if interval_s and math.isfinite(came_s) else came_s
