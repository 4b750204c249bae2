"""Numbers, texts and tables as a terminal shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text

from penstock.core.domain.units import count_words, duration_words

UNKNOWN = "–"
BARS = "▁▂▃▄▅▆▇█"
NARROWEST, WIDEST = 8, 60
"""The width of a sparkline in columns."""


def count(rows: float | None) -> str:
    return UNKNOWN if rows is None else count_words(rows)


def seconds(value_s: float | None) -> str:
    """Format a measured time.

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
    """Return the text without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def columns(*heads: str, left: int, widest: int | None = 24) -> Table:
    """Return a table without lines; its first `left` columns are names, the first at most `widest` wide, the others numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, head in enumerate(heads):
        table.add_column(head, no_wrap=True, overflow="ellipsis", justify="left" if i < left else "right", max_width=None if i else widest)
    return table


def titled(title: str, name: str, heads: Sequence[str]) -> Table:
    """Return a table without lines, with a column of names and columns of numbers."""
    return Table(name, *(Column(head, justify="right") for head in heads), title=title, title_justify="left", box=None)


def pairs_of(rows: Iterable[tuple[str, str]], title: str | None = None) -> Table:
    """Return a table of names and values, without headings."""
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    for name, value in rows:
        table.add_row(Text(name), Text(value))
    return table


def bar(busyness: float | None, width: int = 10) -> Text:
    if busyness is None:
        return Text(UNKNOWN)
    full = round(min(max(busyness, 0.0), 1.0) * width)
    return Text.assemble(("━" * full, "cyan"), ("┄" * (width - full), "bright_black"))


def sparkline(values: Sequence[float | None], width: int) -> str:
    """Draw the last `width` values as bars from 0 to their highest; unknown values are gaps.

    >>> sparkline([0, 1, None, 4, 8], 4)
    '▁ ▄█'
    """
    shown = values[-width:] if width > 0 else ()
    top = max((value for value in shown if value is not None), default=0) or 1
    return "".join(" " if value is None else BARS[max(0, round(value / top * len(BARS)) - 1)] for value in shown)


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A sparkline that fills the width it gets."""

    values: Sequence[float | None]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(sparkline(self.values, options.max_width), style="cyan", no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(NARROWEST, options.max_width), min(WIDEST, options.max_width))


TEXT = 16
"""The narrowest column that a text is wrapped into."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A table of which nothing is cut, however narrow the terminal. Its first column has the names; only left-aligned texts are wrapped.

    If it is too wide, its headings wrap. If it is still too wide, it is split into several tables, each with the names: one for each of the
    `parts`, which are numbers of columns after the names, and more if a part is too wide.
    """

    table: Table
    parts: Sequence[int] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = [_Sized.of(column) for column in self.table.columns]
        pad = self.table.padding[1] + self.table.padding[3]
        room = options.max_width if self.table.pad_edge else options.max_width + pad
        if self.table.title is not None:
            yield Text(str(self.table.title), style="table.title")
        for number, group in enumerate(_groups(columns, self.parts, room, pad)):
            if number:
                yield Text()
            yield self._with(group, _widths(group, room, pad))

    def _with(self, group: Sequence[_Sized], widths: Sequence[int]) -> Table:
        table = Table(box=None, padding=self.table.padding, pad_edge=self.table.pad_edge, header_style=self.table.header_style)
        table.show_header = self.table.show_header
        for each, width in zip(group, widths, strict=True):
            table.add_column(each.column.header, justify=each.column.justify, style=each.column.style, overflow="fold", width=width)
        for row, cells in zip(self.table.rows, zip(*(each.column.cells for each in group), strict=True), strict=True):
            table.add_row(*cells, style=row.style)
        return table


@dataclass(frozen=True, slots=True)
class _Sized:
    """A column with the width at which nothing is cut, and the width at which nothing is wrapped."""

    column: Column
    least: int
    most: int

    @classmethod
    def of(cls, column: Column) -> _Sized:
        head, cells = str(column.header), [str(cell) for cell in column.cells]
        whole = max(map(cell_len, cells), default=0)
        least = max(min(whole, TEXT), *map(_longest_word, cells), 0) if column.justify == "left" else whole
        return cls(column=column, least=max(least, _longest_word(head), 1), most=max(whole, cell_len(head), 1))


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _groups(columns: Sequence[_Sized], parts: Sequence[int], width: int, pad: int) -> Iterator[Sequence[_Sized]]:
    """Yield all columns if they fit; else split each part into as few tables as possible, with about as many columns in each."""
    names, numbers = columns[0], columns[1:]
    if _fits(columns, width, pad):
        yield columns
        return
    cuts = sorted({0, *accumulate(parts), len(numbers)})
    for part in (numbers[start:end] for start, end in pairwise(cuts)):
        tables = next((count for count in range(1, len(part)) if all(_fits((names, *some), width, pad) for some in _even(part, count))), len(part))
        yield from ((names, *some) for some in _even(part, tables))


def _even(columns: Sequence[_Sized], count: int) -> list[Sequence[_Sized]]:
    cuts = [round(len(columns) * number / count) for number in range(count + 1)]
    return [columns[start:end] for start, end in pairwise(cuts)]


def _fits(columns: Sequence[_Sized], width: int, pad: int) -> bool:
    return sum(each.least + pad for each in columns) <= width


def _widths(columns: Sequence[_Sized], width: int, pad: int) -> list[int]:
    """Return the widths: the least of each, then the rest of the room to columns that would wrap, from the left; names too long are folded."""
    widths = [each.least for each in columns]
    left = width - sum(widths) - pad * len(columns)
    if left < 0:
        widths[0] = max(1, widths[0] + left)
    for place, each in enumerate(columns):
        more = max(0, min(left, each.most - widths[place]))
        widths[place], left = widths[place] + more, left - more
    return widths
