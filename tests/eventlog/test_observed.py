import tracemalloc
from pathlib import Path

import event_logs
import numpy as np
import pytest
from event_logs import START_S, short_runs, streaming_log, written

from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.monitor.facts import BatchFact, Observation
from penstock.eventlog.bytes import torn_frames
from penstock.eventlog.events import JobStarted, QueryIdle, QueryProgressed, TaskEnded, Unreadable
from penstock.eventlog.lines import logged
from penstock.eventlog.log_files import EventLog
from penstock.eventlog.log_files import event_logs as logs_at
from penstock.eventlog.logged_query import LoggedQuery, Rhythm
from penstock.eventlog.observed import LoggedApplication, observations


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Five minutes in which six executors become four."""
    return streaming_log(length_s=300.0, changes={150.0: 4})


def seen_in(path: Path) -> tuple[LoggedApplication, list[Observation]]:
    (log,), application = logs_at([path]), LoggedApplication()
    return application, list(observations(log, application, 15.0))


def batches(looks: list[Observation]) -> list[BatchFact]:
    return [batch for look in looks for query in look.queries for batch in query.batches]


def test_a_log_is_observed_at_intervals_from_the_first_query_on(tmp_path: Path, lines: list[str]) -> None:
    application, looks = seen_in(written(tmp_path / "app-1", lines))
    assert (application.name, application.app_id, application.unreadable_lines) == ("counts", "app-counts", 0)
    assert [look.at_s - START_S for look in looks[:3]] == [15.0, 30.0, 45.0] and len(looks) >= 18
    assert {len(look.executors) for look in looks[:8]} == {6} and {len(look.executors) for look in looks[13:]} == {4}
    assert {executor.slots for look in looks for executor in look.executors} == {2}
    assert looks[-1].executors_lost == 0, "they were taken away, not lost"
    assert looks[-1].queries[0].name == "words" and looks[-1].queries[0].trigger == Trigger(interval_s=5.0)
    assert looks[-1].queries[0].partitions == 12


def test_batches_have_the_rows_the_times_and_the_stages_of_the_job(tmp_path: Path, lines: list[str]) -> None:
    found = batches(seen_in(written(tmp_path / "app-1", lines))[1])
    assert [batch.batch_id for batch in found] == list(range(found[0].batch_id, found[0].batch_id + len(found))) and len(found) > 50
    middle = found[20]
    assert middle.started_s % 5.0 == pytest.approx(0.0, abs=0.01)
    assert middle.rows == pytest.approx(5 * 2500.0, rel=0.5)
    assert middle.duration_s == pytest.approx(0.6 + 0.001 * middle.rows / 12, rel=0.25), "overhead and one wave of tasks"
    source, state = middle.stages
    assert (source.tasks, source.reads_source, state.tasks, state.reads_source) == (12, True, 12, False)
    assert source.rows == pytest.approx(middle.rows, rel=0.01) and state.rows == pytest.approx(middle.rows, rel=0.01)
    assert source.run_time_s + state.run_time_s == pytest.approx(0.001 * middle.rows, rel=0.15)
    assert len(source.shares) == 6 and sum(share.rows for share in source.shares) == source.rows
    (sample,) = middle.arrivals
    assert sample.rows == middle.rows and sample.wall_s[0] == pytest.approx(middle.started_s - 5.0, abs=0.05)
    assert sample.wall_s[-1] == pytest.approx(middle.started_s, abs=0.05)


def test_an_event_log_with_a_torn_last_line_is_read(tmp_path: Path, lines: list[str]) -> None:
    whole = batches(seen_in(written(tmp_path / "app-1", lines))[1])
    content = (tmp_path / "app-1").read_bytes()
    torn = tmp_path / "app-2.inprogress"
    torn.write_bytes(content[: content.rindex(b'"batchDuration"') + 5])
    application, looks = seen_in(torn)
    found = batches(looks)
    assert application.unreadable_lines == 1
    assert len(found) >= len(whole) - 4 and found == whole[: len(found)]


@pytest.mark.parametrize("codec", ["", "zstd", "lz4", "snappy"])
def test_a_rolling_compressed_log_is_read(tmp_path: Path, lines: list[str], codec: str) -> None:
    folder, ending = tmp_path / "eventlog_v2_app-counts", f".{codec}" if codec else ""
    third = len(lines) // 3
    for number, part in ((9, lines[:third]), (10, lines[third : 2 * third]), (11, lines[2 * third :])):
        written(folder / f"events_{number}_app-counts{ending}", part, codec)
    (folder / "appstatus_app-counts").touch()
    _, looks = seen_in(folder)
    assert batches(looks) == batches(seen_in(written(tmp_path / "plain", lines))[1])


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_a_compressed_log_that_is_still_written_is_read_as_far_as_it_goes(tmp_path: Path, lines: list[str], codec: str) -> None:
    content = written(tmp_path / "whole", lines, codec).read_bytes()
    torn = tmp_path / f"app-1.{codec}.inprogress"
    torn.write_bytes(content[: 2 * len(content) // 3])
    assert len(batches(seen_in(torn)[1])) > 20


def test_a_log_that_is_damaged_in_the_middle_is_read_up_to_there_and_reported(tmp_path: Path, lines: list[str]) -> None:
    chance = np.random.default_rng(1)
    noise = [event_logs.line(Event="SparkListenerUnknown", text=chance.bytes(2000).hex()) for _ in range(300)]
    content = bytearray(written(tmp_path / "whole", [*lines, *noise], "zstd").read_bytes())
    content[250_000:450_000] = b"\xff" * 200_000
    path = tmp_path / "app-1.zstd"
    path.write_bytes(content)
    application, looks = seen_in(path)
    (cut,) = application.cuts
    assert cut.part == "app-1.zstd" and 250_000 <= cut.read_share * len(content) <= 500_000
    assert batches(looks) == batches(seen_in(written(tmp_path / "plain", lines))[1])
    path.write_bytes(content[:240_000])
    assert seen_in(path)[0].cuts == [], "the end of a log that is still written is torn, and not damaged"
    path.write_bytes(content[:8] + b"\xff" * 200_000)
    with pytest.raises(UserMistake, match="it is damaged"):
        seen_in(path)


def test_streams_that_follow_each_other_are_one_log_and_one_that_became_shorter_is_read_to_its_end(tmp_path: Path, lines: list[str]) -> None:
    whole = batches(seen_in(written(tmp_path / "plain", lines))[1])
    for codec in ("zstd", "lz4", "snappy"):
        both = tmp_path / f"both.{codec}"
        both.write_bytes(b"".join(written(tmp_path / "part", part, codec).read_bytes() for part in (lines[:700], lines[700:])))
        assert batches(seen_in(both)[1]) == whole
    assert list(torn_frames(written(tmp_path / "app-1.zstd", lines[:100], "zstd"), "zstd", 1 << 30)) == []


def test_folders_are_searched_and_files_beside_logs_are_skipped(tmp_path: Path) -> None:
    rolling = tuple(f"eventlog_v2_d/{name}" for name in ("events_2_d", "events_10_d.zstd", "appstatus_d"))
    for name in ("b", "a", ".hidden", "appstatus_x", ".a.crc", "sub/c", *rolling):
        written(tmp_path / name, ["{}"])
    found = list(logs_at([tmp_path]))
    assert [log.path.name for log in found] == ["a", "b", "eventlog_v2_d", "c"]
    assert [part.name for part in found[2].parts] == ["events_2_d", "events_10_d.zstd"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (b"\n\n", "it is empty"),
        (b"t,rate\n0,5\n", "it is not an event log of Spark"),
        (b'{"a":1}\n', "it is not an event log of Spark"),
        (b"ZV\x01\x00\x05", "compressed by LZF, which is not read here"),
        (b"LZ4Block\x25\x02\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00??", "it is damaged"),
    ],
)
def test_a_file_that_is_not_an_event_log_or_not_there_is_refused_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UserMistake, match=said) as raised:
        seen_in(path)
    assert str(path) in str(raised.value) and "\n" not in str(raised.value)
    with pytest.raises(UserMistake, match="there is no such file or folder"):
        list(logs_at([tmp_path / "absent"]))


def test_lines_that_lack_fields_are_counted_and_skipped() -> None:
    broken = ('"SparkListenerTaskEnd","Stage ID":1}', '"SparkListenerExecutorAdded","Timest', '"SparkListenerUnpersistRDD","RDD ID":1}')
    found = list(logged(["\n".join(("no event", *(f'{{"Event":{each}' for each in broken))).encode()]))
    assert [type(each) for each in found] == [Unreadable] * 3
    assert isinstance(found[1], Unreadable) and found[1].kind == "SparkListenerTaskEnd"


def test_jobs_without_a_query_and_rows_of_a_task_that_failed_do_not_count() -> None:
    described = {"sql.streaming.queryId": "q", "spark.job.description": "\nid = q\nrunId = r\nbatch = 7"}
    text = "\n".join([event_logs.job_start(1, [0, 1], {}, START_S), event_logs.job_start(2, [2], described, START_S)])
    assert list(logged([text.encode()])) == [JobStarted(at_s=START_S, query_id="q", batch_id=7, stages=(2,))]
    (task,) = logged([event_logs.task_end(3, "1", START_S, 2.5, 100, 0, reason="ExceptionFailure").encode()])
    assert task == TaskEnded(at_s=START_S, stage=3, executor_id="1", run_time_s=2.5, source_rows=0, shuffle_rows=0, succeeded=False)


def test_progress_without_work_is_idleness_as_spark_logged_it_before_version_3_5(lines: list[str]) -> None:
    report = next(each for each in lines if "QueryProgressEvent" in each)
    (done,) = logged([report.encode()])
    (idle,) = logged([report.replace('"addBatch"', '"getOffset"').encode()])
    assert isinstance(done, QueryProgressed) and done.behind_rows == pytest.approx(0.0, abs=2)
    assert idle == QueryIdle(at_s=done.started_s, query_id=event_logs.QUERY_ID)


def committed(query_id: str, name: str | None, rows: int, behind: list[float | None]) -> LoggedQuery:
    """A query that commits this many rows every 10 s and leaves these behind."""
    query = LoggedQuery(query_id, name, 0.0)
    for number, each in enumerate(behind):
        batch = {"batch_id": number, "started_s": 10.0 * number, "rows": rows, "behind_rows": each}
        query.committed(QueryProgressed(at_s=10.0 * number + 1, query_id="q", name=None, **batch))
    return query


def test_rows_that_a_batch_left_behind_have_waited_and_a_query_with_nothing_to_read_is_up_to_date() -> None:
    facts = committed("8d268dc2-bc9c", None, 500, [0.0, 500.0, 1000.0, 1500.0]).facts()
    assert (facts.name, facts.newest_rows, facts.processed_rows, facts.counted_s) == ("query 8d268dc2", 3500.0, 2000.0, 30.0)
    (sample,) = facts.batches[3].arrivals
    assert (sample.wall_s[0], sample.wall_s[-1]) == (10.0, 15.0), "the batch began at 30: they had waited through another"
    query = committed("q", "words", 100, [None, None])
    query.idle(40.0)
    facts = query.facts()
    assert (facts.newest_rows, facts.processed_rows, facts.counted_s, facts.idle_s) == (200.0, 200.0, 40.0, 40.0)


def rhythm(starts_s: list[float], length_s: float, task_s: float = 0.5) -> Rhythm:
    found = Rhythm()
    for start_s in starts_s:
        found.batch(start_s, start_s + length_s, task_s)
    return found


def test_the_trigger_is_the_grid_on_which_batches_start() -> None:
    chance = np.random.default_rng(2)
    regular = [10.0 * number + 0.002 * chance.random() for number in range(40) if number % 7]
    assert rhythm(regular, 3.0).trigger == Trigger(interval_s=10.0), "a trigger is skipped now and then"
    assert rhythm([3.01 * number for number in range(40)], 3.0).trigger == Trigger(), "each as soon as the last is done"
    assert rhythm(np.cumsum(4.0 + 8.0 * chance.random(60)).tolist(), 3.0).trigger == Trigger(), "whenever rows come"
    assert rhythm([0.0, 10.0], 3.0).trigger == Trigger(), "two batches are no rhythm"


def test_batches_of_one_length_whose_tasks_run_all_the_time_are_real_time_mode_though_a_few_are_odd() -> None:
    starts_s = [60.4 * number for number in range(40)]
    assert [rhythm(starts_s[:10], *each).is_real_time for each in ((60.0, 59.5), (60.0, 40.0), (1.0, 1.0))] == [True, False, False]
    found = rhythm(starts_s, 60.0, task_s=59.5)
    for length_s in (12.0, 61.5, 300.0):
        found.batch(5000.0, 5000.0 + length_s, length_s)
    assert found.is_real_time
    for _ in range(5):
        found.batch(6000.0, 6030.0, 29.9)
    assert not found.is_real_time, "a sixth of them is more than a few"


def test_batches_that_fill_their_time_under_a_steady_load_are_not_real_time_mode() -> None:
    chance, found = np.random.default_rng(4), Rhythm()
    for number in range(200):
        length_s = 20.0 * float(np.exp(0.03 * chance.standard_normal()))
        found.batch(25.0 * number, 25.0 * number + length_s, 0.95 * length_s)
    assert not found.is_real_time


def test_executors_that_go_by_themselves_are_lost_and_a_query_that_fails_is_counted(lines: list[str], tmp_path: Path) -> None:
    changed = [each.replace("Executor killed by driver.", "Executor heartbeat timed out after 120000 ms") for each in lines]
    changed.insert(len(changed) - 400, event_logs.query_terminated("java.lang.OutOfMemoryError"))
    changed.insert(len(changed) - 400, event_logs.query_started(START_S + 230.0))
    _, looks = seen_in(written(tmp_path / "app-1", changed))
    assert looks[-1].executors_lost == 2 and looks[-1].queries[0].failures == 1


def test_batches_of_a_query_that_ended_between_observations_are_seen_and_queries_of_one_name_are_joined(tmp_path: Path) -> None:
    _, looks = seen_in(written(tmp_path / "app-1", short_runs(*[event_logs.QUERY_ID] * 5)))
    assert [batch.batch_id for batch in batches(looks)] == list(range(8)), "there is no observation after the last run"
    assert [look.at_s - START_S for look in looks if any(query.batches for query in look.queries)] == [15.0, 75.0, 135.0, 195.0]
    assert {len(look.queries) for look in looks if look.at_s % 60 == (START_S + 30) % 60} == {0}, "once it is reported, it is gone"
    assert {query.state for look in looks for query in look.queries if query.batches} == {"ended"}
    _, looks = seen_in(written(tmp_path / "app-1", short_runs("first", "second", "third", "fourth", every_s=10.0)))
    assert all(len(look.queries) <= 1 for look in looks)
    assert [batch.batch_id for batch in batches(looks)] == [0, 1, 2, 3, 4, 5]


def test_a_long_log_is_never_in_memory_as_a_whole(tmp_path: Path, lines: list[str]) -> None:
    path = written(tmp_path / "app-1", lines)
    path.write_bytes(path.read_bytes() + "".join(f"{event_logs.plan(number)}\n" for number in range(15_000)).encode())
    assert path.stat().st_size > 10e6
    tracemalloc.start()
    try:
        application = LoggedApplication()
        for _ in observations(EventLog(path=path, parts=(path,)), application, 15.0):
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert application.unreadable_lines == 0 and peak < 6e6
