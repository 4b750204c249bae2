"""The picture of a run: workload and throughput, lag, latency and executors over one time axis, and a lane for what happened."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.core.domain.events.event import Event
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.dashboard.marks import Kind, Mark, marks, rows_for_labels
from penstock.dashboard.palette import BLUE, FONT, GREEN, INK, MUTED, PAPER, PURPLE, VERMILION
from penstock.dashboard.panels import bare, executors, lag, latency, width_pt, workload
from penstock.dashboard.series import series
from penstock.dashboard.summary import NOTHING

PANELS = (workload, lag, latency, executors)
MARK_COLOUR = {Kind.RESCALE: MUTED, Kind.CHANGE: PURPLE, Kind.RESTART: GREEN, Kind.FAILURE: VERMILION, Kind.TRUST: BLUE}

WIDTH_IN, LEFT_IN, RIGHT_IN = 10.0, 0.5, 0.12
PLOT_IN = WIDTH_IN - LEFT_IN - RIGHT_IN
PANEL_IN, HEAD_IN, TITLE_IN, FOOT_IN, LANE_ROW_IN = 1.2, 0.36, 0.34, 0.46, 0.165
LABEL_PT, LABEL_PAD_IN, LABEL_ROWS = 7.5, 0.05, 4
MOST_MARKS = 40
LONGEST_IN_MINUTES_S = 5 * 3600.0

STYLE: Any = {
    "font.family": FONT,
    "font.size": 9,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "legend.labelcolor": MUTED,
    "text.parse_math": False,
    "svg.hashsalt": "penstock",
}


def draw(readings: Sequence[Reading], events: Sequence[Event], promises: Promises, path: Path, title: str) -> None:
    """Draw a run into a PNG or an SVG, as the path ends."""
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
    """The run as the text of an SVG, the same for the same run."""
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
    labels_in = [_width_in(mark.label) for mark in found]
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
    """A figure with its title, a lane as high as its labels need, and the panels below."""
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
    """The marks, without the rescales where those are so many that they would hide the rest."""
    return found if len(found) <= MOST_MARKS else [mark for mark in found if mark.kind is not Kind.RESCALE]


def _rows(starts_in: Sequence[float], widths_in: Sequence[float], found: Sequence[Mark]) -> list[int | None]:
    """A row for each label; where there are too many, rescales go without, as the last panel shows them anyway."""
    rows = rows_for_labels(starts_in, widths_in, LABEL_ROWS)
    if None not in rows:
        return rows
    kept = [i for i, mark in enumerate(found) if mark.kind is not Kind.RESCALE]
    few = rows_for_labels([starts_in[i] for i in kept], [widths_in[i] for i in kept], LABEL_ROWS)
    return [dict(zip(kept, few, strict=True)).get(i) for i in range(len(found))]


def _end_with_room(end: float, at: Sequence[float], widths_in: Sequence[float]) -> float:
    """Where the time axis ends so that the label of the last mark has room."""
    return max([end, *(x * PLOT_IN / (PLOT_IN - width_in) for x, width_in in zip(at, widths_in, strict=True))])


def _width_in(label: str) -> float:
    return width_pt(label, LABEL_PT) / 72 + 2 * LABEL_PAD_IN


def _nothing(title: str) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 2), facecolor=PAPER)
    figure.text(LEFT_IN / WIDTH_IN, 0.94, title, fontsize=12, fontweight="bold", va="top")
    figure.text(0.5, 0.45, NOTHING, fontsize=11, color=MUTED, ha="center", va="center")
    return figure
