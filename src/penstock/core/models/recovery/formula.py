"""The recovery time of one failure, and what a measured one says of the downtime."""

from __future__ import annotations

from penstock.core.models.recovery import phoebe
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import Outage


def recovery_s(arrivals: Arrivals, at_s: float, capacity_rows_per_s: float, interval_s: float, downtime_s: float, lag_rows: float = 0.0) -> float:
    """Seconds from a failure at `at_s` until the job has caught up; infinite if its capacity does not suffice in the long run.

    Phoebe sec. III-B with the tail after its stopping rule; Daedalus sec. 3.4 in continuous time gives the same number.

    >>> round(recovery_s(Arrivals.constant(51.0), 1200.0, 100.0, 10.0, 110.0), 1)
    234.9
    """
    outage = Outage(at_s=at_s, interval_s=interval_s, downtime_s=downtime_s, lag_rows=lag_rows)
    return phoebe.recovery_s(arrivals, outage, capacity_rows_per_s)


def implied_downtime_s(
    arrivals: Arrivals, at_s: float, capacity_rows_per_s: float, interval_s: float, measured_recovery_s: float, lag_rows: float = 0.0
) -> float | None:
    """The downtime that explains a measured recovery; None if no downtime does, because the capacity is then wrong or less was repeated.

    The formula the other way round, as all that arrived until the end was processed at T_max since the restart:
    D = R - (lag + integral of f over [t0 - I, t0 + R]) / T_max.

    >>> round(implied_downtime_s(Arrivals.constant(51.0), 1200.0, 100.0, 10.0, 234.9), 1)
    110.0
    """
    if not capacity_rows_per_s > 0:
        raise ValueError(f"a job that recovered had a capacity, found {capacity_rows_per_s} rows/s")
    working_s = (lag_rows + arrivals.rows(at_s - interval_s, at_s + measured_recovery_s)) / capacity_rows_per_s
    return measured_recovery_s - working_s if working_s <= measured_recovery_s else None
