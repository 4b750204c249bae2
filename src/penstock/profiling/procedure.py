"""Phoebe's profiling procedure (sec. III-C): copies of a job with several numbers of executors, tried at rising rates until none keeps up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, isfinite, log

import numpy as np

from penstock.core.config import USUAL_READING_S
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import Reading
from penstock.core.models.anomaly.keeping_up import slope_of
from penstock.core.models.latency.clusters import FEWEST, RATIO, healthy
from penstock.ports import Clock, Copy, Testbed

BEHIND_S = 1.0
"""A lag of less than this many seconds of arrivals is no backlog."""
AGREES = 0.02
"""Rates that differ by no more than this share are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePlan:
    """The numbers of executors to run at the same time, and the rates in rows/s that all of them get: the first, then one step more at a time.

    The first `settle_s` at a rate are not measured: five minutes of seven (sec. IV-A). `most_rates` ends a profile in which a copy keeps up with all.

    >>> list(ProfilePlan(executor_counts=(2, 4), first_rate=20.0, step_rate=10.0, most_rates=3).rates())
    [20.0, 30.0, 40.0]
    """

    executor_counts: tuple[int, ...]
    first_rate: float
    step_rate: float
    settle_s: float = 300.0
    measure_s: float = 120.0
    reading_interval_s: float = USUAL_READING_S
    most_rates: int = 30

    def __post_init__(self) -> None:
        if not self.executor_counts or min(self.executor_counts) < 1 or len(set(self.executor_counts)) < len(self.executor_counts):
            raise ValueError(f"executors {self.executor_counts}: at least one, from 1 on, and each once")
        for what in ("first_rate", "step_rate", "measure_s", "reading_interval_s"):
            value = getattr(self, what)
            if not (isfinite(value) and value > 0):
                raise ValueError(f"a {what} of {value}: it must be a number above 0")

    def rates(self) -> Iterator[float]:
        for number in range(self.most_rates):
            yield self.first_rate + number * self.step_rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One copy at one rate; `falls_behind` is whether its lag grew, None if that is not known."""

    executors: int
    rate_rows_per_s: float
    latency_s: float | None
    falls_behind: bool | None


def measured(executors: int, rate_rows_per_s: float, readings: Sequence[Reading]) -> Measured:
    """Return the mean of the 95th percentiles of the latency (Phoebe sec. IV-A), and whether the excess lag grew."""
    latencies = [reading.latency.p95_s for reading in readings if reading.latency is not None and reading.latency.p95_s > 0.0]
    waiting = [(reading.at_s, reading.excess_lag_rows) for reading in readings if reading.excess_lag_rows is not None]
    behind = None if len(waiting) < 2 else waiting[-1][1] > BEHIND_S * rate_rows_per_s and slope_of(waiting) > 0.0
    return Measured(executors=executors, rate_rows_per_s=rate_rows_per_s, latency_s=sum(latencies) / len(latencies) if latencies else None, falls_behind=behind)


def keeping_up(now: Sequence[Measured], before: Sequence[ProfileSeen]) -> dict[int, bool]:
    """Return whether each copy keeps up with the rate.

    A copy whose lag grows does not. If the lag is not known, latencies at this rate are clustered, and the upper of two clusters does not keep up; with
    fewer than three copies, each is compared with the line through its own latencies at smaller rates.
    """
    by_lag = {each.executors: not each.falls_behind for each in now if each.falls_behind is not None}
    known = [(each, each.latency_s) for each in now if each.latency_s is not None]
    if all(each.executors in by_lag for each, _ in known):
        return by_lag
    if len(known) < FEWEST:
        by_latency = {each.executors: _as_before(each, latency_s, before) for each, latency_s in known}
    else:
        lower = healthy(np.log([latency_s for _, latency_s in known]))
        by_latency = {each.executors: bool(lower[number]) for number, (each, _) in enumerate(known)}
    return by_latency | by_lag


def _as_before(each: Measured, latency_s: float, before: Sequence[ProfileSeen]) -> bool:
    """Return whether a latency is within a factor of the line through the logarithms of earlier ones; True with fewer than two of these."""
    own = [(row.rate_rows_per_s, log(row.latency_s)) for row in before if row.executors == each.executors]
    if len(own) < 2:
        return True
    mean_rate, mean_log = sum(rate for rate, _ in own) / len(own), sum(logarithm for _, logarithm in own) / len(own)
    expected = mean_log + slope_of(own) * (each.rate_rows_per_s - mean_rate)
    return log(latency_s) - expected < log(RATIO)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """The rows of a profile, and its cost."""

    rows: tuple[ProfileSeen, ...]
    executor_s: float


class Copies:
    """The running copies; each is paid for from its launch to its stop."""

    def __init__(self, testbed: Testbed, clock: Clock) -> None:
        self._testbed = testbed
        self._clock = clock
        self._copies: dict[int, Copy] = {}
        self._since_s: dict[int, float] = {}
        self.executor_s = 0.0

    @property
    def executor_counts(self) -> tuple[int, ...]:
        return tuple(self._copies)

    def launch(self, executors: int) -> None:
        self._copies[executors] = self._testbed.launch(Configuration(executors=executors))
        self._since_s[executors] = self._clock.now_s()

    def stop(self, executors: int) -> None:
        self._copies.pop(executors).stop()
        self.executor_s += executors * (self._clock.now_s() - self._since_s.pop(executors))

    def set_rate(self, rows_per_s: float) -> None:
        for copy in self._copies.values():
            copy.set_rate(rows_per_s)

    def watched(self, seconds: float, interval_s: float) -> Mapping[int, Sequence[Reading]]:
        """Return the readings of all copies over some seconds, in lockstep."""
        readings: dict[int, list[Reading]] = {executors: [] for executors in self.executor_counts}
        until_s = self._clock.now_s() + seconds
        while (left_s := until_s - self._clock.now_s()) > 0.0:
            self._clock.wait(min(interval_s, left_s))
            for executors, copy in self._copies.items():
                readings[executors].append(copy.read())
        return readings


def profile(testbed: Testbed, clock: Clock, plan: ProfilePlan) -> Profiled:
    """Run copies with all numbers of executors through the rates until none keeps up or there are no more rates; stop all at the end."""
    copies, rows = Copies(testbed, clock), list[ProfileSeen]()
    try:
        for executors in plan.executor_counts:
            copies.launch(executors)
        for rate in plan.rates():
            copies.set_rate(rate)
            copies.watched(plan.settle_s, plan.reading_interval_s)
            readings = copies.watched(plan.measure_s, plan.reading_interval_s)
            counted = rate_counted(rate, readings.values())
            now = [measured(executors, counted, seen) for executors, seen in readings.items()]
            verdicts = keeping_up(now, rows)
            rows += rows_of(now, verdicts)
            for executors in [executors for executors, valid in verdicts.items() if not valid]:
                copies.stop(executors)
            if not copies.executor_counts:
                break
    finally:
        for executors in copies.executor_counts:
            copies.stop(executors)
    return Profiled(rows=tuple(rows), executor_s=copies.executor_s)


def rate_counted(rate_rows_per_s: float, readings: Iterable[Sequence[Reading]]) -> float:
    """Return the largest mean arrival rate by the readings, as several queries may read each row; the rate that was set if both agree or none is known."""
    arrived = [[reading.arrival_rows_per_s for reading in seen if reading.arrival_rows_per_s is not None] for seen in readings]
    counted = max((sum(each) / len(each) for each in arrived if each), default=rate_rows_per_s)
    return rate_rows_per_s if isclose(counted, rate_rows_per_s, rel_tol=AGREES) else counted


def rows_of(now: Sequence[Measured], verdicts: Mapping[int, bool]) -> list[ProfileSeen]:
    """Return a row for each copy whose latency is known."""
    return [
        ProfileSeen(executors=each.executors, rate_rows_per_s=each.rate_rows_per_s, latency_s=each.latency_s, valid=verdicts.get(each.executors))
        for each in now
        if each.latency_s is not None
    ]
