"""The summary of a run: cost, latency, promises and decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from penstock.core.domain.events.autopilot import Decided, Graded, PromiseBroken
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executors import ExecutorLost
from penstock.core.domain.events.queries import QueryFailed, QueryRestarted
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.domain.rescales import rescales
from penstock.core.domain.routine import CHANGES
from penstock.core.domain.units import count_words, duration_words
from penstock.core.models.latency.pooled import pooled_quantiles
from penstock.dashboard.series import Array, widths_s

UNKNOWN = "–"
NOTHING = "nothing recorded yet"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The numbers of a run; None is unknown, and for `within_promise` also "nothing promised"."""

    readings: int
    duration_s: float
    rows_processed: float | None
    peak_arrival_rows_per_s: float | None
    latency: Quantiles | None
    promised_p95_s: float | None
    within_promise: float | None
    executor_s: float
    executor_s_at_maximum: float
    rescales: int
    restarts: int
    failures: int
    decided: DecidedSummary | None = None

    def rows(self) -> list[tuple[str, str]]:
        if not self.readings:
            return [("run", NOTHING)]
        return [
            ("duration", duration_words(round(self.duration_s))),
            ("rows processed", _or_unknown(self.rows_processed, lambda rows: f"about {float(f'{rows:.3g}'):,.0f}")),
            ("peak rate", _or_unknown(self.peak_arrival_rows_per_s, lambda rate: f"{count_words(rate)} rows/s")),
            ("latency p50, p95, p99", _or_unknown(self.latency, lambda each: f"{each.p50_s:.3g} s, {each.p95_s:.3g} s, {each.p99_s:.3g} s")),
            ("within the promise", self._promise_words()),
            ("executor-seconds", self._cost_words()),
            ("rescales", str(self.rescales)),
            ("restarts", str(self.restarts)),
            ("failures", str(self.failures)),
            *(self.decided.rows() if self.decided else ()),
        ]

    def _promise_words(self) -> str:
        if self.promised_p95_s is None:
            return "nothing promised"
        share = _or_unknown(self.within_promise, lambda share: f"{share:.0%} of readings")
        return f"{share} (p95 of {duration_words(self.promised_p95_s)})"

    def _cost_words(self) -> str:
        if not self.executor_s_at_maximum:
            return UNKNOWN
        return f"{self.executor_s:,.0f} ({self.executor_s / self.executor_s_at_maximum:.0%} of {self.executor_s_at_maximum:,.0f} with the maximum all the time)"


def summarise(readings: Sequence[Reading], events: Sequence[Event], promises: Promises, max_executors: int) -> RunSummary:
    """Summarise a run: a reading holds until the next one, and gaps count for nothing."""
    ordered = sorted(readings, key=lambda reading: reading.at_s)
    at_s = np.array([reading.at_s for reading in ordered])
    widths = widths_s(at_s)
    throughput = np.array([reading.throughput_rows_per_s for reading in ordered], dtype=np.float64)
    arrivals = [reading.arrival_rows_per_s for reading in ordered if reading.arrival_rows_per_s is not None]
    known = [i for i, reading in enumerate(ordered) if reading.latency is not None]
    latencies = [reading.latency for reading in ordered if reading.latency is not None]
    return RunSummary(
        readings=len(ordered),
        duration_s=float(at_s[-1] - at_s[0]) if ordered else 0.0,
        rows_processed=_rows_processed(throughput, widths),
        peak_arrival_rows_per_s=max(arrivals, default=None),
        latency=pooled_quantiles(latencies, np.nan_to_num(throughput[known])),
        promised_p95_s=promises.latency_p95_s,
        within_promise=_within(latencies, promises.latency_p95_s),
        executor_s=float(np.array([reading.executors_running for reading in ordered]) @ widths),
        executor_s_at_maximum=float(max_executors * widths.sum()),
        rescales=rescales(ordered),
        restarts=sum(isinstance(event, QueryRestarted) for event in events),
        failures=sum(isinstance(event, QueryFailed | ExecutorLost) for event in events),
        decided=summarise_decisions(events),
    )


def _rows_processed(throughput: Array, widths: Array) -> float | None:
    """Integrate the throughput where it is known (trapezoids)."""
    pieces = (throughput[:-1] + throughput[1:]) / 2 * widths[:-1]
    counted = np.isfinite(pieces) & (widths[:-1] > 0)
    return float(pieces[counted].sum()) if counted.any() else None


def _within(latencies: Sequence[Quantiles], promised_p95_s: float | None) -> float | None:
    if promised_p95_s is None or not latencies:
        return None
    return sum(each.p95_s <= promised_p95_s for each in latencies) / len(latencies)


def _or_unknown(value: T | None, words: Callable[[T], str]) -> str:
    return UNKNOWN if value is None else words(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedSummary:
    """The last policy of a run, its scale-ups and scale-downs (a proposal counts when approved), broken promises, and graded predictions."""

    policy: str
    in_shadow: bool
    ups: int
    downs: int
    broken: int
    grades: int
    within: int

    def rows(self) -> list[tuple[str, str]]:
        return [
            (f"decided by {self.policy}", f"{self.ups} up, {self.downs} down{', in shadow' if self.in_shadow else ''}"),
            ("promises broken", str(self.broken)),
            ("predictions within their bounds", f"{self.within / self.grades:.0%} of {self.grades}" if self.grades else "none graded yet"),
        ]


def summarise_decisions(events: Sequence[Event]) -> DecidedSummary | None:
    """Summarise the decisions of the policy; None if it decided nothing."""
    decided = [event for event in events if isinstance(event, Decided)]
    if not decided:
        return None
    directions = [each.decision.direction for each in decided if each.effect in CHANGES]
    graded = [event for event in events if isinstance(event, Graded)]
    return DecidedSummary(
        policy=decided[-1].policy,
        in_shadow=decided[-1].mode == "shadow",
        ups=directions.count("up"),
        downs=directions.count("down"),
        broken=sum(isinstance(event, PromiseBroken) for event in events),
        grades=len(graded),
        within=sum(each.low <= each.actual <= each.high for each in graded),
    )
