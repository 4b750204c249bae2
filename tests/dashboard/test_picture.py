import threading
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.image
import pytest
from changes import rescaled
from example_run import START_S, example_run

from penstock.core.domain.events.steering_events import InstructionGiven
from penstock.core.domain.job_spec import Promises
from penstock.core.errors import UserMistake
from penstock.dashboard.picture import draw, svg

READINGS, EVENTS = example_run()
PROMISES = Promises(latency_p95_s=5)


def words_in(picture: str) -> str:
    """The texts of an SVG: matplotlib draws letters as paths and leaves the text as comments."""
    return " ".join(part.split("-->")[0].strip() for part in picture.split("<!--")[1:])


def test_a_run_becomes_a_png_as_wide_as_a_readme_needs_and_another_ending_is_one_line(tmp_path: Path) -> None:
    draw(READINGS, EVENTS, PROMISES, tmp_path / "new" / "run.png", "demo")
    height, width, _ = matplotlib.image.imread(tmp_path / "new" / "run.png").shape
    assert (width, 1200 < height < 1700) == (2000, True)
    with pytest.raises(UserMistake, match=r"run\.gif: found the ending '\.gif', a picture ends in \.png or \.svg"):
        draw(READINGS, EVENTS, PROMISES, tmp_path / "run.gif", "demo")


def test_the_picture_names_its_panels_units_marks_and_the_promise(tmp_path: Path) -> None:
    draw(READINGS, EVENTS, PROMISES, tmp_path / "run.svg", "demo")
    text = (tmp_path / "run.svg").read_text()
    ElementTree.fromstring(text)
    drawn_words = words_in(text)
    panels = ("Workload and throughput", "rows/s", "Lag", "Latency", "Executors", "minutes since the start")
    assert [words for words in (*panels, "demo", "promised: p95 ≤ 5s", "1 → 2", "failed", "restarted") if words not in drawn_words] == []


def test_the_same_run_gives_the_same_picture_also_of_one_reading_and_an_empty_history_says_so() -> None:
    assert svg(READINGS, EVENTS, PROMISES) == svg(READINGS, EVENTS, PROMISES)
    assert "nothing recorded yet" in words_in(svg([], EVENTS, PROMISES, "demo"))
    assert "Executors" in words_in(svg(READINGS[:1], [], Promises()))


def test_what_was_never_known_is_unknown_and_units_follow_the_values() -> None:
    blind = [replace(each, arrival_rows_per_s=None, throughput_rows_per_s=None, lag_rows=None, excess_lag_rows=None, latency=None) for each in READINGS]
    assert words_in(svg(blind, [], Promises())).count("unknown") == 3
    fast = [replace(each, latency=replace(each.latency, p50_s=0.01, p95_s=0.02, p99_s=0.03) if each.latency else None) for each in READINGS]
    assert " ms " in words_in(svg(fast, [], Promises(latency_p95_s=0.1)))
    long = [replace(each, at_s=START_S + 1000.0 * i) for i, each in enumerate(READINGS)]
    assert "hours since the start" in words_in(svg(long, [], Promises()))


def test_hundreds_of_rescales_do_not_hide_the_rest() -> None:
    many = [InstructionGiven(at_s=START_S + i, number=i, knob="executors", change=rescaled(1, 2), reason="") for i in range(240)]
    drawn_words = words_in(svg(READINGS, [*many, *EVENTS], PROMISES))
    assert "1 → 2" not in drawn_words
    assert "failed" in drawn_words


def test_names_are_never_taken_for_formulas_or_tags(tmp_path: Path) -> None:
    title = r"$\frac{<script>&$ --> $x$"
    draw([], [], PROMISES, tmp_path / "run.png", title)
    assert (tmp_path / "run.png").stat().st_size > 1000
    text = svg(READINGS, [], PROMISES, title)
    assert ElementTree.fromstring(text).tag.endswith("svg") and "<script>" not in text


def test_a_picture_can_be_drawn_off_the_main_thread(tmp_path: Path) -> None:
    thread = threading.Thread(target=draw, args=(READINGS, EVENTS, PROMISES, tmp_path / "run.png", "demo"))
    thread.start()
    thread.join()
    assert (tmp_path / "run.png").stat().st_size > 10_000
