"""Recoveries from failures in a run, measured in its readings as the loop measures them."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.analyze.disturbances import failure_in, followed, told_of_failures
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import FAILURES

UNSEEN = 3.0
"""A failure shows in the readings within so many windows."""


def overdue_s(readings: Sequence[Reading], promised_s: float | None, window_s: float) -> float:
    """Seconds that recoveries from failures took beyond what is promised."""
    return 0.0 if promised_s is None else sum(max(0.0, took_s - promised_s) for took_s in recoveries_s(readings, window_s))


def recoveries_s(readings: Sequence[Reading], window_s: float) -> list[float]:
    """How long each recovery from a failure took, of one that is not over until the last reading; readings look back over `window_s`."""
    took_s: list[float] = []
    if not readings:
        return took_s
    first = readings[0]
    learnt = Learnt(failures=first.failures, query_failures=sum(query.failures for query in first.queries))
    for reading in readings:
        told = told_of_failures(learnt, reading, failure_in(learnt, reading), UNSEEN * window_s)
        learnt, measured = followed(told, reading, window_s)
        took_s += [each.recovery_s for each in measured if each.kind in FAILURES]
    normal_s = learnt.health.row_since_s
    end_s = readings[-1].at_s if normal_s is None else normal_s
    return took_s + [max(0.0, end_s - each.at_s) for each in learnt.health.open if each.kind in FAILURES]
