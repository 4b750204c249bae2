from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import typer
from waved_job import ENGINE, TERMS, at_rates

from penstock.cli.selftest import fail_on_a_miss
from penstock.core.domain.reading import Quantiles
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.runtime.fakes import blank_reading
from penstock.selftest.honesty import HIGHEST, LOWER, Honesty, honesty, side_of
from penstock.selftest.recorded_run import ATTEMPTS, Made, Recorded, quiet_run, wave
from penstock.selftest.speed import Speed
from penstock.simulator.calibrate import calibrated

SLOWER = replace(ENGINE, trigger=Trigger(interval_s=5.0))
READ = replace(TERMS, config=replace(TERMS.config, reading_window_s=10.0))
AUTO = replace(READ, autopilot=replace(READ.autopilot, policy="auto"))


def rates(highest: float) -> list[float]:
    return [*[200.0] * 60, *wave(480.0, highest).rate_rows_per_s]


def recorded(highest: float, seed: int, terms: Terms = READ) -> Recorded:
    run = at_rates(rates(highest), engine=SLOWER, terms=terms, seed=seed)
    return Recorded(readings=run.readings, events=run.events, terms=terms, start_s=run.readings[0].at_s, end_s=run.readings[-1].at_s)


@pytest.fixture(scope="module")
def found() -> Honesty:
    source = recorded(LOWER, seed=7, terms=AUTO)
    return honesty(recorded(HIGHEST, seed=8, terms=AUTO), calibrated(source.readings, source.events, READ.config), "another run")


def test_a_simulator_calibrated_by_another_run_of_the_same_job_is_within_all_targets(found: Honesty) -> None:
    assert [each.what for each in found.compared] == ["average executors", "rescales", "latency p95, s"]
    assert all(each.met for each in found.compared), found.compared
    assert found.spark.rescales >= 2 and 1.0 < found.spark.average_executors < 4.0, "there was something to compare"
    assert 480 < found.compared_s <= 540


def test_what_was_compared_and_how_it_ended_is_printed(found: Honesty) -> None:
    rows = dict(found.rows())
    assert rows["calibrated from"] == "another run" and rows["average executors"].endswith("pass")
    assert asdict(found)["compared"][0]["met"] is True


def test_requesting_the_same_executors_again_is_no_rescale() -> None:
    late = Quantiles(p50_s=1.0, p95_s=2.0, p99_s=2.0)
    running = [3, 3, 2, 3, 2, 2, 2]
    readings = [blank_reading(2.0 * i, executors_running=executors, executors_requested=3 if i < 2 else 2, latency=late, throughput_rows_per_s=10.0)
                for i, executors in enumerate(running)]  # fmt: skip
    assert side_of(readings, 0.0, TERMS).rescales == 1, "an executor that came back after all is sent away again: no other number was decided"


def test_a_simulator_of_another_job_misses() -> None:
    slower = at_rates(rates(LOWER), engine=replace(SLOWER, row_s=3 * SLOWER.row_s))
    missed = honesty(recorded(HIGHEST, seed=8), calibrated(slower.readings, slower.events, READ.config), "another job")
    assert not all(each.met for each in missed.compared), "rows that cost three times as much need other executors"
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
    executor_counts = [4, 4, 4, 1, 1, 3, 3]
    asked = [4, 4, 1, 1, 1, 3, 3]
    readings = [blank_reading(2.0 * i, executors_running=executors, executors_requested=wanted, latency=late, throughput_rows_per_s=10.0)
                for i, (executors, wanted) in enumerate(zip(executor_counts, asked, strict=True))]  # fmt: skip
    side = side_of(readings, 0.0, TERMS)
    assert side.average_executors == pytest.approx((3 * 4 + 2 * 1 + 3) / 6), "each until the next"
    assert side.rescales == 2 and side_of(readings, 4.0, TERMS).rescales == 1, "asked for after the start"
    assert side.latency_p95_s == pytest.approx(2.0)


def test_a_run_is_compared_from_when_its_policy_began_to_decide() -> None:
    run = recorded(HIGHEST, seed=8)
    known = calibrated(run.readings, run.events, READ.config)
    assert honesty(replace(run, start_s=60.0), known, "itself").compared_s == pytest.approx(run.readings[-1].at_s - 60.0)


def test_latency_counts_only_while_the_machine_was_ours() -> None:
    usual, stalled = Quantiles(p50_s=1.0, p95_s=2.0, p99_s=2.0), Quantiles(p50_s=20.0, p95_s=30.0, p99_s=30.0)
    readings = [blank_reading(2.0 * i, latency=stalled if 10 <= i < 14 else usual, throughput_rows_per_s=10.0) for i in range(40)]
    assert side_of(readings, 0.0, READ).latency_p95_s > 20.0
    assert side_of(readings, 0.0, READ, [(20.0, 26.0)]).latency_p95_s == pytest.approx(2.0)
    with pytest.raises(RuntimeError, match="half of it had CPU steal"):
        side_of(readings, 0.0, READ, [(20.0, 70.0)])


def test_a_run_that_others_disturbed_is_made_again_whatever_it_shows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run, bar = recorded(HIGHEST, seed=8), list[tuple[int, int]]()
    loud = replace(run, stolen=((run.readings[0].at_s, run.readings[0].at_s + 200.0),))
    made, runs = Made(progress=lambda *so_far: bar.append(so_far), all_s=1080.0), [loud, run]

    def ran(seconds: float, highest: float, history: Path, progress: Callable[[float], None]) -> Recorded:
        progress(1.0)
        return runs.pop(0)

    monkeypatch.setattr("penstock.selftest.recorded_run.recorded_run", ran)
    assert quiet_run(480.0, HIGHEST, tmp_path / "run.db", made) is run and made.repeated == 1
    assert bar == [(540, 1080), (1080, 1620)], "the bar knows of one run more"
    runs += ATTEMPTS * [loud]
    with pytest.raises(UserMistake, match="for 200 of 480 s"):
        quiet_run(480.0, HIGHEST, tmp_path / "run.db", made)


def test_the_latency_with_nothing_left_out_is_reported_too() -> None:
    run = recorded(HIGHEST, seed=8)
    known = calibrated(run.readings, run.events, READ.config)
    at_s = run.readings[len(run.readings) // 2].at_s
    late = Quantiles(p50_s=60.0, p95_s=90.0, p99_s=90.0)
    stalled = replace(run, readings=tuple(replace(each, latency=late) if at_s <= each.at_s <= at_s + 40.0 else each for each in run.readings))
    found = honesty(replace(stalled, stolen=((at_s, at_s + 40.0),)), known, "itself")
    assert not found.missed and not found.unsifted.met, "the stall was not the job's doing, and is not hidden"
    assert "latency p95, s, nothing left out" in dict(found.rows())
    assert "latency p95, s, nothing left out" not in dict(honesty(run, known, "itself").rows()), "nothing was"
