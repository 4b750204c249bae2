"""The picture of a run: workload and throughput, lag, latency and executors over one time axis, and a lane of marked events."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import EngFormatter, MaxNLocator

from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.dashboard.look import BLUE, FONT, GREEN, INK, MUTED, ORANGE, PAPER, PURPLE, STYLE, VERMILION, bare
from penstock.dashboard.marks import Kind, Mark, marks, rows_for_labels
from penstock.dashboard.reading_columns import Array, Series, series
from penstock.dashboard.summary import NOTHING

MARK_COLOUR = {Kind.RESCALE: MUTED, Kind.CHANGE: PURPLE, Kind.RESTART: GREEN, Kind.FAILURE: VERMILION, Kind.TRUST: BLUE}

WIDTH_IN, LEFT_IN, RIGHT_IN = 10.0, 0.5, 0.12
PLOT_IN = WIDTH_IN - LEFT_IN - RIGHT_IN
PANEL_IN, HEAD_IN, TITLE_IN, FOOT_IN, LANE_ROW_IN = 1.2, 0.36, 0.34, 0.46, 0.165
LABEL_PT, LABEL_PAD_IN, LABEL_ROWS = 7.5, 0.05, 4
MOST_MARKS = 40
LONGEST_IN_MINUTES_S = 5 * 3600.0


def draw(readings: Sequence[Reading], events: Sequence[Event], promises: Promises, path: Path, title: str) -> None:
    kind = path.suffix.lower()
    if kind not in (".png", ".svg"):
        raise UserMistake(f"{path}: found the ending {path.suffix!r}, a picture ends in .png or .svg")
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == ".svg":
        path.write_text(svg(readings, events, promises, title), encoding="utf-8")
        return
    with matplotlib.rc_context(STYLE):
        _figure(readings, events, promises, title).savefig(path, format="png", dpi=200)


def svg(readings: Sequence[Reading], events: Sequence[Event], promises: Promises, title: str = "") -> str:
    """Return the SVG of a run; it is deterministic."""
    with matplotlib.rc_context(STYLE), StringIO() as text:
        _figure(readings, events, promises, title).savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        return text.getvalue()


def _figure(readings: Sequence[Reading], events: Sequence[Event], promises: Promises, title: str) -> Figure:
    if not readings:
        return _nothing(title)
    columns, found = series(readings, events), _few(marks(events))
    start_s = min([float(columns.at_s[0]), *(mark.at_s for mark in found)])
    last_s = max([float(columns.at_s[-1]), *(mark.at_s for mark in found)])
    in_minutes = last_s - start_s <= LONGEST_IN_MINUTES_S
    unit_s = 60.0 if in_minutes else 3600.0
    at = [(mark.at_s - start_s) / unit_s for mark in found]
    labels_in = [width_pt(mark.label, LABEL_PT) / 72 + 2 * LABEL_PAD_IN for mark in found]
    end = _end_with_room(max((last_s - start_s) / unit_s, 1 / 60), at, labels_in)
    rows = _rows([PLOT_IN / end * each for each in at], labels_in, found)
    figure, lane, panels = _layout(title, 1 + max((row for row in rows if row is not None), default=-1))
    x = (columns.at_s - start_s) / unit_s
    for fill, axes in zip(PANELS, panels, strict=True):
        bare(axes)
        axes.set_xlim(0, end)
        fill(axes, x, columns, promises)
        axes.tick_params(labelbottom=axes is panels[-1])
    panels[-1].set_xlabel(f"{'minutes' if in_minutes else 'hours'} since the start", color=MUTED, fontsize=8.5)
    lane.set_xlim(0, end)
    for mark, at_x, row in zip(found, at, rows, strict=True):
        _draw_mark(mark, at_x, row, lane, panels)
    return figure


def _layout(title: str, lane_rows: int) -> tuple[Figure, Axes, list[Axes]]:
    """Return a figure with its title, a lane as high as its labels need, and the panels below."""
    title_in = TITLE_IN if title else 0.05
    lane_in = lane_rows * LANE_ROW_IN
    height_in = title_in + lane_in + len(PANELS) * (HEAD_IN + PANEL_IN) + FOOT_IN
    figure = Figure(figsize=(WIDTH_IN, height_in), facecolor=PAPER)
    figure.text(LEFT_IN / WIDTH_IN, 1 - 0.12 / height_in, title, fontsize=12, fontweight="bold", va="top")

    def axes(top_in: float, tall_in: float) -> Axes:
        return figure.add_axes((LEFT_IN / WIDTH_IN, 1 - (top_in + tall_in) / height_in, PLOT_IN / WIDTH_IN, tall_in / height_in), facecolor="none")

    lane = axes(title_in, max(lane_in, 0.01))
    lane.set_axis_off()
    lane.set_ylim(0, max(lane_rows, 1))
    tops = (title_in + lane_in + HEAD_IN + i * (HEAD_IN + PANEL_IN) for i in range(len(PANELS)))
    return figure, lane, [axes(top_in, PANEL_IN) for top_in in tops]


def _draw_mark(mark: Mark, x: float, row: int | None, lane: Axes, panels: Sequence[Axes]) -> None:
    style: dict[str, Any] = {"color": MARK_COLOUR[mark.kind], "linewidth": 0.8, "alpha": 0.55}
    for axes in panels:
        axes.axvline(x, zorder=0.5, **style)
    if row is not None:
        lane.plot([x, x], [0, row + 0.9], clip_on=False, **style)
        lane.annotate(mark.label, (x, row + 0.45), (3, 0), textcoords="offset points", va="center", fontsize=LABEL_PT, color=MARK_COLOUR[mark.kind])


def _few(found: list[Mark]) -> list[Mark]:
    """Drop the rescales if there are too many marks."""
    return found if len(found) <= MOST_MARKS else [mark for mark in found if mark.kind is not Kind.RESCALE]


def _rows(starts_in: Sequence[float], widths_in: Sequence[float], found: Sequence[Mark]) -> list[int | None]:
    """Return a row for each label; without room, rescales have no label, as the last panel shows them."""
    rows = rows_for_labels(starts_in, widths_in, LABEL_ROWS)
    if None not in rows:
        return rows
    kept = [i for i, mark in enumerate(found) if mark.kind is not Kind.RESCALE]
    few = rows_for_labels([starts_in[i] for i in kept], [widths_in[i] for i in kept], LABEL_ROWS)
    return [dict(zip(kept, few, strict=True)).get(i) for i in range(len(found))]


def _end_with_room(end: float, at: Sequence[float], widths_in: Sequence[float]) -> float:
    """Return the end of the time axis that leaves room for the last label."""
    return max([end, *(x * PLOT_IN / (PLOT_IN - width_in) for x, width_in in zip(at, widths_in, strict=True))])


def _nothing(title: str) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 2), facecolor=PAPER)
    figure.text(LEFT_IN / WIDTH_IN, 0.94, title, fontsize=12, fontweight="bold", va="top")
    figure.text(0.5, 0.45, NOTHING, fontsize=11, color=MUTED, ha="center", va="center")
    return figure


def workload(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    _head(axes, "Workload and throughput", "rows/s")
    _line(axes, x, columns.arrival_rows_per_s, ORANGE, "arriving", linewidth=2)
    _line(axes, x, columns.throughput_rows_per_s, BLUE, "processed")
    _rows_axis(axes, columns.arrival_rows_per_s, columns.throughput_rows_per_s)


def lag(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    """Draw the lag, and its excess over what micro-batches always have."""
    _head(axes, "Lag", "rows")
    axes.fill_between(x, columns.lag_rows, color=BLUE, alpha=0.15, linewidth=0)
    _line(axes, x, columns.lag_rows, BLUE, "all")
    _line(axes, x, columns.excess_lag_rows, PURPLE, "excess")
    _rows_axis(axes, columns.lag_rows, columns.excess_lag_rows)


def latency(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    """Draw the latency from arrival to commit, and the promise."""
    promised_s = promises.latency_p95_s
    top_s = _top(columns.p99_s, np.array([promised_s or 0.0]))
    scale, unit = (1000.0, "ms") if 0 < top_s < 1 else (1.0, "s")
    p50, p95, p99 = columns.p50_s * scale, columns.p95_s * scale, columns.p99_s * scale
    _head(axes, "Latency", unit)
    if np.isfinite(p99).any():
        axes.fill_between(x, p50, p99, color=GREEN, alpha=0.15, linewidth=0, label="p50 to p99")
    for edge in (p50, p99):
        _line(axes, x, edge, GREEN, None, linewidth=0.7, alpha=0.6)
    _line(axes, x, p95, GREEN, "p95")
    if promised_s is not None:
        axes.axhline(promised_s * scale, color=VERMILION, linewidth=1.1, linestyle=(0, (5, 3)), label=f"promised: p95 ≤ {duration_words(promised_s)}")
        axes.fill_between(x, promised_s * scale, p95, where=p95 > promised_s * scale, interpolate=True, color=VERMILION, alpha=0.3, linewidth=0)
    _from_zero(axes, top_s * scale)
    _legend(axes)


def executors(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    """Draw running and requested executors, and those the policy wants if they differ (in shadow, or while a proposal is open)."""
    _head(axes, "Executors", "")
    axes.fill_between(x, columns.executors_running, step="post", color=BLUE, alpha=0.2, linewidth=0)
    _line(axes, x, columns.executors_running, BLUE, "running", drawstyle="steps-post")
    _line(axes, x, columns.executors_requested, INK, "requested", drawstyle="steps-post", linewidth=1, linestyle=(0, (2, 1.5)))
    if np.any(np.isfinite(columns.executors_decided) & (columns.executors_decided != columns.executors_requested)):
        _line(axes, x, columns.executors_decided, PURPLE, "wanted by the policy", drawstyle="steps-post", linewidth=1.2)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    _from_zero(axes, _top(columns.executors_running, columns.executors_requested, columns.executors_decided))
    _legend(axes)


def width_pt(text: str, size_pt: float, weight: str = "normal") -> float:
    return float(TextPath((0, 0), text, size=size_pt, prop=FontProperties(family=FONT, weight=weight)).get_extents().width)


def _head(axes: Axes, name: str, unit: str) -> None:
    above: Any = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points", "va": "baseline"}
    axes.annotate(name, xytext=(0, 6), fontsize=9.5, fontweight="bold", color=INK, **above)
    axes.annotate(unit, xytext=(width_pt(name, 9.5, "bold") + 6, 6), fontsize=8.5, color=MUTED, **above)


def _line(axes: Axes, x: Array, y: Array, colour: str, label: str | None, **style: Any) -> None:
    """Draw a line that breaks at unknown values; fewer than three points are dots."""
    if np.isfinite(y).any():
        dots = {"marker": "o", "markersize": 3} if len(x) < 3 else {}
        axes.plot(x, y, color=colour, label=label, **{"linewidth": 1.6, "solid_joinstyle": "round", **dots, **style})


def _rows_axis(axes: Axes, *columns: Array) -> None:
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    _from_zero(axes, _top(*columns))
    _legend(axes)


def _legend(axes: Axes) -> None:
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, frameon=False, fontsize=8.5, handlelength=1.6, columnspacing=1.4, borderaxespad=0.1)
    else:
        axes.set_yticks([])
        axes.text(0.5, 0.5, "unknown", transform=axes.transAxes, ha="center", va="center", color=MUTED)


def _from_zero(axes: Axes, top: float) -> None:
    axes.set_ylim(0, top * 1.08 if top > 0 else 1)


def _top(*columns: Array) -> float:
    return float(np.fmax.reduce(np.concatenate(columns), initial=0.0))


PANELS = (workload, lag, latency, executors)
