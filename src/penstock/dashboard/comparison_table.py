"""The table of a comparison, as terminal, page and Markdown show it: a heading and the text of each cell."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.bench.results import Results, Row, Spread, WorkloadResults

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
    """The columns that have content, and the cells of each row."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def table_of(found: WorkloadResults) -> ComparisonTable:
    columns = tuple(column for column in COLUMNS if any(column.text(row) for row in found.rows))
    return ComparisonTable(columns=columns, rows=tuple(tuple(column.text(row) for column in columns) for row in found.rows))


def published_of(found: WorkloadResults) -> ComparisonTable | None:
    """Return our numbers beside those of the paper, policy by policy; None where the paper has none."""
    ours, rows = {row.label: row for row in found.rows}, list[tuple[str, ...]]()
    for label, facts in found.published.items():
        row = ours.get(label)
        if row is None:
            continue
        rows.append(
            (label, *pair(row.executors.median, facts, "average_executors", ".1f"), *pair(row.latency_minutes_s.median, facts, "latency_ms", ",.1f", 1e-3))
        )
    if not rows:
        return None
    headings = ("policy", "executors", "paper's", "p95 by minute s", "paper's")
    return ComparisonTable(columns=tuple(Column(heading=each, text=lambda row: "", means="") for each in headings), rows=tuple(rows))


def pair(ours: float, facts: dict[str, Any], name: str, form: str, scale: float = 1.0) -> tuple[str, str]:
    """Return our number and the paper's."""
    return format(ours, form), format(scale * facts[name], form) if name in facts else NOTHING


def markdown_of(results: Results) -> str:
    """Return the report as Markdown."""
    parts = [f"# Comparison: {results.comparison.name}", results.comparison.says, f"`{results.command}`, {repetitions_words(results)}"]
    for found in results.workloads:
        parts += [f"## {found.workload.name}", table_text(table_of(found))]
        published = published_of(found)
        if published is not None:
            parts += ["Beside the paper:", table_text(published)]
    parts += ["\n".join(f"- {name}: {why}" for name, why in results.failed.items())] if results.failed else []
    return "\n\n".join([*parts, "\n".join(f"- **{each.heading}**: {each.means}" for each in COLUMNS if each.means)]) + "\n"


def table_text(table: ComparisonTable) -> str:
    lines: list[Sequence[str]] = [[each.heading for each in table.columns], ["---", *["---:"] * (len(table.columns) - 1)], *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def repetitions_words(results: Results) -> str:
    return "one run of each" if results.repetitions == 1 else f"median and range of {results.repetitions} runs of each, the same seeds for all"
