from __future__ import annotations

import math

import pytest

from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import Outage


def test_the_backlog_is_what_came_since_the_last_commit_until_the_restart_and_the_lag() -> None:
    arrivals = Arrivals.through((0.0, 100.0), (0.0, 100.0))
    outage = Outage(at_s=20.0, interval_s=10.0, downtime_s=30.0, lag_rows=7.0)
    assert outage.back_s == 50.0
    assert outage.backlog_rows(arrivals) == pytest.approx((50.0**2 - 10.0**2) / 2 + 7.0)


@pytest.mark.parametrize(
    ("interval_s", "downtime_s", "lag_rows"), [(-1.0, 1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, -1.0), (1.0, math.nan, 0.0), (math.inf, 1.0, 0.0)]
)
def test_an_outage_with_less_than_nothing_is_refused(interval_s: float, downtime_s: float, lag_rows: float) -> None:
    with pytest.raises(ValueError, match="of an outage"):
        Outage(at_s=0.0, interval_s=interval_s, downtime_s=downtime_s, lag_rows=lag_rows)
