"""The results of a comparison: a row for each policy and workload, with the median and the spread over the repetitions."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from penstock.bench.compared_run import ORACLE, ComparedReport, ComparedRun
from penstock.bench.comparisons import Comparison, Workload
from penstock.core.errors import UserMistake
from penstock.core.policies.registry import labelled
from penstock.experiments.runner import Progress, run_cells

DAY_S = 86_400.0
WEEK_S = 7 * DAY_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A number over the repetitions: its median, lowest and highest value."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "Spread | None":
        """Return the spread; None unless the number is known in every repetition."""
        known = list(values)
        found = [each for each in known if each is not None]
        return cls(median=median(found), low=min(found), high=max(found)) if known and len(found) == len(known) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A policy on a workload. Times are in seconds, shares from 0 to 1; None is "not known" or "does not apply".

    `of_static` and `of_oracle` are executor-seconds relative to the largest static deployment and to the oracle in the same repetition; `of_static_with`
    includes profiling, as if the policy went on alike until the end of a run, a day, a week. `recovered_late` is how many of all `failures` took longer than
    promised. `recovery_error`, `forecast_wape` and `capacity_error` are those of the policy's own models.
    """

    label: str
    executors: Spread
    executor_s: Spread
    of_static: Spread | None
    of_oracle: Spread | None
    of_static_with: tuple[float, float, float] | None
    rescales: Spread
    latency_minutes_s: Spread
    latency_p50_s: Spread | None
    latency_p95_s: Spread | None
    latency_p99_s: Spread | None
    latency_max_s: Spread
    within_promise: Spread | None
    violation_s: Spread | None
    failures: int
    recovered_late: int
    recoveries_s: tuple[float | None, ...]
    recoveries_by_latency_s: tuple[float | None, ...]
    recovery_error: float | None
    rescale_recovery_error: float | None
    forecast_wape: Spread | None
    forecast_near_wape: Spread | None
    capacity_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadResults:
    """The rows of a workload, those that keep the promises best first, and all reports by policy."""

    workload: Workload
    rows: tuple[Row, ...]
    reports: Mapping[str, tuple[ComparedReport, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A comparison that was run. `command` prints its numbers again; `reused` runs had been made before."""

    comparison: Comparison
    repetitions: int
    workloads: tuple[WorkloadResults, ...]
    failed: Mapping[str, str]
    reused: int
    command: str


@cache
def published_facts() -> Mapping[str, Any]:
    return tomllib.loads((files("penstock.bench") / "published.toml").read_text())


def compare(comparison: Comparison, store: Path | None, command: str, progress: Progress, processes: int | None = None) -> Results:
    """Run what is not stored yet, and return the results; a run that fails is left out of its row and named."""
    cells = {
        f"{workload.name}, {label}, {repetition + 1}": ComparedRun(workload=workload, label=label, repetition=repetition)
        for workload in comparison.workloads
        for label in (*workload.policies, *([] if workload.known is None else [ORACLE]))
        for repetition in range(len(workload.loads))
    }
    found = run_cells(cells, ComparedReport, store, processes=processes, progress=progress)
    if not found.reports:
        raise UserMistake(f"bench: no run has ended: {next(iter(found.failed.values()), 'there was none')}")
    workloads = []
    for workload in comparison.workloads:
        made: dict[str, list[ComparedReport]] = {}
        for name, cell in cells.items():
            if cell.workload is workload and name in found.reports:
                made.setdefault(cell.label, []).append(found.reports[name])
        reports = {label: tuple(each) for label, each in made.items()}
        workloads.append(WorkloadResults(workload=workload, rows=rows_of(workload, reports), reports=reports))
    repetitions = max(len(workload.loads) for workload in comparison.workloads)
    return Results(comparison=comparison, repetitions=repetitions, workloads=tuple(workloads), failed=found.failed, reused=found.reused, command=command)


def rows_of(workload: Workload, reports: Mapping[str, Sequence[ComparedReport]]) -> tuple[Row, ...]:
    """Return a row for each policy: the fewest seconds of violation first, then the fewest executor-seconds; the oracle is the last row."""
    static = reports.get(largest_static(reports), ())
    rows = [row_of(label, workload, of, static, reports.get(ORACLE, ())) for label, of in reports.items()]
    return tuple(sorted(rows, key=lambda row: (row.label == ORACLE, 0.0 if row.violation_s is None else round(row.violation_s.median), row.executor_s.median)))


def largest_static(labels: Iterable[str]) -> str:
    """
    >>> largest_static(["hpa(80)", "static(4)", "static(12)"])
    'static(12)'
    """
    return max((label for label in labels if label.startswith("static")), key=lambda label: labelled(label).parameters.get("executors", 0.0), default="")


def row_of(label: str, workload: Workload, of: Sequence[ComparedReport], static: Sequence[ComparedReport], oracle: Sequence[ComparedReport]) -> Row:
    failed = [recovery for each in of for recovery in each.recoveries if not recovery.kind.startswith("rescale")]
    rescaled = [recovery for each in of for recovery in each.recoveries if recovery.kind.startswith("rescale")]
    promised_s = workload.promises.recovery_s
    late = [each for each in failed if promised_s is not None and (each.by_lag_s is None or each.by_lag_s > promised_s)]

    def over(value: Callable[[ComparedReport], float | None]) -> Spread | None:
        return Spread.of(map(value, of))

    def sure(value: Callable[[ComparedReport], float]) -> Spread:
        known = sorted(map(value, of))
        return Spread(median=median(known), low=known[0], high=known[-1])

    return Row(
        label=label,
        executors=sure(lambda each: each.report.average_executors),
        executor_s=sure(lambda each: each.executor_s),
        of_static=relative(of, static),
        of_oracle=relative(of, oracle),
        of_static_with=with_profiling(of, static),
        rescales=sure(lambda each: float(each.report.rescales)),
        latency_minutes_s=sure(lambda each: each.latency_minutes_s),
        latency_p50_s=over(lambda each: None if each.report.latency is None else each.report.latency.p50_s),
        latency_p95_s=over(lambda each: None if each.report.latency is None else each.report.latency.p95_s),
        latency_p99_s=over(lambda each: None if each.report.latency is None else each.report.latency.p99_s),
        latency_max_s=sure(lambda each: each.latency_max_s),
        within_promise=over(lambda each: each.report.within_promise),
        violation_s=over(lambda each: each.report.violation_s),
        failures=len(failed),
        recovered_late=len(late),
        recoveries_s=tuple(each.by_lag_s for each in failed),
        recoveries_by_latency_s=tuple(each.by_latency_s for each in failed),
        recovery_error=middle(abs(each.predicted_s / each.by_lag_s - 1.0) for each in failed if each.predicted_s is not None and each.by_lag_s),
        rescale_recovery_error=middle(abs(each.predicted_s / each.by_lag_s - 1.0) for each in rescaled if each.predicted_s is not None and each.by_lag_s),
        forecast_wape=over(lambda each: each.forecast_wape),
        forecast_near_wape=over(lambda each: each.forecast_near_wape),
        capacity_error=middle(abs(known.error) for each in of for known in each.capacities),
    )


def middle(values: Iterable[float]) -> float | None:
    """
    >>> middle([3.0, 1.0, 2.0]), middle([])
    (2.0, None)
    """
    known = list(values)
    return median(known) if known else None


def relative(of: Sequence[ComparedReport], to: Sequence[ComparedReport]) -> Spread | None:
    """Return the executor-seconds relative to those of another policy in the same repetitions; None where a repetition failed."""
    return Spread.of(one.executor_s / other.executor_s for one, other in zip(of, to, strict=True)) if to and len(of) == len(to) else None


def with_profiling(of: Sequence[ComparedReport], static: Sequence[ComparedReport]) -> tuple[float, float, float] | None:
    """Return the median executor-seconds with profiling relative to the static ones, after the run, a day and a week of such runs."""
    if not static or len(of) != len(static) or any(each.profiling_executor_s is None for each in of):
        return None

    def after(lasts_s: float | None) -> float:
        shares = []
        for one, other in zip(of, static, strict=True):
            runs = 1.0 if lasts_s is None else lasts_s / one.report.duration_s
            shares.append((runs * one.executor_s + (one.profiling_executor_s or 0.0)) / (runs * other.executor_s))
        return median(shares)

    return after(None), after(DAY_S), after(WEEK_S)
