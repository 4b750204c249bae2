import re
from dataclasses import replace
from datetime import datetime
from io import StringIO

from example_run import example_run
from rich.console import Console

from penstock.cli.live import LiveView, PlainLog, reading_line, view_for
from penstock.core.domain.events.query_events import QueryFailed
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.job_spec import Promises

READINGS, EVENTS = example_run()


def masked(words: str) -> str:
    return words.replace("hunter2", "***")


def console_on(out: StringIO, *, terminal: bool) -> Console:
    return Console(file=out, force_terminal=terminal, width=80, height=24, color_system="standard" if terminal else None, _environ={"TERM": "xterm-256color"})


def test_a_terminal_gets_the_live_view_and_anything_else_the_log() -> None:
    assert isinstance(view_for(console_on(StringIO(), terminal=True), "demo", mode="observe", master="local"), LiveView)
    assert isinstance(view_for(console_on(StringIO(), terminal=False), "demo", mode="observe", master="local"), PlainLog)


def test_a_line_shows_unknown_values_as_dashes() -> None:
    blind = replace(READINGS[0], arrival_rows_per_s=None, lag_rows=None, lag_s=None, excess_lag_rows=None, latency=None, busyness=None)
    assert reading_line(blind) == "rate –/s, throughput 558/s, lag – rows – excess –, latency p50 – p95 – p99 –, executors 1 of 1, busy –"


def test_the_live_view_leaves_its_last_picture_when_stopped() -> None:
    out = StringIO()
    view = view_for(console_on(out, terminal=True), "demo", mode="observe", master="spark://hunter2@host", promises=Promises(latency_p95_s=5), redact=masked)
    view.start()
    try:
        view.update(None, EVENTS[:1])
        view.update(READINGS[30], [QueryFailed(at_s=READINGS[30].at_s, query="q", cause="no hunter2")])
    finally:
        view.stop()
        view.stop()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    assert "up 2m30s" in text
    assert "spark://***@host" in text
    assert "query q failed: no ***" in text
    assert "hunter2" not in text


def test_the_log_has_a_line_for_a_reading_now_and_then() -> None:
    out = StringIO()
    view = view_for(console_on(out, terminal=False), "demo", mode="observe", master="local")
    view.start()
    for reading in READINGS:
        view.update(reading)
    view.stop()
    lines = out.getvalue().splitlines()
    assert len(lines) == 9
    assert lines[0] == f"{datetime.fromtimestamp(READINGS[0].at_s):%Y-%m-%d %H:%M:%S} {reading_line(READINGS[0])}"


def test_the_log_has_a_line_for_every_reading_when_asked() -> None:
    out = StringIO()
    view = view_for(console_on(out, terminal=False), "demo", mode="observe", master="local", log_every_s=0)
    for reading in READINGS:
        view.update(reading)
    assert len(out.getvalue().splitlines()) == len(READINGS)


def test_the_log_has_a_line_for_every_event_but_not_for_doing_nothing() -> None:
    out = StringIO()
    view = view_for(console_on(out, terminal=False), "demo", mode="observe", master="local", redact=masked)
    view.update(None, [NothingToDo(at_s=0), QueryFailed(at_s=0, query="[q]", cause="hunter2 " + "long " * 40 + "\nend")])
    (line,) = out.getvalue().splitlines()
    assert line.startswith(f"{datetime.fromtimestamp(0):%Y-%m-%d %H:%M:%S} query [q] failed: *** long")
    assert line.endswith("long end")
    assert "\x1b" not in line
