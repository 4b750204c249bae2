"""What the detectors look at: what comes in, what is read, and what waits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowSeen:
    """One reading of a job; what is not known is None. `lag_rows` may be the whole lag or its excess over a healthy one, but always the same."""

    at_s: float
    workload_rows_per_s: float | None
    throughput_rows_per_s: float | None
    lag_rows: float | None = None

    @property
    def difference_rows_per_s(self) -> float | None:
        """Workload minus throughput: above 0 while the job falls behind."""
        if self.workload_rows_per_s is None or self.throughput_rows_per_s is None:
            return None
        return self.workload_rows_per_s - self.throughput_rows_per_s
