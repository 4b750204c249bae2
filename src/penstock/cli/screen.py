"""What the live view of a job shows, drawn from a frozen state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from penstock.core.domain.event import (
    Event,
    ExecutorLost,
    FeedBehind,
    FeedFailed,
    InstructionFailed,
    MemoryLost,
    NothingToDo,
    QueryFailed,
    QueryGivenUp,
    TurnFailed,
)
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import ExecutorReading, Quantiles, QueryReading, Reading
from penstock.core.domain.units import count_words, duration_words

UNKNOWN = "–"
BARS = "▁▂▃▄▅▆▇█"
TROUBLE = (ExecutorLost, FeedBehind, FeedFailed, InstructionFailed, MemoryLost, QueryFailed, QueryGivenUp, TurnFailed)
READINGS_KEPT, EVENTS_KEPT = 60, 8
LINES_WITHOUT_ROWS = 13
FEWEST_EVENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """An event as it is shown: one line, without secrets."""

    at_s: float
    words: str
    trouble: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """All that the view shows; `height` is the terminal's lines, None for as many as it takes."""

    job: str
    mode: str
    master: str
    promises: Promises
    readings: tuple[Reading, ...] = ()
    lines: tuple[EventLine, ...] = ()
    height: int | None = None

    def after(self, reading: Reading | None, events: Sequence[Event], redact: Callable[[str], str]) -> ViewState:
        """The state with a reading and events more; the oldest go."""
        readings = self.readings if reading is None else (*self.readings, reading)
        return replace(self, readings=readings[-READINGS_KEPT:], lines=(*self.lines, *event_lines(events, redact))[-EVENTS_KEPT:])


def event_lines(events: Sequence[Event], redact: Callable[[str], str]) -> list[EventLine]:
    """The events worth a line; turns that did nothing are not."""
    told = (event for event in events if not isinstance(event, NothingToDo))
    return [EventLine(at_s=event.at_s, words=one_line(redact(event.words())), trouble=isinstance(event, TROUBLE)) for event in told]


def render(state: ViewState) -> RenderableType:
    """The view of a state."""
    parts: list[RenderableType] = [_header(state), Text()]
    if not state.readings:
        return Group(*parts, Text("waiting for the first reading", style="dim"), Text(), _events(state.lines))
    reading = state.readings[-1]
    queries, executors, events = _shares(state.height, len(reading.queries), len(reading.executors))
    parts += [_numbers(state.readings, state.promises), Text(), _queries(reading.queries, queries), Text(), _executors(reading.executors, executors), Text()]
    return Group(*parts, _events(state.lines[-events:]))


def sparkline(values: Sequence[float | None], width: int) -> str:
    """The last `width` values as bars from 0 to their highest; a gap where one is unknown.

    >>> sparkline([0, 1, None, 4, 8], 4)
    '▁ ▄█'
    """
    shown = values[-width:] if width > 0 else ()
    top = max((value for value in shown if value is not None), default=0) or 1
    return "".join(" " if value is None else BARS[max(0, round(value / top * len(BARS)) - 1)] for value in shown)


@dataclass(frozen=True, slots=True)
class _Sparkline:
    """A sparkline as wide as there is room."""

    values: Sequence[float | None]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(sparkline(self.values, options.max_width), style="cyan", no_wrap=True)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(8, options.max_width), min(READINGS_KEPT, options.max_width))


def _header(state: ViewState) -> RenderableType:
    up = f" · up {duration_words(round(state.readings[-1].uptime_s))}" if state.readings else ""
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=2, justify="right", style="dim")
    grid.add_row(Text.assemble(("penstock ", "bold cyan"), (state.job, "bold"), (f" · {state.mode}{up}", "dim")), Text(state.master))
    return grid


def _numbers(readings: Sequence[Reading], promises: Promises) -> RenderableType:
    now = readings[-1]
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_column(no_wrap=True, ratio=1)
    lag = Text.assemble((count(now.lag_rows), "bold"), " rows  ", (seconds(now.lag_s), "bold"), f"  excess {count(now.excess_lag_rows)}")
    executors = Text.assemble((str(now.executors_running), "bold"), f" running, {now.executors_requested} requested  ", *_work(now))
    grid.add_row("rate", _rate(now.arrival_rows_per_s), _Sparkline([each.arrival_rows_per_s for each in readings]))
    grid.add_row("throughput", _rate(now.throughput_rows_per_s), _Sparkline([each.throughput_rows_per_s for each in readings]))
    grid.add_row("lag", lag, _Sparkline([each.lag_rows for each in readings]))
    grid.add_row("latency", _latency(now.latency, promises), _Sparkline([each.latency.p95_s if each.latency else None for each in readings]))
    grid.add_row("executors", executors, _Sparkline([each.executors_running for each in readings]))
    return grid


