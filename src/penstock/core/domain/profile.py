"""A profile of a job: latencies measured at chosen scale-outs and rates."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSeen:
    """The average latency of one scale-out at one rate; `valid` is whether it kept up, where that is known."""

    scaleout: int
    rate_rows_per_s: float
    latency_s: float
    valid: bool | None = None

    def __post_init__(self) -> None:
        if self.scaleout < 1:
            raise ValueError(f"a scale-out of {self.scaleout}: it starts at 1")
        if not (isfinite(self.rate_rows_per_s) and self.rate_rows_per_s >= 0):
            raise ValueError(f"a rate of {self.rate_rows_per_s} rows/s: it must be a number from 0")
        if not (isfinite(self.latency_s) and self.latency_s > 0):
            raise ValueError(f"a latency of {self.latency_s} s: it must be a number above 0")
