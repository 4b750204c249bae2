"""The page of a comparison: one HTML file with a table and figures for each workload, without scripts or external resources."""

from collections.abc import Callable, Iterable
from html import escape
from io import StringIO
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter, PercentFormatter

from penstock.bench.compared_run import SHARES
from penstock.bench.results import Results, WorkloadResults
from penstock.bench.summary import auto_targets, summary_of
from penstock.dashboard.comparison_table import COLUMNS, ComparisonTable, repetitions_words, summary_table, tables_of
from penstock.dashboard.look import INK, MUTED, ORANGE, PAPER, STYLE, VERMILION, bare
from penstock.dashboard.page import document, inlined

HOUR_S = 3600.0
WIDE_IN = 10.0
LEAST_S = 0.05
"""The lowest latency of a logarithmic axis."""
TABLE_STYLE = """
.scrolls { overflow-x: auto; } .scrolls table { width: auto; min-width: 100%; white-space: nowrap; font-variant-numeric: tabular-nums; }
.scrolls td + td, .scrolls th + th { text-align: right; } .oracle td { color: var(--muted); } code { font-size: .9em; }
"""


def comparison_page(results: Results) -> str:
    """Return the page."""
    title = f"Comparison: {results.comparison.name}"
    failed = items(f"{name}: {why}" for name, why in results.failed.items())
    differs = items(results.comparison.why)
    meanings = "".join(f"<div><dt>{escape(each.heading)}</dt><dd>{escape(each.means)}</dd></div>" for each in COLUMNS if each.means)
    body = f"""<p class="when">{escape(results.comparison.says)}<br><code>{escape(results.command)}</code>, {escape(repetitions_words(results))}</p>
{summary_section(results) if results.comparison.summarised else ""}
{"".join(section(each, drawn=not results.comparison.summarised) for each in results.workloads)}
{f"<h2>Where it differs from the paper, and why</h2>{differs}" if differs else ""}
{f"<h2>Runs that failed</h2>{failed}" if failed else ""}
<h2>What the columns mean</h2>
<dl>{meanings}</dl>"""
    return document(title, body, TABLE_STYLE)


def items(lines: Iterable[str]) -> str:
    found = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{found}</ul>" if found else ""


def summary_section(results: Results) -> str:
    targets = items(each.words() for each in auto_targets(summary_of(results)))
    return f"""<h2>Over all jobs</h2><div class="scrolls">{table(summary_table(results))}</div>{targets}"""


def section(found: WorkloadResults, *, drawn: bool) -> str:
    tables = "".join(f'{f"<h3>{escape(each.title)}</h3>" if each.title else ""}<div class="scrolls">{table(each)}</div>\n' for each in tables_of(found))
    figure = inlined(svg(found), f"{found.workload.name}: load, executors, latency, cost and recoveries by policy") if drawn else ""
    return f"""<h2>{escape(found.workload.name)}</h2>
{tables}
{f'<figure class="picture">{figure}</figure>' if drawn else ""}
"""


def table(of: ComparisonTable) -> str:
    heads = "".join(f"<th>{escape(each)}</th>" for each in of.headings)
    rows = "".join(f'<tr class="{"oracle" if row[0] == "oracle" else ""}">{"".join(f"<td>{escape(cell)}</td>" for cell in row)}</tr>\n' for row in of.rows)
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def svg(found: WorkloadResults) -> str:
    """Return the figures of a workload, drawn from the first repetition."""
    with matplotlib.rc_context(STYLE), StringIO() as text:
        figure_of(found).savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return text.getvalue()


def figure_of(found: WorkloadResults) -> Figure:
    fails = any(row.failures for row in found.rows)
    figure = Figure(figsize=(WIDE_IN, 9.6 if fails else 7.6), facecolor=PAPER, layout="constrained")
    names: Any = [["load", "load"], ["executors", "executors"], ["ecdf", "bars"], ["cost", "recovery" if fails else "cost"]]
    panels = figure.subplot_mosaic(names, height_ratios=[0.8, 1.3, 1.2, 1.2])
    drawn: dict[str, Callable[[Axes, WorkloadResults], None]] = {each.__name__: each for each in (load, executors, ecdf, bars, cost, recovery)}
    for name, axes in panels.items():
        axes.set_facecolor(PAPER)
        bare(axes)
        drawn[name](axes, found)
    panels["executors"].legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    return figure


def titled(axes: Axes, title: str, across: str = "") -> None:
    axes.set_title(title, loc="left", fontsize=9.5, color=INK)
    axes.set_xlabel(across, color=MUTED, fontsize=8)