def _work(now: Reading) -> tuple[str, tuple[str, str]]:
    """How hard the executors work: in Real-Time Mode, where tasks run all the time, only their CPU tells."""
    cores = [each.cpu_cores for each in now.executors if each.cpu_cores is not None]
    if now.busyness is None and cores:
        return "CPU ", (f"{sum(cores):.1f} cores", "bold")
    return "busy ", (percent(now.busyness), "bold")


def _rate(rows_per_s: float | None) -> Text:
    return Text.assemble((count(rows_per_s), "bold"), " rows/s")


def _latency(latency: Quantiles | None, promises: Promises) -> Text:
    p50, p95, p99 = (latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None, None, None)
    promise, style = _verdict(p95, promises.latency_p95_s)
    return Text.assemble("p50 ", (seconds(p50), "bold"), "  p95 ", (seconds(p95), f"bold {style}"), "  p99 ", (seconds(p99), "bold"), (promise, style))


def _verdict(p95_s: float | None, promised_s: float | None) -> tuple[str, str]:
    """The promise beside the latency, in words and colour."""
    if promised_s is None:
        return "", ""
    if p95_s is None:
        return f"  promised {duration_words(promised_s)}", "dim"
    return (f"  ≤ {duration_words(promised_s)}", "green") if p95_s <= promised_s else (f"  > {duration_words(promised_s)}", "red")


def _queries(queries: Sequence[QueryReading], shown: int) -> RenderableType:
    replays = any(query.replayed_rows for query in queries)
    heads = ("state", "batch", "trigger", "limit", "rows/s", "lag", "p95", "batch time", *(["replayed"] if replays else []))
    table = _table(_shown("query", shown, len(queries)), *heads, left=2)
    for query in queries[:shown]:
        table.add_row(
            Text(query.name),
            Text(query.state, style="" if query.state == "running" else "yellow"),
            UNKNOWN if query.batch_id is None else str(query.batch_id),
            str(query.trigger),
            "none" if query.rate_limit_rows_per_s is None else f"{count(query.rate_limit_rows_per_s)}/s",
            count(query.throughput_rows_per_s),
            count(query.lag_rows),
            seconds(query.latency.p95_s if query.latency else None),
            f"pause {seconds(query.boundary_pause_s)}" if query.trigger.kind == "real_time" else seconds(query.batch.total_s if query.batch else None),
            *([count(query.replayed_rows)] if replays else []),
        )
    return table


def _executors(executors: Sequence[ExecutorReading], shown: int) -> RenderableType:
    table = _table(_shown("executor", shown, len(executors)), "busy", "", "rows/s", "CPU cores", left=2)
    for each in executors[:shown]:
        cpu = UNKNOWN if each.cpu_cores is None else f"{each.cpu_cores:.2f}"
        table.add_row(Text(f"{each.executor_id} {each.host}"), _bar(each.busyness), percent(each.busyness), count(each.throughput_rows_per_s), cpu)
    return table


def _events(lines: Sequence[EventLine]) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for line in lines:
        grid.add_row(f"{datetime.fromtimestamp(line.at_s):%H:%M:%S}", Text(line.words, style="red" if line.trouble else ""))
    return grid


def _table(*heads: str, left: int) -> Table:
    """A table without lines; its first `left` columns are names, the others numbers."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for i, head in enumerate(heads):
        table.add_column(head, no_wrap=True, overflow="ellipsis", justify="left" if i < left else "right", max_width=24 if i == 0 else None)
    return table


def _shown(name: str, shown: int, there_are: int) -> str:
    return name if shown >= there_are else f"{name} ({shown} of {there_are})"


def _shares(height: int | None, queries: int, executors: int) -> tuple[int, int, int]:
    """How many queries, executors and events a terminal of so many lines has room for."""
    if height is None:
        return queries, executors, EVENTS_KEPT
    free = height - LINES_WITHOUT_ROWS
    queries = min(queries, max(1, (free - FEWEST_EVENTS) // 2))
    executors = min(executors, max(1, free - FEWEST_EVENTS - queries))
    return queries, executors, min(EVENTS_KEPT, max(1, free - queries - executors))


def _bar(busyness: float | None, width: int = 10) -> Text:
    if busyness is None:
        return Text(UNKNOWN)
    full = round(min(max(busyness, 0.0), 1.0) * width)
    return Text.assemble(("━" * full, "cyan"), ("┄" * (width - full), "bright_black"))


def count(rows: float | None) -> str:
    return UNKNOWN if rows is None else count_words(rows)


def seconds(value_s: float | None) -> str:
    """A measured time for people.

    >>> seconds(0.02), seconds(2.345), seconds(100), seconds(None)
    ('20 ms', '2.3 s', '1m40s', '–')
    """
    if value_s is None:
        return UNKNOWN
    if value_s < 0.9995:
        return f"{value_s * 1000:.0f} ms"
    return f"{value_s:.1f} s" if value_s < 99.95 else duration_words(round(value_s))


def percent(ratio: float | None) -> str:
    return UNKNOWN if ratio is None else f"{ratio:.0%}"


def one_line(text: str) -> str:
    """The text without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
