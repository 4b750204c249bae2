"""Pictures of simulated runs (load, executors and latency over one time axis, and the failures) and of an audit (executor-hours as bars)."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.models.arrays import Floats
from penstock.dashboard.look import BLUE, DPI, GREEN, INK, LINE, MUTED, ORANGE, PAPER, STYLE, VERMILION, bare
from penstock.hindsight.audit import HOUR_S, Audited
from penstock.wiring.simulation import Simulated

SIZE_IN = (10.0, 7.6)
MOST_POINTS = 1500
LONGEST_IN_MINUTES_S = 2 * 3600.0
FAR = 100.0
"""A latency axis that spans more than this factor has labels at powers of ten only."""
SHORTEST_S = 1e-3
"""The lowest latency of the logarithmic axis."""


def draw_simulated(path: Path, name: str, runs: Sequence[Simulated]) -> None:
    """Draw one run with its throughput and estimated capacity, or several runs of one load."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE_IN, facecolor=PAPER, layout="constrained")
        panels = figure.subplots(3, 1, sharex=True)
        policies = runs[0].policy if len(runs) == 1 else f"{len(runs)} policies"
        figure.suptitle(f"{policies} on {name}", x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
        for axes in panels:
            axes.set_facecolor(PAPER)
            bare(axes)
        load(panels[0], runs)
        executors(panels[1], runs)
        latency(panels[2], runs)
        panels[-1].set_xlabel("minutes" if unit_s(runs[0]) == 60.0 else "hours", color=MUTED)
        for axes in panels:
            for failure in runs[0].failures:
                axes.axvline(along_of(runs[0], failure.at_s), color=VERMILION, linewidth=1.0, linestyle=(0, (2, 2)), zorder=0.5)
            axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
        figure.savefig(path, dpi=DPI)


def load(axes: Axes, runs: Sequence[Simulated]) -> None:
    """Draw the arrivals; for a single run also its throughput and estimated capacity."""
    first = runs[0]
    seconds, along = first.record.seconds(), times(first)
    if len(runs) == 1:
        decided = [each for each in first.events if isinstance(each, Decided) and each.capacity_rows_per_s is not None]
        axes.plot(along, folded(spread(seconds.finished_rows), np.mean), color=BLUE, linewidth=1.0, label="processed")
        at = [along_of(first, each.at_s) for each in decided]
        capacity = [each.capacity_rows_per_s or 0.0 for each in decided]
        if decided:
            axes.plot(at, capacity, color=MUTED, linewidth=1.1, linestyle=(0, (5, 3)), drawstyle="steps-post", label="estimated capacity")
    axes.plot(along, folded(seconds.arrived_rows, np.mean), color=ORANGE, linewidth=1.4, label="arriving")
    axes.set_title("Load, rows/s", loc="left", fontsize=9.5, color=INK)
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylim(0, None)


def executors(axes: Axes, runs: Sequence[Simulated]) -> None:
    for run, colour in zip(runs, colours(len(runs)), strict=True):
        axes.plot(times(run), folded(run.record.seconds().executors, np.max), color=colour, linewidth=1.2, drawstyle="steps-post", label=run.policy)
    axes.set_title("Executors", loc="left", fontsize=9.5, color=INK)
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_ylim(0, 1.08 * max(float(run.record.seconds().executors.max()) for run in runs))


def latency(axes: Axes, runs: Sequence[Simulated]) -> None:
    """Draw the maximum latency of each stretch, so that no failure is hidden; the line continues where no row ends."""
    for run, colour in zip(runs, colours(len(runs)), strict=True):
        worst_s = folded(run.record.seconds().latency_s, np.max)
        ended = worst_s > 0
        label = "worst second" if len(runs) == 1 else run.policy
        axes.plot(times(run)[ended], np.maximum(worst_s[ended], SHORTEST_S), color=colour, linewidth=1.0, label=label)
    promised_s = runs[0].setup.terms.promises.latency_p95_s
    if promised_s is not None:
        axes.axhline(promised_s, color=VERMILION, linewidth=1.1, linestyle=(0, (5, 3)), label="promised")
    axes.set_title("Latency, s", loc="left", fontsize=9.5, color=INK)
    axes.set_yscale("log")
    lowest, highest = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if highest > FAR * lowest else (1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", length=0)


def unit_s(run: Simulated) -> float:
    return 60.0 if len(run.record) <= LONGEST_IN_MINUTES_S else 3600.0


def along_of(run: Simulated, at_s: float) -> float:
    return (at_s - run.record.start_s) / unit_s(run)


def times(run: Simulated) -> Floats:
    """Return the middle of each stretch of `folded`."""
    return folded(np.arange(0.5, len(run.record), dtype=np.float64) / unit_s(run), np.mean)


def folded(values: Floats, how: Callable[..., Floats]) -> Floats:
    """Reduce stretches of equal length to one point each; an incomplete stretch at the end is dropped.

    >>> folded(np.arange(3000.0), np.max)[:2].tolist()
    [1.0, 3.0]
    """
    each = -(-len(values) // MOST_POINTS)
    return how(values[: len(values) // each * each].reshape(-1, each), axis=1)


def spread(rows: Floats) -> Floats:
    """Spread the rows of a second over all seconds since the last one that had some, as a batch ends at once but is processed all the time.

    Seconds after the last batch are NaN.

    >>> spread(np.array([0.0, 0.0, 30.0, 5.0, 0.0, 8.0, 0.0])).tolist()
    [10.0, 10.0, 10.0, 5.0, 4.0, 4.0, nan]
    """
    ends = np.flatnonzero(rows > 0)
    lengths = np.diff(ends, prepend=-1)
    return np.concatenate((np.repeat(rows[ends] / lengths, lengths), np.full(len(rows) - int(lengths.sum()), np.nan)))


def colours(count: int) -> list[tuple[float, ...] | str]:
    return [GREEN] if count == 1 else [matplotlib.colormaps["turbo"](0.05 + 0.9 * number / (count - 1)) for number in range(count)]


WIDE_IN, BAR_IN, HEAD_IN = 9.0, 0.24, 0.9


def draw_audited(path: Path, audited: Sequence[Audited]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    heights = [HEAD_IN + BAR_IN * (2 + len(each.what_if.runs)) for each in audited]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDE_IN, sum(heights)), facecolor=PAPER, layout="constrained")
        panels = figure.subplots(len(audited), 1, squeeze=False, height_ratios=heights)
        for axes, each in zip(panels[:, 0], audited, strict=True):
            axes.set_facecolor(PAPER)
            bare(axes)
            axes.grid(visible=False, axis="y")
            axes.grid(axis="x", color=LINE, linewidth=0.7)
            bars(axes, each)
        figure.savefig(path, dpi=DPI)


def bars(axes: Axes, each: Audited) -> None:
    """Draw the bars of a job. Policies are scaled to the length of the audit, as they begin later, when the job had caught up after its start."""
    found, duration_s = each.what_if, each.ran.duration_s
    named, error = [("had", each.had_s / HOUR_S, ORANGE), ("needed, at least", each.needed_s / HOUR_S, BLUE)], [0.0, 0.0]
    for run in found.runs:
        error_s = found.error_executor_s(run)
        named.append((run.policy if error_s is not None else f"{run.policy} ± ?", run.report.average_executors * duration_s / HOUR_S, GREEN))
        error.append((error_s or 0.0) / run.report.duration_s * duration_s / HOUR_S)
    places = range(len(named))
    axes.barh(
        places, [hours for _, hours, _ in named], color=[colour for *_, colour in named], height=0.7, xerr=error, error_kw={"ecolor": INK, "elinewidth": 1.0}
    )
    axes.set_yticks(places, labels=[name for name, *_ in named])
    axes.invert_yaxis()
    axes.set_xlim(0, None)
    axes.set_title(f"{each.name}, executor-hours", loc="left", fontsize=9.5, color=INK)
    axes.tick_params(colors=MUTED, length=0)
