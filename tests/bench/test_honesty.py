"""The comparison itself, with a simulated job in the place of the real one."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from waved_job import ENGINE, TERMS, waved

from penstock.bench.honesty import Honesty, Recorded, honesty, side_of, wave
from penstock.core.domain.event import InstructionGiven
from penstock.core.domain.reading import Quantiles
from penstock.runtime.fakes import blank_reading
from penstock.simulator.calibrate import calibrated


def recorded(seconds: float, seed: int) -> Recorded:
    run = waved(wave(seconds), seconds, seed=seed)
    return Recorded(readings=run.readings, events=run.events, terms=TERMS)


@pytest.fixture(scope="module")
def found() -> Honesty:
    source = recorded(120.0, seed=7)
    return honesty(recorded(240.0, seed=8), calibrated(source.readings, source.events, TERMS.config), "another run")


def test_a_simulator_calibrated_by_another_run_of_the_same_job_is_within_all_targets(found: Honesty) -> None:
    assert [each.what for each in found.compared] == ["average executors", "rescales", "latency p95, s"]
    assert all(each.met for each in found.compared), found.compared
    assert found.spark.rescales >= 2 and 1.0 < found.spark.average_executors < 4.0, "there was something to compare"
    assert 180 < found.compared_s <= 240


def test_what_was_compared_and_how_it_ended_is_printed(found: Honesty) -> None:
    rows = dict(found.rows())
    assert rows["calibrated from"] == "another run" and rows["average executors"].endswith("pass")
    assert asdict(found)["compared"][0]["met"] is True


def test_a_simulator_of_another_job_misses() -> None:
    slower = waved(wave(120.0), 120.0, engine=replace(ENGINE, row_s=3 * ENGINE.row_s))
    missed = honesty(recorded(240.0, seed=8), calibrated(slower.readings, slower.events, TERMS.config), "another job")
    assert not all(each.met for each in missed.compared), "rows that cost three times as much need other sizes"
    assert any("MISS" in words for _, words in missed.rows())


def test_a_side_counts_from_when_the_job_had_caught_up() -> None:
    late = Quantiles(p50_s=1.0, p95_s=2.0, p99_s=2.0)
    sizes = [4, 4, 4, 1, 1, 3, 3]
    readings = [blank_reading(2.0 * i, executors_running=size, latency=late, throughput_rows_per_s=10.0) for i, size in enumerate(sizes)]
    given = [InstructionGiven(at_s=at_s, number=1, knob=knob, before="4", after=after, reason="") for at_s, knob, after in
             ((1.0, "executors", "1"), (9.0, "executors", "3"), (9.0, "executors", "4"), (9.0, "query:q", "3"))]  # fmt: skip
    side = side_of(readings, given, 0.0, TERMS)
    assert side.average_executors == pytest.approx((1 * 4 + 3 * 2) / 6), "from a window after the start on, each until the next"
    assert side.rescales == 2, "asked for after the start, of executors, and truly changes"
    assert side.latency_p95_s == pytest.approx(2.0)
