"""The table of a comparison, as terminal, page and Markdown show it: a heading and the text of each cell."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from penstock.bench.results import Results, Row, Spread, WorkloadResults
from penstock.bench.summary import auto_targets, summary_of
from penstock.dashboard.beside_paper import beside_paper

NOTHING = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    heading: str
    text: Callable[[Row], str]
    means: str


def spread(of: Spread | None, form: str, scale: float = 1.0) -> str:
    """Return the median, and the range where repetitions differ.

    >>> spread(Spread(median=2.0, low=1.5, high=2.5), ",.1f"), spread(Spread(median=0.5, low=0.5, high=0.5), ".0%"), spread(None, ".0%")
    ('2.0 (1.5–2.5)', '50%', '')
    """
    if of is None:
        return NOTHING
    low, middle, high = (format(scale * each, form) for each in (of.low, of.median, of.high))
    return middle if low == high else f"{middle} ({low}–{high})"


def share(of: float | None) -> str:
    return NOTHING if of is None else f"{of:.0%}"


def recovered(row: Row) -> str:
    """Return the median of the recoveries, and how many took longer than promised."""
    if not row.failures:
        return NOTHING
    known = sorted(float("inf") if each is None else each for each in row.recoveries_s)
    middle = known[len(known) // 2]
    return f"{'never' if middle == float('inf') else f'{middle:,.0f}'}; {row.recovered_late} of {row.failures} late"


COLUMNS = (
    Column(heading="policy", text=lambda row: row.label, means="its label"),
    Column(heading="executors", text=lambda row: spread(row.executors, ",.2f"), means="average over the run, downtime included"),
    Column(heading="of static", text=lambda row: spread(row.of_static, ".0%"), means="executor-seconds relative to the largest static deployment"),
    Column(heading="of oracle", text=lambda row: spread(row.of_oracle, ".0%"), means="executor-seconds relative to the oracle's"),
    Column(heading="broken s", text=lambda row: spread(row.violation_s, ",.0f"), means="seconds in which a promise was broken"),
    Column(heading="within", text=lambda row: spread(row.within_promise, ".1%"), means="share of rows within the promised latency"),
    Column(heading="rescales", text=lambda row: spread(row.rescales, ",.0f"), means="changes of the number of executors"),
    Column(heading="p95 by minute s", text=lambda row: spread(row.latency_minutes_s, ",.1f"), means="mean over the minutes of the p95 of the rows of each"),
    Column(heading="p50 s", text=lambda row: spread(row.latency_p50_s, ",.1f"), means="of all rows, downtime included; so are p95, p99 and the longest"),
    Column(heading="p95 s", text=lambda row: spread(row.latency_p95_s, ",.1f"), means=""),
    Column(heading="p99 s", text=lambda row: spread(row.latency_p99_s, ",.1f"), means=""),
    Column(heading="longest s", text=lambda row: spread(row.latency_max_s, ",.0f"), means=""),
    Column(heading="recovery s", text=recovered, means="median recovery from a failure, by the lag; how many took longer than promised"),
    Column(heading="recovery off", text=lambda row: share(row.recovery_error), means="median error of the predicted recoveries from failures"),
    Column(heading="rescale off", text=lambda row: share(row.rescale_recovery_error), means="the same for recoveries from rescales"),
    Column(heading="forecast off", text=lambda row: spread(row.forecast_wape, ".0%"), means="WAPE of the forecasts at the end of their horizon"),
    Column(heading="capacity off", text=lambda row: share(row.capacity_error), means="median error of the believed capacities of all numbers of executors"),
    Column(
        heading="with profiling",
        text=lambda row: NOTHING if row.of_static_with is None else " / ".join(f"{each:.0%}" for each in row.of_static_with),
        means="of static with the executor-seconds of profiling, after the run, a day and a week",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonTable:
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables_of(found: WorkloadResults) -> list[ComparisonTable]:
    """Return all tables of a workload that have content, the comparison first."""
    beside = ComparisonTable(title="Beside the paper", headings=("policy", "measure", "ours", "the paper's"), rows=tuple(beside_paper(found)))
    return [table for table in (comparison_of(found), beside, recoveries_of(found), capacities_of(found)) if table.rows]


def summary_table(results: Results) -> ComparisonTable:
    """Return the distances from the oracle over all workloads."""
    rows = [
        (row.kind, row.label, str(row.jobs), f"{row.of_oracle:.0%}", f"{row.of_oracle_90:.0%}", f"{row.broken_s:,.0f}", f"{row.beyond_s:,.0f}")
        for row in summary_of(results)
    ]
    headings = ("jobs", "policy", "number", "of oracle, median", "of oracle, 90 %", "broken s, mean", "beyond oracle")
    return ComparisonTable(title="Over all jobs", headings=headings, rows=tuple(rows))


def comparison_of(found: WorkloadResults) -> ComparisonTable:
    """Return the comparison: a row for each policy, and the columns that have content."""
    columns = tuple(column for column in COLUMNS if any(column.text(row) for row in found.rows))
    return ComparisonTable(
        title="", headings=tuple(each.heading for each in columns), rows=tuple(tuple(column.text(row) for column in columns) for row in found.rows)
    )


def recoveries_of(found: WorkloadResults) -> ComparisonTable:
    """Return each recovery from a failure, in the first repetition: by the lag, by the latency, and as predicted."""
    load, faults = found.workload.loads[0], found.workload.faults
    rows = []
    for label, reports in found.reports.items():
        failed = [each for each in reports[0].recoveries if not each.kind.startswith("rescale")]
        for words, value in (("by the lag", "by_lag_s"), ("by the latency", "by_latency_s"), ("predicted", "predicted_s")):
            cells = tuple(seconds(getattr(each, value), "not known" if value == "predicted_s" else "never") for each in failed)
            if set(cells) - {"not known"}:
                rows.append((label, words, *cells))
    headings = ("policy", "recovery s", *(f"{load.rate(each.at_s):,.0f}/s" for each in faults))
    return ComparisonTable(title="Recoveries from failures, by the load at each", headings=headings, rows=tuple(rows))


def capacities_of(found: WorkloadResults) -> ComparisonTable:
    """Return the median capacity that each number of executors was believed to have, in the first repetition, beside the true one."""
    known = {label: {each.executors: each for each in reports[0].capacities} for label, reports in found.reports.items() if reports[0].capacities}
    counts = sorted({executors for each in known.values() for executors in each})
    true = {executors: each.true_rows_per_s for of in known.values() for executors, each in of.items()}
    rows = [
        (label, *(f"{of[executors].believed_rows_per_s:,.0f} ({of[executors].error:+.0%})" if executors in of else NOTHING for executors in counts))
        for label, of in known.items()
    ]
    truth = [("the truth", *(f"{true[executors]:,.0f}" for executors in counts))] if rows else []
    return ComparisonTable(title="Believed capacity, rows/s, by executors", headings=("policy", *map(str, counts)), rows=(*truth, *rows))


def seconds(of: float | None, nothing: str) -> str:
    return nothing if of is None or of == float("inf") else f"{of:,.0f}"


def markdown_of(results: Results) -> str:
    """Return the report as Markdown."""
    parts = [f"# Comparison: {results.comparison.name}", results.comparison.says, f"`{results.command}`, {repetitions_words(results)}"]
    if results.comparison.summarised:
        parts += ["## Over all jobs", table_text(summary_table(results)), listed(each.words() for each in auto_targets(summary_of(results)))]
    for found in results.workloads:
        parts.append(f"## {found.workload.name}")
        for table in tables_of(found):
            parts += [f"### {table.title}", table_text(table)] if table.title else [table_text(table)]
    parts += ["## Where it differs from the paper, and why", listed(results.comparison.why)] if results.comparison.why else []
    parts += ["## Runs that failed", listed(f"{name}: {why}" for name, why in results.failed.items())] if results.failed else []
    return "\n\n".join([*parts, "## What the columns mean", listed(f"**{each.heading}**: {each.means}" for each in COLUMNS if each.means)]) + "\n"


def listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def table_text(table: ComparisonTable) -> str:
    lines: list[Sequence[str]] = [table.headings, ["---", *["---:"] * (len(table.headings) - 1)], *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def repetitions_words(results: Results) -> str:
    return "one run of each" if results.repetitions == 1 else f"median and range of {results.repetitions} runs of each, the same seeds for all"
