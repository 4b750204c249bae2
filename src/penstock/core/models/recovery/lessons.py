"""What a recovery that was measured teaches the models: one more recovery for M_R, one more downtime of its kind."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.core.models.anomaly.disturbance import FAILURES, UNANNOUNCED
from penstock.core.models.anomaly.recovered import RecoveryMeasured
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.downtime import DowntimeSeen
from penstock.core.models.recovery.formula import implied_downtime_s
from penstock.core.models.recovery.regression import RecoverySeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The job around a disturbance; `arrivals` are those that were measured, until the recovery at least."""

    arrivals: Arrivals
    interval_s: float
    repeated_s: float | None = None
    """Seconds of arrivals that were processed again; None for the whole interval, the worst case."""
    scaleout: int | None = None
    capacity_rows_per_s: float | None = None
    downtime_s: float | None = None
    """As observed, where a restart was; None where it can only be inferred."""

    def __post_init__(self) -> None:
        if not 0 < self.interval_s < math.inf or not (self.capacity_rows_per_s is None or 0 < self.capacity_rows_per_s < math.inf):
            raise ValueError(f"a job that recovers has an interval and a capacity above 0: {self.interval_s} s, {self.capacity_rows_per_s} rows/s")


def recovery_lesson(measured: RecoveryMeasured, around: Surroundings) -> RecoverySeen | None:
    """The recovery as M_R learns it (Khaos sec. III-C), at the mean rate from the last commit until its end; see `by_regression` for why.

    None for what no single failure explains: several disturbances in one recovery, a rescale, a retried task, or something that nobody announced,
    which may have been an overload.

    >>> around = Surroundings(arrivals=Arrivals.constant(500.0), interval_s=10.0, scaleout=4)
    >>> recovery_lesson(RecoveryMeasured(kind="executor_loss", started_s=100.0, recovered_s=190.0), around)
    RecoverySeen(interval_s=10.0, rate_rows_per_s=500.0, recovery_s=90.0, scaleout=4)
    """
    if not measured.alone or measured.kind not in FAILURES or measured.recovery_s <= 0:
        return None
    rows = around.arrivals.rows(measured.started_s - around.interval_s, measured.recovered_s)
    rate_rows_per_s = rows / (around.interval_s + measured.recovery_s)
    return RecoverySeen(interval_s=around.interval_s, rate_rows_per_s=rate_rows_per_s, recovery_s=measured.recovery_s, scaleout=around.scaleout)


def downtime_lesson(measured: RecoveryMeasured, around: Surroundings) -> DowntimeSeen | None:
    """The downtime as observed, else the one that explains the recovery (Daedalus sec. 3.4 has it follow what is measured).

    None where neither is known: no capacity to infer it from, several disturbances in one recovery, or a kind that nobody announced.

    >>> around = Surroundings(arrivals=Arrivals.constant(500.0), interval_s=10.0, capacity_rows_per_s=1000.0)
    >>> downtime_lesson(RecoveryMeasured(kind="executor_loss", started_s=100.0, recovered_s=190.0), around)
    DowntimeSeen(kind='executor_loss', downtime_s=40.0)
    """
    if measured.kind == UNANNOUNCED:
        return None
    downtime_s = around.downtime_s
    if downtime_s is None and measured.alone and around.capacity_rows_per_s is not None:
        repeated_s = around.interval_s if around.repeated_s is None else around.repeated_s
        downtime_s = implied_downtime_s(around.arrivals, measured.started_s, around.capacity_rows_per_s, repeated_s, measured.recovery_s)
    return None if downtime_s is None else DowntimeSeen(kind=measured.kind, downtime_s=downtime_s)
