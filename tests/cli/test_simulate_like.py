from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from asked import found, mistake
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.engine_options import EngineOptions
from penstock.core.config import Config
from penstock.core.domain.events.run_events import RunStarted
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.redaction import Redactor
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader

JOB = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, trigger=Trigger(interval_s=4.0), noise=0.03)
TWO = QueryGraph(queries=(GraphQuery(settings=replace(JOB, query="clicks"), share=0.6), GraphQuery(settings=replace(JOB, query="views"), share=0.2)))


def recorded(folder: Path, job: MicroBatchSettings | QueryGraph[MicroBatchSettings] = JOB) -> Path:
    """Half an hour of a job in micro-batches, of which the truth is known."""
    path, clock, config = folder / "history.db", SimulatedClock(1_700_000_000.0), Config(reading_interval_s=10.0)
    load = Load.of(Arrivals.through(1_700_000_000.0 + np.arange(0, 1801, 20.0), 3000 + 1000 * np.sin(np.arange(91) / 7)), clock.now_s())
    plant = SimulatedPlant(MicroBatchEngine(job, load, executors=6), clock, config)
    history = History.open(path, config=config, redactor=Redactor())
    started = RunStarted(
        at_s=clock.now_s(), job="counts", master="embedded", mode="observe", spark_version="4.3", resumed=False, max_executors=8, recovery_s=300.0
    )
    history.append(clock.now_s(), events=[started])
    for _ in range(180):
        clock.wait(10.0)
        history.append(clock.now_s(), reading=plant.read())
    history.close()
    return path


def test_a_job_like_a_recorded_one_is_simulated_with_the_simulators_own_error(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    answer = found("simulate", "--like", path, "--policy", "static", "--promise-latency-ms", 9000)
    assert {"like", "own_error", "notes"} <= set(answer) and answer["engine"] == "micro-batch"
    assert answer["average_workers"] == pytest.approx(6) and answer["duration_s"] == pytest.approx(1800, abs=60)
    assert abs(answer["own_error"]["throughput"]) < 0.05 and abs(answer["own_error"]["latency_p95"]) < 0.2
    other = found("simulate", "--like", path, "--policy", "static", "--start-scaleout", 4)
    assert other["average_workers"] == pytest.approx(4) and other["latency_ms"]["p95"] > answer["latency_ms"]["p95"]


def test_a_job_of_several_queries_is_simulated_with_all_of_them(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("t,rate\n0,1600\n1800,1600\n")
    asked = ("simulate", "--like", recorded(tmp_path, TWO), "--policy", "static")
    answer = found(*asked)
    rows = {name: each["arrived_rows"] for name, each in answer["queries"].items()}
    assert rows["clicks"] == pytest.approx(3 * rows["views"], rel=0.03) and sum(rows.values()) == pytest.approx(0.8 * 3000 * 1770, rel=0.05)
    assert abs(answer["own_error"]["latency_p95"]) < 0.2 and "clicks, views: they are simulated together" in " ".join(answer["notes"])
    other = found(*asked, "--trace", trace, "--trigger", 20, "--cores", 2, "--downtime", 30, "--failures", 600)
    assert {name: each["arrived_rows"] for name, each in other["queries"].items()} == {
        "clicks": pytest.approx(0.75 * 1600 * 1800, rel=0.03),
        "views": pytest.approx(0.25 * 1600 * 1800, rel=0.03),
    }
    assert other["latency_ms"]["p50"] > 2 * answer["latency_ms"]["p50"] and other["failures"][0]["measured_s"] is not None


def test_options_of_the_engine_take_the_place_of_what_the_recorded_job_shows(tmp_path: Path) -> None:
    asked = ("simulate", "--like", recorded(tmp_path), "--policy", "static")
    as_found, slower = found(*asked), found(*asked, "--trigger", 20, "--engine", "micro-batch")
    assert slower["latency_ms"]["p50"] > 2 * as_found["latency_ms"]["p50"] and slower["own_error"] == as_found["own_error"]
    assert found(*asked, "--rate-limit", 1000)["waiting_rows"] > 10 * as_found["waiting_rows"]
    soon, late = (found(*asked, "--failures", 600, "--timeout-failures", each)["failures"][0]["measured_s"] for each in (5, 60))
    assert late - soon > 40


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "continuous"), "--engine: found continuous, the job of --like is micro-batch; leave it out"),
        (("--engine", "flink"), '--engine: found "flink", continuous or micro-batch is allowed'),
        (("--interval", 5), "--interval: it means nothing to the job of --like, which is micro-batch"),
        (("--skew", 0.5), "--skew: found 0.5, a number of at least 1 is needed"),
    ],
)
def test_an_option_that_means_nothing_to_the_recorded_job_is_one_line(tmp_path: Path, options: tuple[object, ...], said: str) -> None:
    assert said in mistake("simulate", "--like", recorded(tmp_path), *options)


