import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import event_logs
import numpy as np
import pytest
from event_logs import START_S, STATIC, log_at, short_runs, streaming_log, wave, written

from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.estimate import Estimate
from penstock.core.monitor.facts import ExecutorFact
from penstock.eventlog.log_files import EventLog
from penstock.eventlog.log_files import event_logs as logs_at
from penstock.hindsight.audit import Audited, audit, audit_all, audit_of
from penstock.hindsight.audit_findings import needed_executors, needed_of, recovery_at, why_beyond
from penstock.hindsight.from_eventlog import watched
from penstock.hindsight.whatif import confidence, error_reasons
from penstock.runtime.fakes import blank_reading
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph
from penstock.wiring.simulation import simulate


def audit_lines(folder: Path, lines: Sequence[str]) -> Audited:
    return audit(log_at(written(folder / "app-1", lines)), STATIC)


def test_readings_from_a_log_are_those_of_the_job(log: EventLog) -> None:
    seen = watched(log, 86400.0)
    late = seen.readings[10:]
    assert {reading.executors_running for reading in late} == {6}
    assert np.mean([reading.arrival_rows_per_s for reading in late if reading.arrival_rows_per_s is not None]) == pytest.approx(2500.0, rel=0.1)
    assert np.mean([reading.throughput_rows_per_s for reading in late if reading.throughput_rows_per_s is not None]) == pytest.approx(2500.0, rel=0.1)
    assert {query.trigger for reading in late for query in reading.queries} == {Trigger(interval_s=5.0)}
    latencies = [reading.latency.p50_s for reading in late if reading.latency]
    assert len(latencies) == len(late) and np.mean(latencies) == pytest.approx(2.5 + 1.65, abs=0.4), "half a trigger and a batch"
    busy = [reading.busyness for reading in late if reading.busyness is not None]
    assert np.mean(busy) == pytest.approx(2500 * 0.001 / 12, rel=0.15)
    assert any("those of its topics" in note for note in seen.notes) and any("5s is assumed" in note for note in seen.notes)


def test_the_simulator_is_calibrated_to_the_truth_and_says_how_far_it_is_off(audited: Audited) -> None:
    settings = audited.what_if.like.found.settings
    assert isinstance(settings, MicroBatchSettings) and settings.overhead_s + settings.row_s * settings.skew * 12_500 / 12 == pytest.approx(1.64, rel=0.1)
    assert (settings.partitions, settings.cores_per_executor, settings.trigger) == (12, 2, Trigger(interval_s=5.0))
    assert audited.what_if.off is not None and audited.what_if.off < 0.15


def test_what_was_had_needed_and_wasted_adds_up(audited: Audited) -> None:
    assert audited.ran.duration_s == pytest.approx(1200.0, abs=45.0)
    assert audited.had_s == pytest.approx(6 * audited.ran.duration_s)
    assert audited.had_s == pytest.approx(audited.needed_s + audited.wasted_s - audited.short_s)
    needed = np.mean([math.ceil(rate / (2000.0 * (9.0 - 4.75 - 0.6) / 5.0)) for rate in wave(length_s=1200.0).rate_rows_per_s])
    assert audited.needed_s / audited.ran.duration_s == pytest.approx(needed, abs=0.35)
    assert audited.short_s == 0.0
    assert audited.batch_p95_s is not None and 1.5 < audited.batch_p95_s < 2.6


def test_a_policy_that_follows_the_load_saves_what_it_does_not_use(audited: Audited) -> None:
    static, hpa = audited.what_if.runs
    found = audited.what_if
    assert found.saved_executor_s(static) == pytest.approx(0.0, abs=0.02 * static.report.executor_s)
    assert hpa.report.average_executors < 5
    assert found.saved_executor_s(hpa) == pytest.approx((6 - hpa.report.average_executors) * hpa.report.duration_s, rel=0.02)
    assert found.off is not None and found.error_executor_s(static) == pytest.approx(found.off * static.report.executor_s)


