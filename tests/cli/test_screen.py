from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from io import StringIO

import pytest
from changes import rescaled, scaled_to
from example_run import START_S, example_run
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import wants
from rich.console import Console

from penstock.cli.pilot import Pilot
from penstock.cli.screen import ViewState, event_lines, render
from penstock.cli.terminal import one_line, sparkline
from penstock.core.domain.events.autopilot_events import Decided, Graded, PolicyPaused, PromiseBroken, PromiseKept, Proposed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import CpuKnown, CpuUnknown, ExecutorsComplete, ExecutorsMissing
from penstock.core.domain.events.memory_events import LeaseLost, LeaseNotRenewed, SnapshotFailed
from penstock.core.domain.events.query_events import ClockSkewed, QueryFailed, QueryUnwatched
from penstock.core.domain.events.run_events import NothingToDo, SideWorkFailed
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading

READINGS, EVENTS = example_run()
NEW = ViewState(job="demo", pilot=Pilot(mode="observe"), master="spark://127.0.0.1:7077", promises=Promises(latency_p95_s=5))


def state_after(readings: Sequence[Reading], events: Sequence[Event] = (), height: int | None = None) -> ViewState:
    state = replace(NEW, height=height)
    for reading in readings:
        state = state.after(reading, (), str)
    return state.after(None, events, str)


def shown(state: ViewState, width: int = 80, *, styles: bool = False) -> str:
    console = Console(record=True, width=width, file=StringIO(), force_terminal=True, color_system="standard")
    console.print(render(state))
    return console.export_text(styles=styles)


def blind(reading: Reading) -> Reading:
    query = replace(reading.queries[0], batch_id=None, throughput_rows_per_s=None, lag_rows=None, latency=None, batch=None)
    executor = replace(reading.executors[0], throughput_rows_per_s=None, busyness=None, cpu_cores=None)
    unknown = replace(
        reading, arrival_rows_per_s=None, throughput_rows_per_s=None, lag_rows=None, lag_s=None, excess_lag_rows=None, latency=None, busyness=None
    )
    return replace(unknown, queries=(query,), executors=(executor,))


@pytest.mark.parametrize("width", [80, 120])
def test_everything_asked_for_is_on_the_screen(width: int) -> None:
    text = shown(state_after(READINGS[:35], EVENTS, height=40), width)
    for words in (
        "demo · observe · up 2m50s", "spark://127.0.0.1:7077", "2428 rows/s", "3908 rows/s", "16.6k rows  6.8 s  excess 14.1k",
        "p50 4.8 s  p95 6.9 s  p99 7.9 s  > 5s",
        "4 running, 4 requested  busy 100%", "trigger", "limit", "batch time", "lookup  running", "CPU cores", "━━━━━━━━━━  100%",
        "query lookup failed: ConnectionError",
    ):  # fmt: skip
        assert words in text
    assert max(map(len, text.splitlines())) <= width


def test_a_terminal_of_80_by_24_is_not_overrun_and_latency_is_green_within_the_promise_and_red_beyond() -> None:
    text = shown(state_after(READINGS[:35], EVENTS, height=24))
    assert len(text.splitlines()) <= 23
    assert "executors done in 6.0 s" in text.splitlines()[-1]
    kept, broken = READINGS[0], READINGS[34]
    assert "\x1b[1;32m2.0 s" in shown(state_after([kept]), styles=True)
    assert "\x1b[1;31m6.9 s" in shown(state_after([broken]), styles=True)


def test_many_queries_and_executors_leave_room_for_events() -> None:
    many = replace(READINGS[30], queries=READINGS[30].queries * 9, executors=READINGS[30].executors * 10)
    text = shown(state_after([many], EVENTS, height=24))
    assert len(text.splitlines()) <= 23
    assert "query (4 of 9)" in text
    assert "executor (4 of 40)" in text
    assert "executors done" in text


@settings(max_examples=30)
@given(st.integers(5, 200), st.integers(0, 20), st.integers(0, 20))
def test_no_terminal_is_too_small_to_render(height: int, queries: int, executors: int) -> None:
    reading = replace(READINGS[3], queries=READINGS[3].queries * queries, executors=READINGS[3].executors * executors)
    text = shown(state_after([reading], EVENTS, height=height), width=40)
    assert max(map(len, text.splitlines())) <= 40
    assert height < 24 or len(text.splitlines()) < height


