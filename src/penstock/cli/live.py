"""The display of `penstock run`: a live view on a terminal, log lines elsewhere."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.console import Console
from rich.live import Live

from penstock.cli.pilot import Pilot
from penstock.cli.screen import ViewState, event_lines, render
from penstock.cli.terminal import count, day_time, one_line, percent, seconds
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import QueryFailed
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading

REFRESHES_PER_S = 4.0
LOG_EVERY_S = 30.0


class LiveView:
    """Redraws the state a few times a second; the last view stays when stopped."""

    def __init__(self, console: Console, state: ViewState, redact: Callable[[str], str]) -> None:
        self._console = console
        self._state = state
        self._redact = redact
        self._live = Live(
            console=console, screen=False, refresh_per_second=REFRESHES_PER_S, get_renderable=lambda: render(replace(self._state, height=console.height))
        )

    def start(self) -> None:
        self._live.start()

    def update(self, reading: Reading | None, events: Sequence[Event] = ()) -> None:
        self._state = self._state.after(reading, events, self._redact)
        print_tracebacks(self._console, events, self._redact)

    def stop(self) -> None:
        self._live.stop()


class PlainLog:
    """Logs a line for a reading now and then, and a line for every event that is not routine."""

    def __init__(self, console: Console, redact: Callable[[str], str], *, every_s: float = LOG_EVERY_S) -> None:
        self._console = console
        self._redact = redact
        self._every_s = every_s
        self._next_s = float("-inf")

    def start(self) -> None:
        """Do nothing: lines are printed as events happen."""

    def update(self, reading: Reading | None, events: Sequence[Event] = ()) -> None:
        for line in event_lines(events, self._redact):
            self._print(line.at_s, line.words)
        print_tracebacks(self._console, events, self._redact)
        if reading is not None and reading.at_s >= self._next_s:
            self._next_s = reading.at_s + self._every_s
            self._print(reading.at_s, reading_line(reading))

    def stop(self) -> None:
        """Do nothing."""

    def _print(self, at_s: float, words: str) -> None:
        self._console.print(f"{day_time(at_s)} {words}", markup=False, highlight=False, emoji=False, soft_wrap=True)


def view_for(
    console: Console, job: str, *, mode: str, master: str, promises: Promises = Promises(), redact: Callable[[str], str] = str, log_every_s: float = LOG_EVERY_S
) -> LiveView | PlainLog:
    """Return a live view on a terminal, else log lines every `log_every_s` (0: every reading). Both accept updates from any thread."""
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveView(console, ViewState(job=one_line(job), pilot=Pilot(mode=mode), master=one_line(redact(master)), promises=promises), redact)
    return PlainLog(console, redact, every_s=log_every_s)


def print_tracebacks(console: Console, events: Sequence[Event], redact: Callable[[str], str]) -> None:
    """Print the whole traceback of the user's code for queries that failed with one."""
    for event in events:
        if isinstance(event, QueryFailed) and event.traceback:
            console.print(redact(event.traceback).rstrip(), markup=False, highlight=False, emoji=False, soft_wrap=True)


def reading_line(reading: Reading) -> str:
    """Format a reading as one line of a log."""
    latency = reading.latency
    p50, p95, p99 = (latency.p50_s, latency.p95_s, latency.p99_s) if latency else (None, None, None)
    return ", ".join(
        (
            f"rate {count(reading.arrival_rows_per_s)}/s",
            f"throughput {count(reading.throughput_rows_per_s)}/s",
            f"lag {count(reading.lag_rows)} rows {seconds(reading.lag_s)} excess {count(reading.excess_lag_rows)}",
            f"latency p50 {seconds(p50)} p95 {seconds(p95)} p99 {seconds(p99)}",
            f"executors {reading.executors_running} of {reading.executors_requested}",
            f"busy {percent(reading.busyness)}",
        )
    )
