"""The comparison itself, with a simulated job in the place of the real one."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
import typer
from waved_job import ENGINE, TERMS, waved

from penstock.bench.honesty import Honesty, Recorded, honesty, side_of, wave
from penstock.bench.speed import Speed
from penstock.cli.bench import fail_on_a_miss
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


def test_asking_once_more_for_a_size_that_was_asked_for_is_no_rescale() -> None:
    late = Quantiles(p50_s=1.0, p95_s=2.0, p99_s=2.0)
    running = [3, 3, 2, 3, 2, 2, 2]
    readings = [blank_reading(2.0 * i, executors_running=size, executors_requested=3 if i < 2 else 2, latency=late, throughput_rows_per_s=10.0)
                for i, size in enumerate(running)]  # fmt: skip
    assert side_of(readings, 0.0, TERMS).rescales == 1, "an executor that came back after all is sent away again: nobody wanted another size"


def test_a_simulator_of_another_job_misses() -> None:
    slower = waved(wave(120.0), 120.0, engine=replace(ENGINE, row_s=3 * ENGINE.row_s))
    missed = honesty(recorded(240.0, seed=8), calibrated(slower.readings, slower.events, TERMS.config), "another job")
    assert not all(each.met for each in missed.compared), "rows that cost three times as much need other sizes"
    assert any("MISS" in words for _, words in missed.rows()) and missed.missed == tuple(each.what for each in missed.compared if not each.met)


def test_a_missed_target_ends_with_exit_code_1_and_is_named(found: Honesty, capsys: pytest.CaptureFixture[str]) -> None:
    fail_on_a_miss({"honesty": found, "source": object()})
    off = replace(found, compared=(replace(found.compared[0], met=False), *found.compared[1:]))
    with pytest.raises(typer.Exit) as ended:
        fail_on_a_miss({"speed": Speed(static_s=1.0, policy_s=61.0, turn_ms={"auto": 9.0}), "honesty": off})
    assert ended.value.exit_code == 1
    said = capsys.readouterr().err.splitlines()
    assert said == ["penstock: speed: six hours of daedalus: the target is missed", "penstock: honesty: average executors: the target is missed"]


def test_a_side_counts_from_when_the_job_had_caught_up() -> None:
    late = Quantiles(p50_s=1.0, p95_s=2.0, p99_s=2.0)
    sizes = [4, 4, 4, 1, 1, 3, 3]
    asked = [4, 4, 1, 1, 1, 3, 3]
    readings = [blank_reading(2.0 * i, executors_running=size, executors_requested=wanted, latency=late, throughput_rows_per_s=10.0)
                for i, (size, wanted) in enumerate(zip(sizes, asked, strict=True))]  # fmt: skip
    side = side_of(readings, 0.0, TERMS)
    assert side.average_executors == pytest.approx((1 * 4 + 3 * 2) / 6), "from a window after the start on, each until the next"
    assert side.rescales == 2 and side_of(readings, 4.0, TERMS).rescales == 1, "asked for after the start"
    assert side.latency_p95_s == pytest.approx(2.0)