def test_with_executors_that_the_job_never_had_the_error_is_at_least_what_rows_may_cost(audited: Audited) -> None:
    found, (static, hpa) = audited.what_if, audited.what_if.runs
    assert found.recorded.executors_used == 1 and found.is_at_recorded_executors(static) and not found.is_at_recorded_executors(hpa)
    assert found.off is not None and set(found.likely) == {"static", "hpa"}
    assert found.likely["hpa"].value == hpa.report.average_executors and found.likely["static"].low == found.likely["static"].high
    own_s = found.off * hpa.report.executor_s
    error_s = found.error_executor_s(hpa)
    assert error_s is not None and error_s >= own_s
    wide = replace(found, likely={"hpa": Estimate(value=3.0, low=2.5, high=5.0)})
    assert wide.error_executor_s(hpa) == pytest.approx(2.0 * hpa.report.duration_s)
    assert [why[0] for why in error_reasons(found)] == ["h", "≥"] and "as the measured batches allow" in error_reasons(found)[0]


def test_without_a_cost_of_rows_the_error_with_other_executors_is_unknown(audited: Audited) -> None:
    found, (static, hpa) = replace(audited.what_if, likely={}), audited.what_if.runs
    assert found.error_executor_s(hpa) is None and found.error_executor_s(static) is not None
    two = replace(found, recorded=replace(found.recorded, executors_used=2))
    moved_s = 15.0 * hpa.report.rescales
    assert two.off is not None and two.error_executor_s(hpa) == max(moved_s, two.off * hpa.report.executor_s) == moved_s
    error = replace(two.like.error, latency_p95=0.3)
    assert replace(two, like=replace(two.like, error=error)).error_executor_s(hpa) == pytest.approx(0.3 * hpa.report.executor_s)
    assert [why[0] for why in error_reasons(found)] == ["h", "?", "≥"] and [why[0] for why in error_reasons(two)] == ["h", "≥"]
    sure = replace(two, recorded=replace(two.recorded, duration_s=4 * 3600.0))
    assert confidence(sure).level == "good" and error_reasons(sure) == (
        "how far the simulator is off on the recorded run, or where each rescale comes a decision sooner or later: the widest",
    )


def test_the_recorded_run_and_the_same_executors_simulated_agree(audited: Audited) -> None:
    found = audited.what_if
    assert found.recorded.latency is not None and found.again.latency is not None
    assert found.again.average_executors == pytest.approx(6.0) and found.again.rescales == 0
    assert found.again.latency.p95_s == pytest.approx(found.recorded.latency.p95_s, rel=0.1)
    assert found.recorded.within_promise == 1.0 and found.again.within_promise == pytest.approx(1.0)
    assert confidence(found).level == "low" and "was recorded" in str(confidence(found)), "twenty minutes are not much"


def test_a_promise_that_is_not_kept_and_executors_that_do_not_carry_the_load_are_risks(tmp_path: Path) -> None:
    lines = streaming_log(executors=1, arrivals=wave(2000.0, share=0.0, length_s=600.0), length_s=600.0)
    found = audit_lines(tmp_path, lines)
    assert found.ran.within_promise is not None and found.ran.within_promise < 0.5 and found.ran.violation_s
    assert found.short_s > 0.5 * found.ran.duration_s
    assert any("latency was above 9s" in risk for risk in found.risks) and any("more arrived than its executors can process" in risk for risk in found.risks)


def test_a_recovery_that_would_take_longer_than_promised_is_a_risk(log: EventLog, tmp_path: Path) -> None:
    tight = log_at(written(tmp_path / "app-tight", streaming_log(executors=2, arrivals=wave(3000.0, share=0.0, length_s=600.0), length_s=600.0)))

    def said(of: EventLog, recovery_s: float) -> list[str]:
        asked = replace(STATIC, promises=Promises(recovery_s=recovery_s))
        return [risk for risk in audit(of, asked).risks if "to recover from a failure" in risk]

    assert said(log, 120.0) == [], "six executors have room to catch up"
    (risk,) = said(tight, 30.0)
    assert "longer than 30s" in risk
    assert said(tight, 3600.0) == []


def test_without_a_source_that_counts_what_was_processed_is_taken_for_what_arrived(tmp_path: Path) -> None:
    found = audit_lines(tmp_path, streaming_log(kafka=False, length_s=600.0))
    assert any("what words processed, not what arrived" in note for note in found.notes)
    assert np.mean(found.what_if.like.found.arrivals.rate_rows_per_s) == pytest.approx(2500.0, rel=0.15)


