"""Our numbers beside those that a paper prints about the same experiment."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from penstock.bench.compared_run import SHARES, ComparedReport
from penstock.bench.results import Row, WorkloadResults, published_facts

NEAR_S = 1.5
"""A latency near 1,000 ms, as Phoebe's figure has it, is one up to this."""
Beside = tuple[str, str, str]
"""What is measured, our number, and the paper's."""


def beside_paper(found: WorkloadResults) -> Iterator[tuple[str, str, str, str]]:
    """Yield the policy, the measure, our number and the paper's; nothing where no paper has the experiment."""
    if found.workload.published is None:
        return
    paper, experiment = found.workload.published
    facts: Mapping[str, Any] = published_facts()[paper]
    rows = {row.label: row for row in found.rows}
    for label, said in facts[experiment].items():
        if isinstance(said, dict) and label in rows:
            yield from ((label, *each) for each in (*averages(rows[label], said), *savings(label, found, said), *phoebes(rows[label], found, said, facts)))
    if "model_errors" in facts and paper in rows:
        yield from ((paper, *each) for each in errors(rows[paper], facts["model_errors"]))


def averages(row: Row, said: Mapping[str, Any]) -> Iterator[Beside]:
    if "average_executors" in said:
        yield "executors", f"{row.executors.median:.1f}", f"{said['average_executors']:g}"
    if "latency_ms" in said:
        yield "mean p95 latency, s", f"{row.latency_minutes_s.median:,.1f}", f"{said['latency_ms'] / 1000:,.1f}"
    if "latency_max_ms" in said:
        yield "longest latency, s", f"{row.latency_max_s.median:,.0f}", f"{said['latency_max_ms'] / 1000:,.0f}"


def savings(label: str, found: WorkloadResults, said: Mapping[str, Any]) -> Iterator[Beside]:
    for words, key, with_profiling in (("", "saved_against", False), (", profiling included", "saved_against_with_profiling", True)):
        for other, share in said.get(key, {}).items():
            if other in found.reports:
                yield f"saved against {other}{words}", f"{saved(found.reports[label], found.reports[other], with_profiling):.0%}", f"{share:.0%}"


def saved(of: Sequence[ComparedReport], other: Sequence[ComparedReport], with_profiling: bool) -> float:
    """Return the median share of executor-seconds that a policy saves against another one."""

    def spent_s(each: ComparedReport) -> float:
        return each.executor_s + ((each.profiling_executor_s or 0.0) if with_profiling else 0.0)

    return median(1.0 - spent_s(one) / spent_s(two) for one, two in zip(of, other, strict=True))


def phoebes(row: Row, found: WorkloadResults, said: Mapping[str, Any], facts: Mapping[str, Any]) -> Iterator[Beside]:
    """Yield what Phoebe's table II and figure 6 have."""
    if "recovery_s" in said:
        above_s = facts["setting"]["recovery_above_s"]
        yield "recoveries, s", " ".join(within(each, above_s) for each in recoveries_s(found.reports[row.label])), " ".join(map(str, said["recovery_s"]))
    if "reconfigurations" in said:
        yield "reconfigurations", f"{row.rescales.median:.0f}", str(said["reconfigurations"])
    if "prediction_error" in said and row.recovery_error is not None:
        yield "error of predicted recoveries", f"{row.recovery_error:.1%}", f"{said['prediction_error']:.1%}"
    ours = dict(zip(("run_with_profiling", "day_with_profiling", "week_with_profiling"), row.of_static_with or (), strict=False))
    if row.of_static is not None:
        ours["run"] = row.of_static.median
    for key, share in said.get("saved_at", {}).items():
        if key in ours:
            yield f"saved against static, {key.replace('_', ' ')}", f"{1.0 - ours[key]:.0%}", f"{share:.0%}"
    near = median(share_up_to(each, NEAR_S) for each in found.reports[row.label])
    for key, words in (("share_near_1000_ms", ""), ("share_near_1000_ms_below", "below ")):
        if key in said:
            yield f"share of rows near 1 s (here up to {NEAR_S:g} s)", f"{near:.0%}", f"{words}{said[key]:.0%}"


def recoveries_s(reports: Sequence[ComparedReport]) -> list[float]:
    """Return the median over the repetitions of the recovery from each failure, judged by the latency as Phoebe does."""
    each = ([recovery for recovery in report.recoveries if not recovery.kind.startswith("rescale")] for report in reports)
    known = zip(*each, strict=True)
    return [median(float("inf") if one.by_latency_s is None else one.by_latency_s for one in of) for of in known]


def within(recovery_s: float, above_s: float) -> str:
    """
    >>> within(175.4, 360), within(400.0, 360)
    ('175', '6m+')
    """
    return f"{recovery_s:.0f}" if recovery_s <= above_s else f"{above_s / 60:g}m+"


def share_up_to(report: ComparedReport, latency_s: float) -> float:
    """Return the share of rows that took no longer."""
    return max((share for share, each_s in zip(SHARES, report.latency_at, strict=True) if each_s <= latency_s), default=0.0)


def errors(row: Row, said: Mapping[str, Any]) -> Iterator[Beside]:
    """Yield the errors of the models over all experiments (Daedalus 4.8) beside those of this one."""
    if row.capacity_error is not None:
        yield "error of believed capacity", f"{row.capacity_error:.1%}", f"below {said['capacity_typical_below']:.0%}"
    if row.forecast_near_wape is not None and row.forecast_wape is not None:
        near, whole = row.forecast_near_wape.median, row.forecast_wape.median
        yield "error of the forecast", f"{near:.1%} near, {whole:.1%} far", f"below {said['forecast_typical_below']:.0%}, near"
    if row.rescale_recovery_error is not None:
        least, most = said["recovery_after_rescale"]
        yield "error of recovery after rescales", f"{row.rescale_recovery_error:.0%}", f"{least:.0%} to {most:.0%}"
