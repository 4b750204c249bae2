"""`penstock history`: print, draw and export the history of a job."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from penstock.cli.histories import FileOption, LastOption, history_of, since
from penstock.cli.jobs import JobOption
from penstock.cli.live import print_tracebacks
from penstock.cli.report import JsonOption, known, writable
from penstock.cli.terminal import UNKNOWN, Whole, clock_time, count, percent
from penstock.core.config import EVEN
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import is_routine
from penstock.core.domain.events.run_events import NothingToDo, RunStarted
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.dashboard.summary import RunSummary, summarise
from penstock.stores.reader import EventRow, HistoryReader
from penstock.stores.recorder import Recorder


def history(
    job: JobOption = None,
    file: FileOption = None,
    last: LastOption = None,
    events: Annotated[bool, typer.Option("--events", help="Print only the events.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Also print decisions that changed nothing, and the grade of every prediction.")] = False,
    as_json: JsonOption = False,
    csv: Annotated[Path | None, typer.Option("--csv", help="Export CSV files to this folder.", metavar="FOLDER")] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", help="Export Parquet files to this folder.", metavar="FOLDER")] = None,
    price: Annotated[float | None, typer.Option("--price", help="Price of an executor-hour: shows the cost.", min=0.0)] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw a picture (.png, .svg) or a page (.html).", metavar="FILE")] = None,
) -> None:
    """Print, draw or export the history of a job."""
    from penstock.stores.export import export

    if plot is not None:
        writable(plot)
    path = history_of(job, file)
    with HistoryReader.open(path) as reader:
        since_s = since(last, reader.span())
        exports = [(folder, kind) for folder, kind in ((csv, "csv"), (parquet, "parquet")) if folder is not None]
        for folder, kind in exports:
            for written in export(reader, folder, kind, since_s):  # type: ignore[arg-type]
                typer.echo(str(written))
        if plot is not None:
            draw_history(reader, since_s, plot, path.parent.name)
            typer.echo(str(plot))
        if exports or plot:
            return
        readings = [] if events else list(reader.readings(since_s))
        rows = list(reader.events(since_s))
        summary = replace(summary_of(reader, readings, [row.event for row in rows]), price=price)
        recorders = list(dict.fromkeys(reversed(reader.recorders().values())))[::-1]
    if as_json:
        typer.echo(json.dumps(known(as_object(readings, rows, recorders, summary))))
    else:
        show(Console(), path, readings, rows, recorders, summary, everything)


def summary_of(reader: HistoryReader, readings: list[Reading], events: list[Event]) -> RunSummary:
    """Return the summary of a run by what was promised and allowed when it last started."""
    runs = [row.event for row in reader.events() if isinstance(row.event, RunStarted)]
    promises = Promises(latency_p95_s=runs[-1].latency_p95_s, recovery_s=runs[-1].recovery_s) if runs else Promises()
    most = (runs[-1].max_executors if runs else None) or max((reading.executors_requested for reading in readings), default=1)
    return summarise(readings, events, promises, most, (reader.terms() or Terms(config=EVEN)).config.reading_window_s)


def draw_history(reader: HistoryReader, since_s: float, plot: Path, title: str) -> None:
    from penstock.dashboard.page import write_page
    from penstock.dashboard.picture import draw

    if plot.suffix not in (".png", ".svg", ".html"):
        raise UserMistake(f"--plot: found {plot}, a file that ends in .png, .svg or .html is allowed")
    readings = list(reader.readings(since_s))
    happened = [row.event for row in reader.events(since_s)]
    summary = summary_of(reader, readings, happened)
    if plot.suffix == ".html":
        write_page(readings, happened, summary.promises, plot, title=title, summary=summary)
    else:
        draw(readings, happened, summary.promises, plot, title)


def as_object(readings: list[Reading], rows: list[EventRow], recorders: list[Recorder], summary: RunSummary) -> dict[str, object]:
    happened = [
        {"kind": type(row.event).__name__, "count": row.count, "last_at_s": row.last_at_s, **asdict(row.event), "words": row.event.words()} for row in rows
    ]
    return {
        "recorded_by": [asdict(each) for each in recorders],
        "report": None if not readings else summary.report.as_object() | ({} if summary.price is None else {"cost": summary.report.cost(summary.price)}),
        "readings": [asdict(reading) for reading in readings],
        "events": happened,
    }


def show(console: Console, path: Path, readings: list[Reading], rows: list[EventRow], recorders: list[Recorder], summary: RunSummary, everything: bool) -> None:
    """Print the report and about 30 readings, then the events; routine events are only counted unless `everything` is set."""
    console.print(f"history {path}: {len(readings)} readings, {len(rows)} events{recorded_by(recorders)}", markup=False, highlight=False, soft_wrap=True)
    if readings:
        table = Table(box=None, header_style="bold")
        for column in ("time", "rate/s", "done/s", "lag rows", "excess", "p50 s", "p95 s", "p99 s", "executors", "busy"):
            table.add_column(column, justify="right")
        for reading in readings[:: max(1, len(readings) // 30)]:
            table.add_row(clock_time(reading.at_s), *columns(reading))
        console.print(Whole(table))
        for name, words in summary.rows():
            console.print(f"{name}: {words}", markup=False, highlight=False, soft_wrap=True)
    shown = [row.event for row in rows if not isinstance(row.event, NothingToDo)]
    routine = 0 if everything else sum(map(is_routine, shown))
    for event in shown:
        if everything or not is_routine(event):
            console.print(f"{clock_time(event.at_s)}  {event.words()}", markup=False, highlight=False, soft_wrap=True)
            print_tracebacks(console, [event], str)
    if routine:
        console.print(
            f"{routine} routine events (decisions that changed nothing, grades of predictions) are not shown: --all, penstock grade, penstock explain",
            markup=False, highlight=False, soft_wrap=True,
        )  # fmt: skip


def recorded_by(recorders: list[Recorder]) -> str:
    """Name the Penstock version that wrote the history, the last of several; empty if none is recorded.

    >>> recorded_by([Recorder(version="0.1.0", core="5f2a90c1b7de")])
    ', recorded by Penstock 0.1.0, core 5f2a90c1b7de'
    """
    before = f", and {len(recorders) - 1} other{'s' if len(recorders) > 2 else ''} before" if len(recorders) > 1 else ""
    return f", recorded by Penstock {recorders[-1]}{before}" if recorders else ""


def columns(reading: Reading) -> list[str]:
    latency = reading.latency
    return [
        *(count(each) for each in (reading.arrival_rows_per_s, reading.throughput_rows_per_s, reading.lag_rows, reading.excess_lag_rows)),
        *([UNKNOWN] * 3 if latency is None else [f"{seconds:.1f}" for seconds in (latency.p50_s, latency.p95_s, latency.p99_s)]),
        f"{reading.executors_running}/{reading.executors_requested}",
        percent(reading.busyness),
    ]