def test_executors_that_came_and_went_are_counted_as_long_as_they_were_there(tmp_path: Path) -> None:
    found = audit_lines(tmp_path, streaming_log(length_s=900.0, changes={300.0: 3, 600.0: 5}))
    assert found.ran.rescales >= 2 and found.ran.average_executors == pytest.approx((6 + 3 + 5) / 3, rel=0.06)
    assert found.what_if.again.rescales >= 2 and found.what_if.like.error.executors == pytest.approx(0.0, abs=0.06)


def test_what_a_query_finds_that_runs_for_seconds_of_every_minute_came_since_it_last_ran(tmp_path: Path) -> None:
    readings = watched(log_at(written(tmp_path / "app-1", short_runs(*[event_logs.QUERY_ID] * 12, rows=6000))), 3600.0).readings
    rates = [reading.arrival_rows_per_s for reading in readings if reading.arrival_rows_per_s is not None]
    assert len(rates) > 15 and rates == pytest.approx([100.0] * len(rates))
    done = [query.throughput_rows_per_s for reading in readings[4:] for query in reading.queries if query.batches]
    assert len(done) == 10 and all(each is not None and 80.0 < each < 101.0 for each in done)


def test_of_a_long_log_the_last_hours_are_looked_at(log: EventLog) -> None:
    seen = watched(log, 600.0)
    assert len(seen.readings) == 40 and seen.readings[-1].at_s > START_S + 1100
    assert any("only the last 10m of" in note for note in seen.notes)


def test_a_log_without_streaming_is_one_line_and_the_others_go_on(tmp_path: Path, log: EventLog) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "text").write_text("hello\n")
    written(tmp_path / "nightly", event_logs.batch_log())
    written(tmp_path / "young", streaming_log(length_s=40.0))
    written(tmp_path / "silent", [*event_logs.beginning("silent"), event_logs.query_started(START_S)])
    reported: list[float] = []
    audited, skipped = audit_all([*logs_at([tmp_path]), log], STATIC, reported.append)
    assert [each.name for each in audited] == ["counts"]
    assert {each.path.name: each.why for each in skipped}.keys() == {"empty", "text", "nightly", "young", "silent"}
    why = {each.path.name: each.why for each in skipped}
    assert "no streaming query ran in it: nightly is a batch job" in why["nightly"] and why["empty"] == "it is empty"
    assert "not an event log" in why["text"] and "committed no batch" in why["silent"]
    assert all("\n" not in each for each in why.values())
    assert reported == sorted(reported) and reported[-1] == pytest.approx(1.0)


