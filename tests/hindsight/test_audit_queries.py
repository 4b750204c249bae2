"""An audit of a job of several queries, which share its executors."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import event_logs
import pytest
from audits import STATIC, log_at
from event_logs import START_S, streaming_log, wave, written

from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Reading
from penstock.eventlog.files import EventLog
from penstock.hindsight.audit import Audited, audit, audit_of
from penstock.hindsight.audit_findings import recovery_at
from penstock.hindsight.from_eventlog import watched
from penstock.hindsight.whatif import confidence
from penstock.runtime.fakes import blank_reading
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.wiring.simulation import simulate

DEAR = replace(event_logs.JOB, query="dear", row_s=4 * event_logs.JOB.row_s)
SHARED = QueryGraph(queries=(GraphQuery(settings=replace(event_logs.JOB, query="cheap")), GraphQuery(settings=DEAR, share=1 / 3)))


@pytest.fixture(scope="module", params=["fair", "fifo"])
def two_queries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The job of the log above, and a second query that reads a third of the rows, each of which costs four times as much."""
    lines = streaming_log(replace(SHARED, scheduler=request.param), length_s=900.0, executors=8)
    return audit(log_at(written(tmp_path_factory.mktemp("two") / "app-two", lines)), replace(STATIC, policies=("static", "hpa", "twres")))


def test_what_several_queries_need_is_added_up_by_the_cost_of_each(two_queries: Audited, audited: Audited) -> None:
    alone = audited.needed_s / audited.ran.duration_s
    both = two_queries.needed_s / two_queries.ran.duration_s
    assert 1.9 < both / alone < 3.0, "a third of the rows at four times the cost"
    assert two_queries.had_s == pytest.approx(two_queries.needed_s + two_queries.wasted_s - two_queries.short_s)


def test_of_several_queries_what_each_policy_would_have_saved_is_near_the_truth(two_queries: Audited) -> None:
    found = two_queries.what_if
    assert found.like.found.left_out == () and any("cheap, dear: they are simulated together" in note for note in two_queries.notes)
    assert found.off is not None and found.off < 0.1
    static, hpa, twres = found.runs
    scheduler = found.like.found.scheduler
    true_hpa = simulate(replace(hpa.setup, engine=replace(SHARED, scheduler=scheduler), load=wave(length_s=900.0).moved(-found.like.found.start_s)))
    assert hpa.report.average_executors == pytest.approx(true_hpa.report.average_executors, rel=0.1)
    assert found.saved_worker_seconds(static) == pytest.approx(0.0, abs=0.02 * static.report.executor_s)
    assert found.saved_worker_seconds(hpa) == pytest.approx((8 - hpa.report.average_executors) * hpa.report.duration_s, rel=0.02)
    assert found.error_worker_seconds(hpa) is not None and set(found.likely) == {"static", "hpa", "twres"}
    assert twres.profiling_worker_seconds and len(twres.setup.terms.profile) > 20, "it was profiled with both queries"


def test_a_log_tells_whether_its_queries_wait_for_each_other(two_queries: Audited, tmp_path: Path) -> None:
    fair = streaming_log(SHARED, length_s=60.0, executors=8)
    assert watched(log_at(written(tmp_path / "fair", fair)), 3600.0).scheduler == "fair"
    one_pool = [each.replace('"spark.scheduler.pool":"dear"', '"spark.scheduler.pool":"cheap"') for each in fair]
    assert watched(log_at(written(tmp_path / "pool", one_pool)), 3600.0).scheduler == "fifo"
    unset = [each.replace('"spark.scheduler.mode":"FAIR"', '"spark.scheduler.mode":"FIFO"') for each in fair]
    assert watched(log_at(written(tmp_path / "unset", unset)), 3600.0).scheduler == "fifo"
    assert two_queries.what_if.like.found.settings.query == "cheap"


def test_a_query_whose_cost_is_not_known_is_named_as_it_counts_as_nothing(log: EventLog) -> None:
    seen = watched(log, 86400.0)

    def with_a_second(reading: Reading) -> Reading:
        mute = [replace(each, name="mute", arrival_rows_per_s=None, throughput_rows_per_s=None, batch=None) for each in reading.queries]
        return replace(reading, queries=(*reading.queries, *mute))

    found = audit_of(log.path, replace(seen, readings=tuple(map(with_a_second, seen.readings))), 6, STATIC, lambda share: None)
    assert found.what_if.like.found.left_out == ("mute",) and found.what_if.saved_worker_seconds(found.what_if.runs[0]) is None
    assert "query mute is not simulated, and the executors it needs are not counted: the rows it read are not known" in found.notes
    assert str(confidence(found.what_if)).startswith("low: 1 query is not simulated")