def test_every_option_of_an_engine_is_taken_over_what_was_found() -> None:
    none = dict.fromkeys(each.name for each in fields(EngineOptions))
    shared = {"timeout_failures": 9.0, "noise": 0.3, "rate_limit": 70.0, "downtime": 4.0, "downtime_in": 3.0}
    batches = EngineOptions(**{**none, **shared, "trigger": 7.0, "overhead": 0.9, "row_cost_us": 50.0, "partitions": 5, "cores": 2, "skew": 1.5})
    assert batches.over(MicroBatchSettings(query="clicks")) == MicroBatchSettings(
        query="clicks", trigger=Trigger(interval_s=7.0), overhead_s=0.9, row_s=50e-6, partitions=5, cores_per_executor=2, skew=1.5,
        timeout_s=9.0, noise=0.3, rate_limit_rows_per_s=70.0, up_s=4.0, down_s=3.0,
    )  # fmt: skip
    flow = EngineOptions(**{**none, **shared, "capacity_per_worker": 800.0, "interval": 20.0, "skew": 0.2})
    assert flow.over(ContinuousSettings(capacity_rows_per_s=1.0, replays=False, query="clicks")) == ContinuousSettings(
        query="clicks", replays=False, capacity_rows_per_s=800.0, interval_s=20.0, skew=0.2, timeout_s=9.0, noise=0.3, rate_limit_rows_per_s=70.0,
        downtime_s=4.0, up_s=4.0, down_s=3.0,
    )  # fmt: skip
    assert EngineOptions(**none).over(MicroBatchSettings(row_s=0.003)) == MicroBatchSettings(row_s=0.003)


def test_the_table_of_a_job_like_a_recorded_one_says_how_far_to_believe_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("t,rate\n0,1500\n1800,2500\n")
    asked = ["simulate", "--like", str(recorded(tmp_path)), "--policy", "static"]
    shown = CliRunner(env={"COLUMNS": "160"}).invoke(app, asked, catch_exceptions=False).stdout
    assert "simulator on the recorded run" in shown and "throughput" in shown
    assert found(*asked, "--trace", trace)["duration_s"] == 1800


def test_only_the_last_part_of_the_history_is_read_a_day_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, since_s = recorded(tmp_path), list[float]()
    read = HistoryReader.readings

    def noted(reader: HistoryReader, from_s: float) -> Iterator[Reading]:
        since_s.append(from_s)
        return read(reader, from_s)

    monkeypatch.setattr(HistoryReader, "readings", noted)
    asked = ("simulate", "--like", path, "--policy", "static")
    assert found(*asked, "--last", "10m")["duration_s"] == pytest.approx(600, abs=30) and found(*asked)["duration_s"] == pytest.approx(1800, abs=60)
    assert [1_700_001_800.0 - each for each in since_s] == [600.0, 86400.0]


@pytest.mark.parametrize(("last", "said"), [("soon", "--last: found 'soon'"), ("5s", "--last: found 5s, at least 300s are needed")])
def test_a_last_that_is_none_is_one_line(tmp_path: Path, last: str, said: str) -> None:
    assert said in mistake("simulate", "--like", tmp_path / "absent.db", "--last", last)