def test_what_cannot_be_read_is_one_line_and_the_others_go_on(tmp_path: Path, log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of others, and logs that Spark renames while others are audited; root may read all, so that it may not is pretended."""
    for name in ("others/app-1", "reached/app-2", "app-3.inprogress", "eventlog_v2_app-4/events_1_app-4"):
        written(tmp_path / name, ["{}"])
    look_into, look_at = Path.iterdir, Path.is_file

    def iterdir(path: Path) -> Iterator[Path]:
        if path.name == "others":
            raise PermissionError(13, "Permission denied", str(path))
        return look_into(path)

    def is_file(path: Path) -> bool:
        if path.parent.name == "reached":
            raise PermissionError(13, "Permission denied", str(path))
        return look_at(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    monkeypatch.setattr(Path, "is_file", is_file)
    logs = [*logs_at([tmp_path]), *logs_at([tmp_path / "reached/app-2"]), log]
    (tmp_path / "app-3.inprogress").rename(tmp_path / "app-3")
    (tmp_path / "eventlog_v2_app-4/events_1_app-4").unlink()
    audited, skipped = audit_all(logs, STATIC)
    assert [each.name for each in audited] == ["counts"]
    why = {each.path.name: each.why for each in skipped}
    assert why["others"] == why["reached"] == why["app-2"] == "it cannot be read: Permission denied"
    assert "it has disappeared" in why["app-3.inprogress"] and "events_1_app-4: it has disappeared" in why["eventlog_v2_app-4"]


def test_the_duration_until_executors_come_may_be_set(log: EventLog) -> None:
    seen = watched(log, 86400.0)

    def taken(up_s: float | None) -> tuple[float, list[str]]:
        found = audit_of(log.path, seen, 6, replace(STATIC, up_s=up_s), lambda share: None)
        return found.what_if.like.found.settings.up_s, [note for note in found.notes if "s are assumed" in note]

    up_s, notes = taken(None)
    assert up_s == 5.0 and [note.split(" was seen")[0] for note in notes] == ["no scale-up", "no scale-down", "no restart of the query"]
    assert taken(90.0) == (90.0, notes[1:])


@pytest.fixture
def arriving(log: EventLog) -> Callable[..., Reading]:
    """A reading of queries q0, q1, ... at which rows arrive at these rates."""
    reading = watched(log, 86400.0).readings[20]
    (query,) = reading.queries
    return lambda *rates: replace(reading, queries=tuple(replace(query, name=f"q{place}", arrival_rows_per_s=rate) for place, rate in enumerate(rates)))


def test_the_fewest_executors_just_carry_the_load_or_the_most_of_it_or_are_what_there_was(arriving: Callable[..., Reading]) -> None:
    carried = {"q0": np.array([500.0, 1000.0, 1500.0]), "q1": np.array([0.0, 10.0, 20.0])}
    assert needed_executors([arriving(900.0), arriving(1000.0), arriving(5000.0), arriving()], carried).executors.tolist() == [2.0, 2.0, 3.0, 0.0]
    both = [arriving(*rates) for rates in ((250.0, 1.0), (900.0, 2.0), (0.0, 0.0))]
    assert needed_executors(both, carried).executors.tolist() == [2.0, 3.0, 1.0]
    needed = needed_executors([arriving(900.0), arriving(5000.0), arriving()], {"q0": np.array([500.0, 1000.0, 1000.0, 1000.0])})
    assert (needed.executors.tolist(), needed.beyond.tolist()) == ([2.0, 2.0, 0.0], [False, True, False])
    nothing = needed_executors([arriving(900.0), arriving(5000.0)], {"q0": np.zeros(24)})
    assert (nothing.executors.tolist(), nothing.beyond.tolist()) == ([6.0, 6.0], [True, True])


def test_executors_are_weighed_up_to_where_more_find_no_task(arriving: Callable[..., Reading]) -> None:
    job = MicroBatchSettings(overhead_s=0.0, row_s=0.001, partitions=40, cores_per_executor=2, trigger=Trigger(interval_s=5.0), query="q0")
    needed = needed_of([arriving(39_000.0), arriving(41_000.0)], {"q0": job}, Terms(), 1)
    assert (needed.executors.tolist(), needed.beyond.tolist()) == ([20.0, 20.0], [False, True])
    assert why_beyond({"q0": job}) == "a batch of q0 has 40 tasks, and executors beyond 20 get none"


def test_a_promise_that_no_executors_keep_is_a_risk_and_those_that_keep_up_are_needed(tmp_path: Path) -> None:
    asap = replace(event_logs.JOB, trigger=Trigger(interval_s=0.0))
    log = log_at(written(tmp_path / "app-1", streaming_log(asap, length_s=600.0)))
    found = audit(log, replace(STATIC, promises=Promises(latency_p95_s=1.0)))
    assert 0.0 < found.needed_s < 0.5 * found.had_s and found.short_s == 0.0
    assert not any("more arrived than its executors can process" in risk for risk in found.risks)
    (risk,) = [risk for risk in found.risks if risk.startswith("no number of executors keeps the promised latency: a batch of words takes ")]
    assert risk.endswith(" without any row, and may take 513ms")


def test_without_a_promise_a_batch_may_take_as_long_as_is_said(log: EventLog) -> None:
    seen = watched(log, 600.0)

    def found(longest_batch_s: float, latency_s: float | None = None) -> Audited:
        asked = replace(STATIC, promises=Promises(latency_p95_s=latency_s), longest_batch_s=longest_batch_s)
        return audit_of(log.path, seen, 6, asked, lambda share: None)

    tight, usual, wide = (found(longest_s) for longest_s in (2.0, 0.0, 60.0))
    assert tight.needed_s > usual.needed_s > wide.needed_s and found(10.0).needed_s == usual.needed_s
    assert tight.what_if.runs[0].setup.terms.config.longest_batch_s == 2.0, "policies are tried by the same"
    assert found(2.0, latency_s=9.0).needed_s == found(60.0, latency_s=9.0).needed_s, "a promise goes before"
    assert not any("promised latency" in risk for risk in found(0.1).risks), "none is promised"


def test_a_query_that_died_for_good_is_a_failure(tmp_path: Path) -> None:
    *lines, _ = streaming_log(length_s=600.0)
    gone = ExecutorFact(executor_id="1", host="here", slots=2, added_s=START_S)
    lines += [event_logs.query_terminated("the sink is full"), event_logs.executor_removed(gone, START_S + 660, "Executor killed by driver.")]
    seen = watched(log_at(written(tmp_path / "app-1", lines)), 86400.0)
    assert seen.failures == 1 and seen.readings[-1].queries == () and seen.readings[-1].failures == 0, "its last readings know nothing of it"
    assert "executors or queries failed 1 time" in audit_of(tmp_path / "app-1", seen, 6, STATIC, lambda share: None).risks


def test_failures_count_that_were_within_the_time_looked_at(tmp_path: Path) -> None:
    lines = streaming_log(length_s=600.0)
    added = next(each for each in lines if "SparkListenerExecutorAdded" in each)
    lost = ExecutorFact(executor_id=json.loads(added)["Executor ID"], host="here", slots=2, added_s=START_S)
    place = len(lines) // 4
    lines[place:place] = [event_logs.executor_removed(lost, START_S + 150, "Worker lost"), added]
    log = log_at(written(tmp_path / "app-1", lines))
    assert (watched(log, 86400.0).failures, watched(log, 300.0).failures) == (1, 0)
    assert watched(log, 300.0).readings[-1].failures == 1, "counts are those since the start"


DEAR = replace(event_logs.JOB, query="dear", row_s=4 * event_logs.JOB.row_s)
SHARED = QueryGraph(queries=(GraphQuery(settings=replace(event_logs.JOB, query="cheap")), GraphQuery(settings=DEAR, share=1 / 3)))


@pytest.fixture(scope="module", params=["fair", pytest.param("fifo", marks=pytest.mark.long)])
def two_queries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Audited:
    """The job of the log above, and a second query that reads a third of the rows, each of which costs four times as much."""
    lines = streaming_log(replace(SHARED, scheduler=request.param), length_s=900.0, executors=8)
    return audit(log_at(written(tmp_path_factory.mktemp("two") / "app-two", lines)), replace(STATIC, policies=("static", "hpa", "twres")))


def test_what_several_queries_need_is_added_up_by_the_cost_of_each(two_queries: Audited, audited: Audited) -> None:
    alone = audited.needed_s / audited.ran.duration_s
    assert 1.9 < two_queries.needed_s / two_queries.ran.duration_s / alone < 3.0, "a third of the rows at four times the cost"
    assert two_queries.had_s == pytest.approx(two_queries.needed_s + two_queries.wasted_s - two_queries.short_s)


def test_of_several_queries_what_each_policy_would_have_saved_is_near_the_truth(two_queries: Audited) -> None:
    found = two_queries.what_if
    assert found.like.found.left_out == () and any("cheap, dear: they are simulated together" in note for note in two_queries.notes)
    assert found.off is not None and found.off < 0.1
    static, hpa, twres = found.runs
    scheduler = found.like.found.scheduler
    true_hpa = simulate(replace(hpa.setup, engine=replace(SHARED, scheduler=scheduler), load=wave(length_s=900.0).moved(-found.like.found.start_s)))
    assert hpa.report.average_executors == pytest.approx(true_hpa.report.average_executors, rel=0.1)
    assert found.saved_executor_s(static) == pytest.approx(0.0, abs=0.02 * static.report.executor_s)
    assert found.saved_executor_s(hpa) == pytest.approx((8 - hpa.report.average_executors) * hpa.report.duration_s, rel=0.02)
    assert found.error_executor_s(hpa) is not None and set(found.likely) == {"static", "hpa", "twres"}
    assert twres.profiling_executor_s and len(twres.setup.terms.profile) > 20, "it was profiled with both queries"


def test_a_log_shows_whether_its_queries_wait_for_each_other(two_queries: Audited, tmp_path: Path) -> None:
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
    assert found.what_if.like.found.left_out == ("mute",) and found.what_if.saved_executor_s(found.what_if.runs[0]) is None
    assert "query mute is not simulated, and the executors it needs are not counted: the rows it read are not known" in found.notes
    assert str(confidence(found.what_if)).startswith("low: 1 query is not simulated")


SECOND_ID = f"{event_logs.QUERY_ID[:-1]}9"


def second_batch(number: int, started_s: float, took_s: float, rows: float, name: str) -> list[str]:
    stage = event_logs.StageFact(position=0, name="source", tasks=1, run_time_s=0.98 * took_s, rows=round(rows), reads_source=True)
    batch = event_logs.BatchFact(
        batch_id=number, started_s=started_s, committed_s=started_s + took_s, committed_wall_s=started_s + took_s, rows=rows,
        parts_s={"addBatch": 0.99 * took_s}, stages=(stage,),
    )  # fmt: skip
    return [*event_logs.batch_lines(batch, 100_000 + number, SECOND_ID), event_logs.progress(batch, rows * (number + 1), None, SECOND_ID, name)]


def test_real_time_mode_needs_penstock_itself_and_a_query_in_it_beside_others_is_named(tmp_path: Path) -> None:
    flow = [event_logs.query_started(START_S, SECOND_ID, "quick")]
    for number in range(18):
        flow += second_batch(number, START_S + 30.2 * number, 30.0, 1e6, "quick")
    with pytest.raises(UserMistake, match="runs in Real-Time Mode"):
        watched(log_at(written(tmp_path / "alone", [*event_logs.beginning("quick"), *flow])), 3600.0)
    found = audit_lines(tmp_path, merged(streaming_log(length_s=600.0), flow))
    assert found.what_if.like.found.settings.query == "words", "though the other one reads more"
    assert "query quick is not simulated, and the executors it needs are not counted: it ran in Real-Time Mode, and the busiest one did not" in found.notes
    assert found.what_if.saved_executor_s(found.what_if.runs[0]) is None


def test_a_second_query_that_runs_for_seconds_of_every_minute_cannot_be_measured_and_nothing_is_claimed(tmp_path: Path) -> None:
    runs: list[str] = []
    for number in range(15):
        start_s = START_S + 60.0 * number
        runs.append(event_logs.query_started(start_s, SECOND_ID, "archive"))
        runs += second_batch(2 * number, start_s + 2.0, 2.0, 3000.0, "archive") + second_batch(2 * number + 1, start_s + 5.0, 2.0, 3000.0, "archive")
        runs.append(event_logs.query_terminated(None, SECOND_ID))
    found = audit_lines(tmp_path, merged(streaming_log(length_s=900.0), runs))
    assert found.what_if.like.found.left_out == ("archive",) and found.what_if.saved_executor_s(found.what_if.runs[0]) is None
    assert "query archive is not simulated, and the executors it needs are not counted: it shows no batch that could be measured" in found.notes


def test_queries_that_share_executors_recover_with_what_the_others_leave(two_queries: Audited) -> None:
    found, terms = two_queries.what_if.like.found, Terms(promises=Promises(latency_p95_s=9.0, recovery_s=120.0))
    reading = replace(blank_reading(found.start_s + 300.0), executors_running=6)
    both = recovery_at(found, reading, terms, 600.0)
    assert both > max(recovery_at(replace(found, queries=(query,)), reading, terms, 600.0) for query in found.queries) > 0
    assert recovery_at(found, replace(reading, executors_running=1), terms, 600.0) == math.inf, "the others leave nothing"


def merged(*logs: Sequence[str]) -> list[str]:
    """The lines of several logs in the order of time; one that tells none comes right after the one before it."""
    timed: list[tuple[float, str]] = []
    for log in logs:
        at_ms = 0.0
        for each in log:
            at_ms = max(at_ms, moment_ms(json.loads(each)))
            timed.append((at_ms, each))
    return [each for _, each in sorted(timed, key=lambda pair: pair[0])]


def moment_ms(logged: dict[str, Any]) -> float:
    """When a line was logged: that of a batch with its end; 0 where it does not say."""
    if "progress" in logged:
        return datetime.fromisoformat(logged["progress"]["timestamp"]).timestamp() * 1000 + float(logged["progress"]["batchDuration"])
    if "timestamp" in logged:
        return datetime.fromisoformat(logged["timestamp"]).timestamp() * 1000
    return float(logged.get("Timestamp") or logged.get("Submission Time") or logged.get("Task Info", {}).get("Finish Time") or 0.0)


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> EventLog:
    """Twenty minutes of 1,500 to 3,500 rows/s on six executors, of which two or three would do."""
    return log_at(written(tmp_path_factory.mktemp("logs") / "app-counts.zstd", streaming_log(length_s=1200.0), "zstd"))


@pytest.fixture(scope="session")
def audited(log: EventLog) -> Audited:
    return audit(log, replace(STATIC, policies=("static", "hpa")))
