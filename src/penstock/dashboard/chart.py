"""One pair of axes in the look of our pictures: what was measured, and what a model makes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from penstock.dashboard.palette import INK, LINE, MUTED, PAPER
from penstock.dashboard.picture import STYLE

SIZE_IN = (8.0, 4.8)
DPI = 160


def chart(path: Path, title: str, across: str, up: str, draw: Callable[[Axes], None]) -> None:
    """Draw into a PNG or an SVG, as the path ends; `draw` gets the axes, everything labelled there comes into the legend."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE_IN, facecolor=PAPER, layout="constrained")
        axes = figure.subplots()
        axes.set_facecolor(PAPER)
        axes.set_title(title, loc="left", color=INK, fontsize=11, pad=12)
        axes.set_xlabel(across, color=MUTED)
        axes.set_ylabel(up, color=MUTED)
        axes.grid(axis="y", color=LINE, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.tick_params(length=0)
        draw(axes)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(frameon=False, loc="best")
        figure.savefig(path, dpi=DPI)