SECOND_ID = f"{event_logs.QUERY_ID[:-1]}9"


def second_batch(number: int, started_s: float, took_s: float, rows: float, name: str) -> list[str]:
    """A batch of a second query, with stages of its own."""
    stage = event_logs.StageFact(position=0, name="source", tasks=1, run_time_s=0.98 * took_s, rows=round(rows), reads_source=True)
    batch = event_logs.BatchFact(
        batch_id=number, started_s=started_s, committed_s=started_s + took_s, committed_wall_s=started_s + took_s, rows=rows,
        parts_s={"addBatch": 0.99 * took_s}, stages=(stage,),
    )  # fmt: skip
    return [*event_logs.batch_lines(batch, 100_000 + number, SECOND_ID), event_logs.progress(batch, rows * (number + 1), None, SECOND_ID, name)]


def test_a_query_in_real_time_mode_beside_others_is_named_and_nothing_is_claimed(tmp_path: Path) -> None:
    flow = [event_logs.query_started(START_S, SECOND_ID, "quick")]
    for number in range(18):
        flow += second_batch(number, START_S + 30.2 * number, 30.0, 1e6, "quick")
    found = audit(log_at(written(tmp_path / "app-1", merged(streaming_log(length_s=600.0), flow))), STATIC)
    assert found.what_if.like.found.settings.query == "words", "though the other one reads more"
    assert "query quick is not simulated, and the executors it needs are not counted: it ran in Real-Time Mode, and the busiest one did not" in found.notes
    assert found.what_if.saved_worker_seconds(found.what_if.runs[0]) is None


def test_a_second_query_that_runs_for_seconds_of_every_minute_cannot_be_measured_and_nothing_is_claimed(tmp_path: Path) -> None:
    runs: list[str] = []
    for number in range(15):
        start_s = START_S + 60.0 * number
        runs.append(event_logs.query_started(start_s, SECOND_ID, "archive"))
        runs += second_batch(2 * number, start_s + 2.0, 2.0, 3000.0, "archive") + second_batch(2 * number + 1, start_s + 5.0, 2.0, 3000.0, "archive")
        runs.append(event_logs.query_terminated(None, SECOND_ID))
    found = audit(log_at(written(tmp_path / "app-1", merged(streaming_log(length_s=900.0), runs))), STATIC)
    assert found.what_if.like.found.left_out == ("archive",) and found.what_if.saved_worker_seconds(found.what_if.runs[0]) is None
    assert "query archive is not simulated, and the executors it needs are not counted: it shows no batch that could be measured" in found.notes


def test_queries_that_share_executors_recover_with_what_the_others_leave(two_queries: Audited) -> None:
    found, promises = two_queries.what_if.like.found, Promises(latency_p95_s=9.0, recovery_s=120.0)
    reading = replace(blank_reading(found.start_s + 300.0), executors_running=6)
    both = recovery_at(found, reading, promises, 600.0)
    alone = [recovery_at(replace(found, queries=(query,)), reading, promises, 600.0) for query in found.queries]
    assert both > max(alone) > 0
    assert recovery_at(found, replace(reading, executors_running=1), promises, 600.0) == math.inf, "the others leave nothing"


def merged(*logs: Sequence[str]) -> list[str]:
    """The lines of several logs in the order of time; one that tells none comes right after the one before it."""
    timed: list[tuple[float, str]] = []
    for log in logs:
        at_ms = 0.0
        for each in log:
            at_ms = max(at_ms, moment_ms(json.loads(each)))
            timed.append((at_ms, each))
    return [each for _, each in sorted(timed, key=lambda pair: pair[0])]


def moment_ms(told: dict[str, Any]) -> float:
    """When a line was logged: that of a batch with its end; 0 where it does not say."""
    if "progress" in told:
        return datetime.fromisoformat(told["progress"]["timestamp"]).timestamp() * 1000 + float(told["progress"]["batchDuration"])
    if "timestamp" in told:
        return datetime.fromisoformat(told["timestamp"]).timestamp() * 1000
    return float(told.get("Timestamp") or told.get("Submission Time") or told.get("Task Info", {}).get("Finish Time") or 0.0)
