"""A stop of the job and the backlog it leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from penstock.core.models.recovery.arrivals import Arrivals


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """The job stops at `at_s`, works again `downtime_s` later, and repeats what it had done in the `interval_s` before (just before a commit: all of it).

    `lag_rows` is the lag that was there before and is not part of healthy running.
    """

    at_s: float
    interval_s: float
    downtime_s: float
    lag_rows: float = 0.0

    def __post_init__(self) -> None:
        if not math.isfinite(self.at_s):
            raise ValueError(f"an outage begins at a time, not at {self.at_s}")
        for name, value in (("interval_s", self.interval_s), ("downtime_s", self.downtime_s), ("lag_rows", self.lag_rows)):
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} of an outage must be 0 or more, found {value}")

    @property
    def back_s(self) -> float:
        """When the job works again: t_1 of Phoebe sec. III-B."""
        return self.at_s + self.downtime_s

    def backlog_rows(self, arrivals: Arrivals) -> float:
        """Rows that wait when the job works again: those to repeat, those that came meanwhile, and the lag.

        >>> Outage(at_s=100.0, interval_s=10.0, downtime_s=30.0, lag_rows=5.0).backlog_rows(Arrivals.constant(2.0))
        85.0
        """
        return self.lag_rows + arrivals.rows(self.at_s - self.interval_s, self.back_s)
