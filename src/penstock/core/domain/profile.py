"""A profile of a job: latencies measured with chosen numbers of executors at chosen rates."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSeen:
    """The average latency of some executors at one rate; `valid` is whether they kept up, where that is known."""

    executors: int
    rate_rows_per_s: float
    latency_s: float
    valid: bool | None = None

    def __post_init__(self) -> None:
        if self.executors < 1:
            raise ValueError(f"{self.executors} executors: it must be at least 1")
        if not (isfinite(self.rate_rows_per_s) and self.rate_rows_per_s >= 0):
            raise ValueError(f"a rate of {self.rate_rows_per_s} rows/s: it must be a number from 0")
        if not (isfinite(self.latency_s) and self.latency_s > 0):
            raise ValueError(f"a latency of {self.latency_s} s: it must be a number above 0")
