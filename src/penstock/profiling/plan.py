"""Which sizes are profiled, at which rates, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from penstock.core.config import USUAL_READING_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePlan:
    """Sizes that run beside each other, and the rates in rows/s that all of them are given: the first, then one step more at a time (Phoebe sec. III-C).

    The first `settle_s` at a rate are left out of what is measured: five minutes of seven (sec. IV-A). `most_rates` ends a profile in which some size
    keeps up with everything.

    >>> list(ProfilePlan(sizes=(2, 4), first_rate=20.0, step_rate=10.0, most_rates=3).rates())
    [20.0, 30.0, 40.0]
    """

    sizes: tuple[int, ...]
    first_rate: float
    step_rate: float
    settle_s: float = 300.0
    measure_s: float = 120.0
    reading_interval_s: float = USUAL_READING_S
    most_rates: int = 30

    def __post_init__(self) -> None:
        if not self.sizes or min(self.sizes) < 1 or len(set(self.sizes)) < len(self.sizes):
            raise ValueError(f"sizes {self.sizes}: at least one, from 1 on, and each once")
        for what in ("first_rate", "step_rate", "measure_s", "reading_interval_s"):
            value = getattr(self, what)
            if not (isfinite(value) and value > 0):
                raise ValueError(f"a {what} of {value}: it must be a number above 0")

    def rates(self) -> Iterator[float]:
        for number in range(self.most_rates):
            yield self.first_rate + number * self.step_rate
