"""A limit in rows per second, as Spark takes it: in rows of a batch."""

from __future__ import annotations

from penstock.core.domain.trigger import Trigger

SHORTEST_LIMITED_S = 1.0
"""Batches of a limited query come at a known pace: every second if no slower."""


def paced_s(trigger: Trigger) -> float:
    """Seconds between two batches of a limited query that keeps up.

    >>> paced_s(Trigger()), paced_s(Trigger(interval_s=5.0))
    (1.0, 5.0)
    """
    return max(trigger.interval_s, SHORTEST_LIMITED_S)


def rows_per_batch(trigger: Trigger, limit_rows_per_s: float) -> float:
    """The most rows that one batch takes.

    >>> rows_per_batch(Trigger(interval_s=5.0), 1000.0)
    5000.0
    """
    return limit_rows_per_s * paced_s(trigger)
