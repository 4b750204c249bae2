"""Training data from a measured recovery: one more recovery for M_R, one more downtime of its kind."""

import math
from dataclasses import dataclass

from penstock.core.domain.disturbance import FAILURES, UNANNOUNCED
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.downtime import DowntimeSeen
from penstock.core.models.recovery.recovery_regression import RecoverySeen


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The state of the job around a disturbance; `arrivals` are measured, until the end of the recovery at least."""

    arrivals: Arrivals
    interval_s: float
    repeated_s: float | None = None
    """Seconds of arrivals that were processed again; None for the whole interval, the worst case."""
    executors: int | None = None
    capacity_rows_per_s: float | None = None
    downtime_s: float | None = None
    """As observed at a restart; None where it can only be inferred."""

    def __post_init__(self) -> None:
        if not 0 < self.interval_s < math.inf or not (self.capacity_rows_per_s is None or 0 < self.capacity_rows_per_s < math.inf):
            raise ValueError(f"a job that recovers has an interval and a capacity above 0: {self.interval_s} s, {self.capacity_rows_per_s} rows/s")


def recovery_lesson(measured: RecoveryMeasured, around: Surroundings) -> RecoverySeen | None:
    """Return the recovery as M_R learns it (Khaos sec. III-C), at the mean rate from the last commit until its end; `by_regression` says why.

    None for what no single failure explains: several disturbances in one recovery, a rescale, a retried task, or an unannounced disturbance,
    which may have been an overload.

    >>> around = Surroundings(arrivals=Arrivals.constant(500.0), interval_s=10.0, executors=4)
    >>> recovery_lesson(RecoveryMeasured(kind="executor_loss", started_s=100.0, recovered_s=190.0), around)
    RecoverySeen(interval_s=10.0, rate_rows_per_s=500.0, recovery_s=90.0, executors=4)
    """
    if not measured.alone or measured.kind not in FAILURES or measured.recovery_s <= 0:
        return None
    rows = around.arrivals.rows(measured.started_s - around.interval_s, measured.recovered_s)
    rate_rows_per_s = rows / (around.interval_s + measured.recovery_s)
    return RecoverySeen(interval_s=around.interval_s, rate_rows_per_s=rate_rows_per_s, recovery_s=measured.recovery_s, executors=around.executors)


def downtime_lesson(measured: RecoveryMeasured, around: Surroundings) -> DowntimeSeen | None:
    """Return the observed downtime, else the one that explains the recovery (Daedalus sec. 3.4 adapts it to what is measured).

    None where neither is known: no capacity to infer it from, several disturbances in one recovery, or an unannounced disturbance.

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


def implied_downtime_s(
    arrivals: Arrivals, at_s: float, capacity_rows_per_s: float, interval_s: float, measured_recovery_s: float, lag_rows: float = 0.0
) -> float | None:
    """Return the downtime that explains a measured recovery; None if none does, because the capacity is wrong or less was repeated.

    The inverse of `outage.recovery_s`, as all rows that arrived until the end were processed at T_max since the restart:
    D = R - (lag + integral of f over [t0 - I, t0 + R]) / T_max.

    >>> round(implied_downtime_s(Arrivals.constant(51.0), 1200.0, 100.0, 10.0, 234.9), 1)
    110.0
    """
    if not capacity_rows_per_s > 0:
        raise ValueError(f"a job that recovered had a capacity, found {capacity_rows_per_s} rows/s")
    working_s = (lag_rows + arrivals.rows(at_s - interval_s, at_s + measured_recovery_s)) / capacity_rows_per_s
    return measured_recovery_s - working_s if working_s <= measured_recovery_s else None