def test_what_is_unknown_is_a_dash() -> None:
    text = shown(state_after([blind(READINGS[0])]))
    assert "– rows/s" in text
    assert "– rows  –  excess –" in text
    assert "p50 –  p95 –  p99 –  promised 5s" in text
    assert "busy –" in text
    assert "None" not in text
    assert "nan" not in text


def test_before_the_first_reading_it_says_that_it_waits() -> None:
    text = shown(state_after([], EVENTS[:1]))
    assert "waiting for the first reading" in text
    assert "job demo runs on spark://127.0.0.1:7077" in text


def test_the_state_keeps_sixty_readings_and_eight_events_with_their_local_time() -> None:
    state = state_after(READINGS * 2, EVENTS * 2)
    assert (len(state.readings), len(state.lines)) == (60, 8)
    assert f"{datetime.fromtimestamp(START_S):%H:%M:%S}  query lookup started" in shown(state_after(READINGS[:2], EVENTS[1:2]))


def test_names_are_never_taken_for_markup() -> None:
    query = replace(READINGS[0].queries[0], name="[red]q[/red]")
    text = shown(replace(state_after([replace(READINGS[0], queries=(query,))]), job="[bold]job"))
    assert "[red]q[/red]" in text
    assert "[bold]job" in text


def test_words_of_events_are_redacted_on_one_line_without_escape_codes_and_what_comes_all_the_time_has_no_line() -> None:
    failed = QueryFailed(at_s=0, query="q", cause="login\nwith hunter2\x1b[2J\x07 failed")
    (line,) = event_lines([NothingToDo(at_s=0), failed], lambda words: words.replace("hunter2", "***"))
    assert line.words == "query q failed: login with *** [2J failed" and line.trouble
    kept = Decided(id=1, at_s=1.0, mode="active", policy="thumb", decision=wants(3), effect="kept")
    graded = Graded(at_s=1.0, kind="capacity", about="", made_s=0.0, predicted=1.0, low=0.0, high=2.0, actual=1.0, configuration=scaled_to(3))
    assert event_lines([kept, graded], str) == []


def test_what_somebody_should_look_at_is_red_and_that_it_is_over_is_not() -> None:
    trouble: list[Event] = [
        ClockSkewed(at_s=0, query="q", skew_s=9.0),
        CpuUnknown(at_s=0, problem="HTTP 401"),
        ExecutorsMissing(at_s=0, requested=4, running=2, waited_s=60.0),
        LeaseLost(at_s=0, holder="another driver"),
        LeaseNotRenewed(at_s=0, reason="no answer"),
        PromiseBroken(at_s=0, promise="latency", value=9.0, limit=5.0),
        QueryUnwatched(at_s=0, query="q", cause="no answer"),
        SideWorkFailed(at_s=0, what="showing a reading", error="no room"),
        SnapshotFailed(at_s=0, reason="disk full"),
    ]
    over: list[Event] = [CpuKnown(at_s=0), ExecutorsComplete(at_s=0, running=4), PromiseKept(at_s=0, promise="latency")]
    assert [line.trouble for line in event_lines([*trouble, *over], str)] == [True] * len(trouble) + [False] * len(over)


@given(st.text())
def test_one_line_is_printable_and_one_line(text: str) -> None:
    assert one_line(text).isprintable() and len(one_line(text).splitlines()) <= 1


@given(st.lists(st.none() | st.floats(0, 1e12)), st.integers(0, 100))
def test_a_sparkline_is_as_long_as_what_it_shows(values: list[float | None], width: int) -> None:
    assert len(sparkline(values, width)) == min(len(values), width)


@pytest.mark.parametrize("height", [24, 40])
def test_the_autopilot_has_its_lines_below_the_numbers_and_the_terminal_is_not_overrun(height: int) -> None:
    at_s = READINGS[34].at_s
    decided = Decided(id=1, at_s=at_s - 12, mode="ask", policy="thumb", decision=wants(2, 4), effect="proposed")
    proposed = Proposed(at_s=at_s - 12, proposal=7, change=rescaled(4, 2), policy="thumb", expires_s=at_s + 500)
    paused = PolicyPaused(at_s=at_s - 5, who="ann", until_s=None)
    text = shown(state_after(READINGS[:35], [*EVENTS, decided, proposed, paused], height=height))
    assert "demo · ask · up" in text and "12s ago: thumb: executors 4 -> 2" in text
    assert "proposal    7: executors 4 -> 2; penstock approve 7, or reject 7, within 8m20s" in text
    assert "paused      by ann until it is resumed; penstock resume" in text
    assert len(text.splitlines()) < height
