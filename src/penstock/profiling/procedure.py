"""Phoebe's profiling procedure: rate by rate, all living copies compared, and those stopped that do not keep up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from penstock.core.domain.reading import Reading
from penstock.core.models.latency.profile import ProfileSeen
from penstock.ports import Clock, Source, Testbed
from penstock.profiling.measured import Measured, measured, valid_sizes
from penstock.profiling.plan import ProfilePlan

AGREES = 0.02
"""Rates that are no further apart than this share are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """What a profile found, and what it cost."""

    rows: tuple[ProfileSeen, ...]
    worker_seconds: float


class Copies:
    """The copies that run: each is paid for from its launch to its stop."""

    def __init__(self, testbed: Testbed, clock: Clock) -> None:
        self._testbed = testbed
        self._clock = clock
        self._sources: dict[int, Source] = {}
        self._since_s: dict[int, float] = {}
        self.worker_seconds = 0.0

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self._sources)

    def launch(self, size: int) -> None:
        self._sources[size] = self._testbed.launch(size)
        self._since_s[size] = self._clock.now_s()

    def stop(self, size: int) -> None:
        del self._sources[size]
        self._testbed.stop(size)
        self.worker_seconds += size * (self._clock.now_s() - self._since_s.pop(size))

    def watched(self, seconds: float, interval_s: float) -> Mapping[int, Sequence[Reading]]:
        """The readings of all copies over so long a time, in lockstep."""
        readings: dict[int, list[Reading]] = {size: [] for size in self.sizes}
        until_s = self._clock.now_s() + seconds
        while (left_s := until_s - self._clock.now_s()) > 0.0:
            self._clock.wait(min(interval_s, left_s))
            for size, source in self._sources.items():
                readings[size].append(source.read())
        return readings


def profile(testbed: Testbed, clock: Clock, plan: ProfilePlan) -> Profiled:
    """Run copies of all sizes through the rates until none keeps up or there are no more rates (Phoebe sec. III-C); all are stopped at the end."""
    copies, rows = Copies(testbed, clock), list[ProfileSeen]()
    try:
        for size in plan.sizes:
            copies.launch(size)
        for rate in plan.rates():
            testbed.set_rate(rate)
            copies.watched(plan.settle_s, plan.reading_interval_s)
            readings = copies.watched(plan.measure_s, plan.reading_interval_s)
            told = rate_told(rate, readings.values())
            now = [measured(size, told, seen) for size, seen in readings.items()]
            verdicts = valid_sizes(now, rows)
            rows += rows_of(now, verdicts)
            for size in [size for size, valid in verdicts.items() if not valid]:
                copies.stop(size)
            if not copies.sizes:
                break
    finally:
        for size in copies.sizes:
            copies.stop(size)
    return Profiled(rows=tuple(rows), worker_seconds=copies.worker_seconds)


def rate_told(rate_rows_per_s: float, readings: Iterable[Sequence[Reading]]) -> float:
    """The rate as readings count it, by the copy that tells of most: several queries may read each row, or what others wrote of it.

    The rate that was set is more exact where both agree, and is all there is where no copy tells.
    """
    arrived = [[reading.arrival_rows_per_s for reading in seen if reading.arrival_rows_per_s is not None] for seen in readings]
    told = max((sum(each) / len(each) for each in arrived if each), default=rate_rows_per_s)
    return rate_rows_per_s if isclose(told, rate_rows_per_s, rel_tol=AGREES) else told


def rows_of(now: Sequence[Measured], verdicts: Mapping[int, bool]) -> list[ProfileSeen]:
    """A row for each copy whose latency is known."""
    return [
        ProfileSeen(scaleout=each.size, rate_rows_per_s=each.rate_rows_per_s, latency_s=each.latency_s, valid=verdicts.get(each.size))
        for each in now
        if each.latency_s is not None
    ]
