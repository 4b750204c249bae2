"""The panels of the picture: each draws one question's answer into its axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.ticker import EngFormatter, MaxNLocator

from penstock.core.domain.job import Promises
from penstock.core.domain.units import duration_words
from penstock.dashboard.palette import BLUE, FONT, GREEN, INK, LINE, MUTED, ORANGE, PURPLE, VERMILION
from penstock.dashboard.series import Array, Series


def workload(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    """What arrives against what is processed."""
    _head(axes, "Workload and throughput", "rows/s")
    _line(axes, x, columns.arrival_rows_per_s, ORANGE, "arriving", linewidth=2)
    _line(axes, x, columns.throughput_rows_per_s, BLUE, "processed")
    _rows_axis(axes, columns.arrival_rows_per_s, columns.throughput_rows_per_s)


def lag(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    """How far the job is behind, and how much of it is more than every micro-batch leaves."""
    _head(axes, "Lag", "rows")
    axes.fill_between(x, columns.lag_rows, color=BLUE, alpha=0.15, linewidth=0)
    _line(axes, x, columns.lag_rows, BLUE, "all")
    _line(axes, x, columns.excess_lag_rows, PURPLE, "beyond what is healthy")
    _rows_axis(axes, columns.lag_rows, columns.excess_lag_rows)


def latency(axes: Axes, x: Array, columns: Series, promises: Promises) -> None:
    """Arrival to commit, against the promise."""
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
    """What runs against what was asked for, and what the policy wants where that is something else: in shadow, or while a proposal waits."""
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
    """How wide a text will be, in points."""
    return float(TextPath((0, 0), text, size=size_pt, prop=FontProperties(family=FONT, weight=weight)).get_extents().width)


def bare(axes: Axes) -> None:
    """Axes reduced to a base line and a light grid."""
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_linewidth(0.6)
    axes.grid(axis="y", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, pad=4, labelsize=8)
    axes.yaxis.set_major_locator(MaxNLocator(4))


def _head(axes: Axes, name: str, unit: str) -> None:
    above: Any = {"xy": (0, 1), "xycoords": "axes fraction", "textcoords": "offset points", "va": "baseline"}
    axes.annotate(name, xytext=(0, 6), fontsize=9.5, fontweight="bold", color=INK, **above)
    axes.annotate(unit, xytext=(width_pt(name, 9.5, "bold") + 6, 6), fontsize=8.5, color=MUTED, **above)


def _line(axes: Axes, x: Array, y: Array, colour: str, label: str | None, **style: Any) -> None:
    """A line that breaks where nothing is known; too few points for a line are dots."""
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
