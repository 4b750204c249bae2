"""The summary of a run: cost, latency, promises and decisions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from penstock.core.config import EVEN
from penstock.core.domain.events.autopilot_events import Decided, Graded, PromiseBroken
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import CHANGES
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import count_words, duration_words
from penstock.core.report.run_report import RunReport, run_report

UNKNOWN = "–"
NOTHING = "nothing recorded yet"

T = TypeVar("T")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """The report of a run, with what was promised, the most executors it may have, and what its policy decided."""

    readings: int
    report: RunReport
    promises: Promises
    max_executors: int
    decided: DecidedSummary | None = None
    price: float | None = None
    """Of an executor-hour."""

    @property
    def promised_p95_s(self) -> float | None:
        return self.promises.latency_p95_s

    @property
    def executor_s_at_maximum(self) -> float:
        """What the most executors would have cost in the same time."""
        return self.max_executors * self.report.duration_s

    def rows(self) -> list[tuple[str, str]]:
        if not self.readings:
            return [("run", NOTHING)]
        report = self.report
        return [
            ("duration", duration_words(round(report.duration_s)) + (f", {duration_words(round(report.gap_s))} not observed" if report.gap_s >= 1 else "")),
            ("rows processed", _or_unknown(report.processed_rows, lambda rows: f"about {float(f'{rows:.3g}'):,.0f}")),
            ("mean rate", _or_unknown(report.arrival_rows_per_s, lambda rate: f"{count_words(rate)} rows/s")),
            ("peak rate", _or_unknown(report.peak_arrival_rows_per_s, lambda rate: f"{count_words(rate)} rows/s")),
            ("latency p50, p95, p99", _or_unknown(report.latency, lambda each: f"{each.p50_s:.3g} s, {each.p95_s:.3g} s, {each.p99_s:.3g} s")),
            ("within the promise", self._promise_words()),
            ("executor-seconds", self._executor_words()),
            *(() if self.price is None else (("cost", f"{report.cost(self.price):,.2f} at {self.price:g} an executor-hour"),)),
            ("rescales", str(report.rescales)),
            ("restarts", str(report.restarts)),
            ("failures", str(report.failures)),
            *(self.decided.rows() if self.decided else ()),
        ]

    def _promise_words(self) -> str:
        if self.promised_p95_s is None:
            return "nothing promised"
        share = _or_unknown(self.report.within_promise, lambda share: f"{share:.0%} of rows")
        return f"{share} ({duration_words(self.promised_p95_s)} promised)"

    def _executor_words(self) -> str:
        most = self.executor_s_at_maximum
        return f"{self.report.executor_s:,.0f} ({self.report.executor_s / most:.0%} of {most:,.0f} with the maximum all the time)" if most else UNKNOWN


def summarise(
    readings: Sequence[Reading], events: Sequence[Event], promises: Promises, max_executors: int, window_s: float = EVEN.reading_window_s
) -> RunSummary:
    """Return the summary of a run, readings in any order."""
    ordered = sorted(readings, key=lambda reading: reading.at_s)
    return RunSummary(
        readings=len(ordered),
        report=run_report(ordered, promises, events, window_s=window_s),
        promises=promises,
        max_executors=max_executors,
        decided=summarise_decisions(events),
    )


def _or_unknown(value: T | None, words: Callable[[T], str]) -> str:
    return UNKNOWN if value is None else words(value)


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
        within=sum(each.is_within for each in graded),
    )
