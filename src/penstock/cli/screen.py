"""The content of the live view, drawn from a frozen state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from penstock.cli.pilot import Pilot, pilot_view
from penstock.cli.terminal import UNKNOWN, WIDEST, Sparkline, bar, clock_time, columns, count, one_line, percent, seconds
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import is_routine
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import ExecutorReading, Quantiles, QueryReading, Reading
from penstock.core.domain.units import duration_words

READINGS_KEPT, EVENTS_KEPT = WIDEST, 8
LINES_WITHOUT_ROWS = 13
FEWEST_EVENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """An event as one line without secrets."""

    at_s: float
    words: str
    trouble: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """Everything the view shows; `height` is the number of lines of the terminal, None for no limit."""

    job: str
    pilot: Pilot
    master: str
    promises: Promises
    readings: tuple[Reading, ...] = ()
    lines: tuple[EventLine, ...] = ()
    height: int | None = None

    def after(self, reading: Reading | None, events: Sequence[Event], redact: Callable[[str], str]) -> Self:
        """Return the state with a new reading and new events; the oldest are dropped."""
        readings = self.readings if reading is None else (*self.readings, reading)
        lines = (*self.lines, *event_lines(events, redact))
        return replace(self, readings=readings[-READINGS_KEPT:], lines=lines[-EVENTS_KEPT:], pilot=self.pilot.after(events, redact))


def event_lines(events: Sequence[Event], redact: Callable[[str], str]) -> list[EventLine]:
    """Return a line for each event that is not routine."""
    return [EventLine(at_s=each.at_s, words=one_line(redact(each.words())), trouble=each.trouble) for each in events if not is_routine(each)]


def render(state: ViewState) -> RenderableType:
    parts: list[RenderableType] = [_header(state), Text()]
    if not state.readings:
        return Group(*parts, Text("waiting for the first reading", style="dim"), Text(), _events(state.lines))
    reading = state.readings[-1]
    pilot = state.pilot.lines(reading.at_s)
    height = None if state.height is None else state.height - len(pilot)
    queries, executors, events = _shares(height, len(reading.queries), len(reading.executors))
    parts += [_numbers(state.readings, state.promises), *([pilot_view(pilot, wrapped=state.height is None)] if pilot else []), Text()]
    parts += [_queries(reading.queries, queries), Text(), _executors(reading.executors, executors), Text()]
    return Group(*parts, _events(state.lines[-events:]))


def _header(state: ViewState) -> RenderableType:
    up = f" · up {duration_words(round(state.readings[-1].uptime_s))}" if state.readings else ""
    grid = Table.grid(expand=True, padding=(0, 2))
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=3)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=2, justify="right", style="dim")
    grid.add_row(Text.assemble(("penstock ", "bold cyan"), (state.job, "bold"), (f" · {state.pilot.mode}{up}", "dim")), Text(state.master))
    return grid


def _numbers(readings: Sequence[Reading], promises: Promises) -> RenderableType:
    now = readings[-1]
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_column(no_wrap=True, ratio=1)
    lag = Text.assemble((count(now.lag_rows), "bold"), " rows  ", (seconds(now.lag_s), "bold"), f"  excess {count(now.excess_lag_rows)}")
    executors = Text.assemble((str(now.executors_running), "bold"), f" running, {now.executors_requested} requested  ", *_work(now))
    grid.add_row("rate", _rate(now.arrival_rows_per_s), Sparkline([each.arrival_rows_per_s for each in readings]))
    grid.add_row("throughput", _rate(now.throughput_rows_per_s), Sparkline([each.throughput_rows_per_s for each in readings]))
    grid.add_row("lag", lag, Sparkline([each.lag_rows for each in readings]))
    grid.add_row("latency", _latency(now.latency, promises), Sparkline([each.latency.p95_s if each.latency else None for each in readings]))
    grid.add_row("executors", executors, Sparkline([each.executors_running for each in readings]))
    return grid


def _work(now: Reading) -> tuple[str, tuple[str, str]]:
    """Return busyness, or CPU in Real-Time Mode, where tasks run all the time."""
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
    if promised_s is None:
        return "", ""
    if p95_s is None:
        return f"  promised {duration_words(promised_s)}", "dim"
    return (f"  ≤ {duration_words(promised_s)}", "green") if p95_s <= promised_s else (f"  > {duration_words(promised_s)}", "red")


def _queries(queries: Sequence[QueryReading], shown: int) -> RenderableType:
    replays = any(query.replayed_rows for query in queries)
    heads = ("state", "batch", "trigger", "limit", "rows/s", "lag", "p95", "batch time", *(["replayed"] if replays else []))
    table = columns(_shown("query", shown, len(queries)), *heads, left=2)
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
    table = columns(_shown("executor", shown, len(executors)), "busy", "", "rows/s", "CPU cores", left=2)
    for each in executors[:shown]:
        cpu = UNKNOWN if each.cpu_cores is None else f"{each.cpu_cores:.2f}"
        table.add_row(Text(f"{each.executor_id} {each.host}"), bar(each.busyness), percent(each.busyness), count(each.throughput_rows_per_s), cpu)
    return table


def _events(lines: Sequence[EventLine]) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for line in lines:
        grid.add_row(clock_time(line.at_s), Text(line.words, style="red" if line.trouble else ""))
    return grid


def _shown(name: str, shown: int, there_are: int) -> str:
    return name if shown >= there_are else f"{name} ({shown} of {there_are})"


def _shares(height: int | None, queries: int, executors: int) -> tuple[int, int, int]:
    """Return how many queries, executors and events fit into the lines of a terminal."""
    if height is None:
        return queries, executors, EVENTS_KEPT
    free = height - LINES_WITHOUT_ROWS
    queries = min(queries, max(1, (free - FEWEST_EVENTS) // 2))
    executors = min(executors, max(1, free - FEWEST_EVENTS - queries))
    return queries, executors, min(EVENTS_KEPT, max(1, free - queries - executors))
