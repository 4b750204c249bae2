"""The picture of an audit: the executor-hours that each job had and needed, and those of each policy with their error."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.dashboard.look import BLUE, GREEN, INK, LINE, MUTED, ORANGE, PAPER, STYLE, bare
from penstock.hindsight.audit import Audited

HOUR_S = 3600.0
WIDE_IN, BAR_IN, HEAD_IN = 9.0, 0.24, 0.9
DPI = 160


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
        error_s = found.error_worker_seconds(run)
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
