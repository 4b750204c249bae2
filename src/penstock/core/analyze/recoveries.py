"""Khaos's M_R of a running job: it learns every recovery that was measured alone, by kind of failure, and is asked when the next one strikes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.core.analyze.forecasts import points_since
from penstock.core.assessment import Assessment
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import UNANNOUNCED, DisturbanceKind
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.lessons import Surroundings, recovery_lesson
from penstock.core.models.recovery.predicted_recovery import RecoveryModel, by_regression
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen, RecoveryTable
from penstock.core.models.surrogate.study import LEAST_ROWS

MOST_RECOVERIES = 100
"""Of each kind; the newest win. More would make a fit longer than a few of them make it better."""


def with_recoveries(learnt: Learnt, measured: Iterable[RecoveryMeasured], seen: Assessment, executors: int, window_s: float) -> Learnt:
    """With the recoveries that M_R can learn from: of a single failure, and long enough for readings to tell how long."""
    recoveries = dict(learnt.recoveries)
    for each in measured:
        lesson = _lesson(learnt, each, seen, executors) if each.recovery_s > window_s / 2 else None
        if lesson is not None and each.kind != UNANNOUNCED:
            recoveries[each.kind] = recoveries.get(each.kind, RecoveryRegression(most_seen=MOST_RECOVERIES)).learn([lesson])
    return replace(learnt, recoveries=recoveries)


def _lesson(learnt: Learnt, measured: RecoveryMeasured, seen: Assessment, executors: int) -> RecoverySeen | None:
    points = points_since(learnt.load.series, measured.started_s - seen.interval_s)
    if not points or seen.interval_s <= 0:
        return None
    return recovery_lesson(measured, Surroundings(arrivals=Arrivals.joined(points, ()), interval_s=seen.interval_s, scaleout=executors))


def tables_due(learnt: Learnt, interval_s: float) -> Mapping[DisturbanceKind, RecoveryRegression]:
    """The M_R of each kind of failure that has learnt something since its table was made, or whose table is for another interval."""
    ready = {kind: model for kind, model in learnt.recoveries.items() if len(model.seen) >= LEAST_ROWS}
    made = learnt.recovery_tables
    return {kind: model for kind, model in ready.items() if kind not in made or made[kind].rows != model.rows or not made[kind].is_for(interval_s)}


def by_table(table: RecoveryTable, interval_s: float, executors: int) -> RecoveryModel:
    """M_R at the mean rate of the recovery that it speaks of."""
    return by_regression(lambda rate: table.predict(interval_s, rate, executors), interval_s)
