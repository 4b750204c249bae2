import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from asked import drawn, found, mistake
from histories import opened
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.replay import what_if_of
from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.run_events import RunStarted
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.policies.registry import POLICIES
from penstock.core.redaction import Redactor
from penstock.runtime.controller import Controller
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.history import History
from penstock.stores.recorder import this_penstock

START_S = 1_700_000_000.0


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty minutes of a job on six executors, steered by a policy that watches how busy they are; all of it recorded."""
    path, clock, config = tmp_path_factory.mktemp("job") / "history.db", SimulatedClock(START_S), Config(reading_interval_s=10.0)
    load = Load.of(Arrivals.through(START_S + np.arange(0, 1201, 20.0), 2500 + 800 * np.sin(np.arange(61) / 6)), START_S)
    settings = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, trigger=Trigger(interval_s=4.0), noise=0.03)
    plant = SimulatedPlant(MicroBatchEngine(settings, load, executors=6), clock, config)
    memory = History.open(path, config=config, redactor=Redactor(), recorder=this_penstock())
    started = RunStarted(
        at_s=START_S, job="counts", master="embedded", mode="active", spark_version="4.3", resumed=False, max_executors=8, latency_p95_s=9.0, recovery_s=300.0
    )
    memory.append(START_S, events=[started])
    terms = Terms(
        limits=Limits(min_executors=3, max_executors=8, start_executors=6), promises=Promises(latency_p95_s=9.0, recovery_s=300.0), config=config,
        autopilot=Autopilot(mode="active", policy="hpa", rollback=False),
    )  # fmt: skip
    controller = Controller(source=plant, actuator=plant, memory=memory, clock=clock, terms=terms, declared=Configuration(executors=6))
    for _ in range(120):
        clock.wait(10.0)
        plant.advance()
        controller.step()
    controller.close()
    memory.close()
    return path


@pytest.mark.usefixtures("few")
def test_all_policies_stand_beside_what_was_run(history: Path) -> None:
    answer = found("replay", history, "--policy", "all")
    assert [each["policy"] for each in answer["policies"]] == ["static", "hpa"]
    assert set(answer["own_error"]) == {"executors", "latency_p95", "throughput"} and answer["off"] < 0.4
    assert answer["recorded"]["average_workers"] < 6 and answer["recorded"]["rescales"] >= 1
    assert answer["again"]["average_workers"] == pytest.approx(answer["recorded"]["average_workers"], rel=0.1)
    static, hpa = answer["policies"]
    assert static["average_workers"] == pytest.approx(answer["policies"][0]["worker_seconds"] / static["duration_s"])
    assert hpa["error_worker_seconds"] >= 0.99 * answer["off"] * hpa["worker_seconds"] and hpa["error_is_at_least"]
    assert static["within_latency"] is not None, "the promise is that of the recorded job"
    assert answer["confidence"]["level"] == "low" and answer["confidence"]["reasons"]


def test_other_promises_more_executors_and_only_the_last_part_may_be_asked_for(history: Path) -> None:
    asked = ("replay", history, "--policy", "static")
    kept, broken = (found(*asked, "--promise-latency-ms", each)["policies"][0]["violation_s"] for each in (60_000, 1000))
    assert kept == 0 < broken
    assert found(*asked, "--max-executors", 2)["policies"][0]["average_workers"] == pytest.approx(2.0)
    answer = found("replay", history, "--policy", "static", "--last", "10m")
    assert answer["recorded"]["duration_s"] == pytest.approx(600, abs=20) and answer["policies"][0]["duration_s"] == pytest.approx(600, abs=40)


def test_the_fewest_executors_are_those_of_the_recorded_job(history: Path) -> None:
    def fewest(most: int | None) -> int:
        return what_if_of(str(history), ("static",), 1200.0, None, None, most, 0).asked.limits.min_executors

    assert (fewest(None), fewest(2)) == (3, 2)
    assert "--start-scaleout: found 2, a number from 3 to 8 is allowed" in mistake("simulate", "--like", history, "--start-scaleout", 2)
    assert found("simulate", "--like", history, "--policy", "static", "--min-scaleout", 1, "--start-scaleout", 2)["average_workers"] == pytest.approx(2.0)


@pytest.mark.long
def test_all_policies_are_tried_on_a_calibrated_engine(history: Path) -> None:
    answer = found("replay", history, "--policy", "all")
    assert [each["policy"] for each in answer["policies"]] == list(POLICIES) and len(POLICIES) >= 10
    for each in answer["policies"]:
        assert 3.0 <= each["average_workers"] <= 8.0 and each["latency_ms"]["p50"] > 0, each["policy"]
        assert each["saved_worker_seconds"] is not None and each["error_worker_seconds"] > 0, each["policy"]
    assert len({each["worker_seconds"] for each in answer["policies"]}) >= 4, "they differ"


@pytest.mark.long
def test_a_job_that_is_to_recover_sooner_gets_more_executors(history: Path) -> None:
    soon, late = (found("replay", history, "--policy", "daedalus", "--target-recovery", each)["policies"][0]["average_workers"] for each in (12, 600))
    assert soon > late


def test_people_get_a_table_with_the_recorded_run_and_the_own_error_and_a_picture_of_the_simulation(history: Path, tmp_path: Path) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["replay", str(history), "--policy", "static"], catch_exceptions=False)
    for words in ("as recorded", "the same executors, simulated", "static", "executor-seconds", "saves", "simulator on the recorded run", "confidence: "):
        assert words in done.stdout
    assert "simulated seconds" in done.stderr and "{" not in done.stdout
    picture = drawn(tmp_path, "replay", history, "--policy", "static")
    assert "static on" in picture and "Executors" in picture


def test_a_recorded_run_is_verified_byte_for_byte(history: Path) -> None:
    answer = found("replay", history, "--verify")
    assert answer["turns"] >= 119 and answer["keyframes"] >= 1 and answer["first_difference"] is None
    shown = CliRunner().invoke(app, ["replay", str(history), "--verify"], catch_exceptions=False)
    assert shown.exit_code == 0 and "the same decisions, byte for byte" in shown.stdout


@pytest.fixture
def tampered(history: Path, tmp_path: Path) -> Path:
    """The same, but for readings that say something else from the sixtieth on."""
    path = tmp_path / "tampered.db"
    with sqlite3.connect(history) as whole, sqlite3.connect(path) as copy:
        whole.backup(copy)
        readings = whole.execute("SELECT id, json FROM readings WHERE id > 60").fetchall()
        copy.executemany("UPDATE readings SET json = ? WHERE id = ?", [(busier(text), number) for number, text in readings])
    copy.close()
    whole.close()
    return path


def test_a_difference_is_shown_and_ends_with_exit_code_1(tampered: Path) -> None:
    answer = found("replay", tampered, "--verify", code=1)
    difference = answer["first_difference"]
    assert difference["at_s"] > START_S + 500 and difference["recorded"] != difference["replayed"]
    assert difference["recorded_by"] == answer["replayed_by"] == asdict(this_penstock())
    shown = CliRunner().invoke(app, ["replay", str(tampered), "--verify"], catch_exceptions=False)
    assert shown.exit_code == 1 and "is the first that differs\n" in shown.stdout and "replayed: " in shown.stdout


@pytest.mark.parametrize(
    ("recorder", "said"),
    [
        ('{"version":"0.0.9","core":"5f2a90c1b7de"}', "differs; recorded by another version (0.0.9, core 5f2a90c1b7de; this is {this}): decisions may"),
        ('{"version":"0.0.9"}', "differs; recorded by another version (0.0.9; this is {this}): decisions may differ for that reason"),
    ],
)
def test_decisions_that_differ_are_said_to_be_of_another_version_where_they_are(tampered: Path, recorder: str, said: str) -> None:
    recorded_by(tampered, recorder)
    shown = CliRunner().invoke(app, ["replay", str(tampered), "--verify"], catch_exceptions=False)
    assert shown.exit_code == 1 and said.format(this=this_penstock()) in shown.stdout


def test_the_same_decisions_are_the_same_whichever_version_recorded_them(history: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(history, tmp_path / "history.db"))
    recorded_by(path, '{"version":"0.0.9"}')
    shown = CliRunner().invoke(app, ["replay", str(path), "--verify"], catch_exceptions=False)
    assert shown.exit_code == 0 and "the same decisions, byte for byte" in shown.stdout and "version" not in shown.stdout


def recorded_by(path: Path, recorder: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        assert connection.execute("UPDATE keyframes SET recorder = ?", (recorder,)).rowcount > 0


def busier(text: str) -> str:
    """A reading in which all executors are twice as busy."""
    reading: dict[str, Any] = json.loads(text)
    for executor in reading["executors"]:
        executor["busyness"] = min(1.0, 2 * (executor["busyness"] or 0.0) + 0.4)
    return json.dumps(reading)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "deadalus"), 'there is no policy "deadalus"'),
        (("--target-recovery", 0), "--target-recovery: found 0"),
        (("--promise-latency-ms", "nan"), "--promise-latency-ms: found nan"),
        (("--max-executors", 0), "--max-executors: found 0"),
        (("--last", "often"), "--last: found 'often'"),
        (("--verify", "--policy", "hpa"), "--policy: --verify replays what was recorded as it was"),
        (("--plot", "picture.pdf"), "ends in .png or .svg"),
    ],
)
def test_a_bad_option_is_one_line(history: Path, options: tuple[object, ...], said: str) -> None:
    assert said in mistake("replay", history, *options)


def test_a_history_that_is_not_there_or_holds_nothing_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    assert "there is no history of a job 'absent'" in mistake("replay", "absent")
    empty = tmp_path / "history.db"
    opened(empty).close()
    assert "holds no readings" in mistake("replay", empty)
