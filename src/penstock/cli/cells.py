"""Numbers and texts as they stand in the tables and views of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from penstock.core.domain.units import count_words, duration_words

UNKNOWN = "–"
BARS = "▁▂▃▄▅▆▇█"
NARROWEST, WIDEST = 8, 60
"""Columns that a sparkline takes."""


def count(rows: float | None) -> str:
    return UNKNOWN if rows is None else count_words(rows)


def seconds(value_s: float | None) -> str:
    """A measured time for people.

    >>> seconds(0.02), seconds(2.345), seconds(100), seconds(float("inf")), seconds(None)
    ('20 ms', '2.3 s', '1m40s', 'never', '–')
    """
    if value_s is None:
        return UNKNOWN
    if value_s == float("inf"):
        return "never"
    if value_s < 0.9995:
        return f"{value_s * 1000:.0f} ms"
    return f"{value_s:.1f} s" if value_s < 99.95 else duration_words(round(value_s))


def percent(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else f"{ratio:.0%}"


def clock_time(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s):%H:%M:%S}"


def day_time(at_s: float) -> str:
    return f"{datetime.fromtimestamp(at_s):%Y-%m-%d %H:%M:%S}"


def one_line(text: str) -> str:
    """The text without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def columns(*heads: str, left: int) -> Table:
    """A table without lines; its first `left` columns are names, the others numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, head in enumerate(heads):
        table.add_column(head, no_wrap=True, overflow="ellipsis", justify="left" if i < left else "right", max_width=24 if i == 0 else None)
    return table


def bar(busyness: float | None, width: int = 10) -> Text:
    if busyness is None:
        return Text(UNKNOWN)
    full = round(min(max(busyness, 0.0), 1.0) * width)
    return Text.assemble(("━" * full, "cyan"), ("┄" * (width - full), "bright_black"))


def sparkline(values: Sequence[float | None], width: int) -> str:
    """The last `width` values as bars from 0 to their highest; a gap where one is unknown.

    >>> sparkline([0, 1, None, 4, 8], 4)
    '▁ ▄█'
    """
    shown = values[-width:] if width > 0 else ()
    top = max((value for value in shown if value is not None), default=0) or 1
    return "".join(" " if value is None else BARS[max(0, round(value / top * len(BARS)) - 1)] for value in shown)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A sparkline as wide as there is room."""

    values: Sequence[float | None]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(sparkline(self.values, options.max_width), style="cyan", no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(NARROWEST, options.max_width), min(WIDEST, options.max_width))
