"""The common look of all pictures: colours, font, bare axes, and a figure with one pair of axes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

INK, MUTED, LINE, PAPER = "#1f2933", "#66707c", "#e3e7eb", "#fffffe"
ORANGE, BLUE, GREEN, VERMILION, PURPLE = "#e69f00", "#0072b2", "#009e73", "#d55e00", "#b5679a"
"""The colours of Okabe and Ito, safe for colour-blind readers."""

FONT = "DejaVu Sans"

THEME = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    LINE: "var(--line)",
    PAPER: "var(--paper)",
    ORANGE: "var(--orange)",
    BLUE: "var(--blue)",
    GREEN: "var(--green)",
    VERMILION: "var(--vermilion)",
    PURPLE: "var(--purple)",
}
"""Each colour's CSS variable, which follows the light or dark theme of a page."""

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

SIZE_IN = (8.0, 4.8)
DPI = 160


def chart(path: Path, title: str, across: str, up: str, draw: Callable[[Axes], None]) -> None:
    """Draw a figure with one pair of axes into a PNG or SVG file; labelled artists appear in the legend."""
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


def bare(axes: Axes) -> None:
    """Reduce axes to a base line and a light grid."""
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_linewidth(0.6)
    axes.grid(axis="y", color=LINE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, pad=4, labelsize=8)
    axes.yaxis.set_major_locator(MaxNLocator(4))