def colours(found: WorkloadResults) -> dict[str, object]:
    """Return a colour for each policy; the oracle is grey."""
    labels = [label for label in found.reports if label != "oracle"]
    many = {label: matplotlib.colormaps["turbo"](0.05 + 0.9 * place / max(1, len(labels) - 1)) for place, label in enumerate(labels)}
    return {**many, "oracle": MUTED}


def load(axes: Axes, found: WorkloadResults) -> None:
    first = next(iter(found.reports.values()))[0].line
    hours = (np.arange(len(first.arriving_rows_per_s)) + 0.5) * first.part_s / HOUR_S
    axes.plot(hours, first.arriving_rows_per_s, color=ORANGE, linewidth=1.4)
    for fault in found.workload.faults:
        axes.axvline(fault.at_s / HOUR_S, color=VERMILION, linewidth=1.0, linestyle=(0, (2, 2)), zorder=0.5)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylim(0, None)
    titled(axes, "Load, rows/s" + (" (failures dashed)" if found.workload.faults else ""))


def executors(axes: Axes, found: WorkloadResults) -> None:
    for label, colour in colours(found).items():
        line = found.reports[label][0].line if label in found.reports else None
        if line is not None:
            hours = np.arange(len(line.executors)) * line.part_s / HOUR_S
            axes.plot(hours, line.executors, color=colour, linewidth=1.2, drawstyle="steps-post", label=label)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylim(0, None)
    titled(axes, "Executors", "hours")


def ecdf(axes: Axes, found: WorkloadResults) -> None:
    for label, colour in colours(found).items():
        if label in found.reports and found.reports[label][0].latency_at:
            axes.plot(np.maximum(found.reports[label][0].latency_at, LEAST_S), SHARES, color=colour, linewidth=1.2)
    promised_s = found.workload.promises.latency_p95_s
    if promised_s is not None:
        axes.axvline(promised_s, color=VERMILION, linewidth=1.1, linestyle=(0, (5, 3)))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    titled(axes, "Share of rows up to a latency", "latency, s")


def bars(axes: Axes, found: WorkloadResults) -> None:
    """Draw the executor-seconds relative to the largest static deployment, or those of the largest row where there is none."""
    most = max(row.executor_s.median for row in found.rows)
    shares = [(row.of_static or row.executor_s, 1.0 if row.of_static else most) for row in found.rows]
    heights = np.array([each.median / of for each, of in shares])
    low, high = (np.array([getattr(each, end) / of for each, of in shares]) for end in ("low", "high"))
    coloured = colours(found)
    axes.barh(range(len(heights)), heights, color=[coloured[row.label] for row in found.rows], height=0.7, xerr=[heights - low, high - heights], ecolor=INK)
    axes.set_yticks(range(len(heights)), labels=[row.label for row in found.rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    titled(axes, "Executor-seconds relative to static")


def cost(axes: Axes, found: WorkloadResults) -> None:
    """Draw the executor-hours that have been spent, profiling included."""
    for label, colour in colours(found).items():
        if label not in found.reports:
            continue
        run = found.reports[label][0]
        hours = np.concatenate(([0.0], np.cumsum(np.asarray(run.line.executors) * run.line.part_s / HOUR_S)))
        begun = (run.profiling_executor_s or 0.0) / HOUR_S
        axes.plot(np.arange(len(hours)) * run.line.part_s / HOUR_S, begun + hours, color=colour, linewidth=1.2)
    axes.set_ylim(0, None)
    titled(axes, "Executor-hours spent, profiling included", "hours")


def recovery(axes: Axes, found: WorkloadResults) -> None:
    """Draw each recovery from a failure; one that did not end is drawn at the top."""
    known = [each for row in found.rows for each in row.recoveries_s if each is not None]
    top_s = 1.3 * max(known, default=1.0)
    coloured = colours(found)
    for row in found.rows:
        first = [each for each in found.reports[row.label][0].recoveries if not each.kind.startswith("rescale")]
        took_s = [top_s if each.by_lag_s is None else each.by_lag_s for each in first]
        axes.plot(range(1, len(first) + 1), took_s, color=coloured[row.label], marker="o", markersize=3.5, linewidth=0.8)
    if found.workload.promises.recovery_s is not None:
        axes.axhline(found.workload.promises.recovery_s, color=VERMILION, linewidth=1.1, linestyle=(0, (5, 3)))
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    titled(axes, "Recovery by failure, s (promise dashed)", "failure")
