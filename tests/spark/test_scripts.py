import threading
import uuid
from pathlib import Path
from typing import Any

import pytest
from waiting import wait_until

import penstock
from penstock.core.errors import Refused, UserMistake
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.stores.reader import HistoryReader


@pytest.fixture
def job() -> str:
    return f"script-{uuid.uuid4().hex[:8]}"


def carried_out(remote: RemoteJob, verb: str, value: str) -> bool:
    """Whether a command was carried out, once it is over."""
    numbers = remote.ask(verb, value=value)["numbers"]
    wait_until(lambda: not remote.ask("outcomes", numbers=numbers)["pending"])
    return any("done" in words for words in remote.ask("outcomes", numbers=numbers)["ended"].values())


def trace(session: Any, folder: Path) -> Any:
    penstock.register(session)
    return session.readStream.format("trace").options(rate="constant(400)", state=str(folder / "trace.json"), partitions="4").load()


def test_one_line_gives_full_observation_and_control_and_await_termination_survives_restarts(session: Any, tmp_path: Path, job: str) -> None:
    counts = trace(session, tmp_path).groupBy("key").count()
    writer = (
        counts.writeStream.format("noop").outputMode("complete").option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(processingTime="1 second")
    )
    query = penstock.start(writer, job=job, name="counts", max_executors=3, reading_interval_s=1.0, reading_window_s=4.0)
    ended = threading.Thread(target=query.awaitTermination, daemon=True)
    ended.start()
    remote = RemoteJob(JobFolder(job).socket)
    wait_until(lambda: ((remote.ask("status")["reading"] or {}).get("latency") or {}).get("p95_s"), 90)
    reading = remote.ask("status")["reading"]
    assert reading["arrival_rows_per_s"] == pytest.approx(400, rel=0.2)
    assert reading["queries"][0]["state_rows"] and reading["queries"][0]["stages"]

    first_run = query.runId
    assert carried_out(remote, "trigger", "2s") and carried_out(remote, "rate-limit", "350/s")
    assert query.runId != first_run and query.isActive
    assert ended.is_alive(), "the script's awaitTermination survives restarts by Penstock"
    taken = query.managed.commits.last.batch_id
    wait_until(lambda: query.managed.commits.last.batch_id > taken + 2)  # the first may have been logged before the restart: it keeps its rows
    progress = query.managed.commits.last
    rows = progress.end_offsets[0]["position"] - progress.start_offsets[0]["position"]
    assert rows == 700, "more rows come than the limit lets through, so every batch is as large as it allows: it reached the source inside the script's plan"

    query.stop()
    ended.join(timeout=80)
    assert not ended.is_alive() and not query.isActive
    assert not JobFolder(job).socket.exists()
    with HistoryReader.open(JobFolder(job).history) as history:
        kinds = {type(row.event).__name__ for row in history.events()}
    assert {"RunStarted", "QueryStarted", "CommandTaken", "InstructionDone", "RunEnded"} <= kinds


def test_an_attached_query_is_watched_and_what_cannot_be_done_is_said(session: Any, tmp_path: Path, job: str) -> None:
    dies, wanted = threading.Event(), list[Any]()

    def write(rows: Any, batch_id: int) -> None:
        rows.write.format("noop").mode("append").save()
        if dies.is_set():
            dies.clear()
            raise ValueError("the database was away")

    def writer(seconds: float) -> Any:
        frame = session.readStream.format("rate").option("rowsPerSecond", 200).load()
        return frame.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "c")).trigger(processingTime=f"{seconds} seconds")

    def begin_again(settings: Any) -> Any:
        wanted.append(settings)
        return writer(settings.trigger.interval_s).start()

    running = writer(1).start()
    try:
        watched = penstock.attach(running, job=job, name="theirs", max_executors=3, reading_interval_s=1.0, reading_window_s=3.0)
        remote = RemoteJob(JobFolder(job).socket)
        wait_until(lambda: (remote.ask("status")["reading"] or {}).get("throughput_rows_per_s"), 60)
        state = remote.ask("status")
        assert {"trigger", "rate-limit", "restart", "kept-share"} <= set(state["reading"]["queries"][0]["unable"])
        assert sum(event["kind"] == "CannotDo" for event in state["events"]) >= 4
        with pytest.raises(Refused, match="restart="):
            remote.ask("trigger", value="3s")
        assert running.isActive, "refusing must not touch the query"
        watched.stop()
    finally:
        running.stop()

    running = writer(1).start()
    watched = penstock.attach(running, job=job, name="theirs", restart=begin_again, max_executors=3, reading_interval_s=1.0)
    remote = RemoteJob(JobFolder(job).socket)
    wait_until(lambda: (remote.ask("status")["reading"] or {}).get("throughput_rows_per_s"), 60)
    assert carried_out(remote, "trigger", "2s")
    assert watched.isActive and watched.runId != running.runId
    assert carried_out(remote, "rate-limit", "150/s")
    assert [(each.trigger.interval_s, each.rows_per_batch()) for each in wanted] == [(2.0, None), (2.0, 300)]

    before = watched.runId
    dies.set()
    wait_until(lambda: any(event["kind"] == "QueryRestarted" for event in remote.ask("status")["events"]), what="the restart of a query that died")
    assert wanted[2:] == wanted[1:2], "its owner's function is asked again, with what was wanted before"
    assert watched.isActive and watched.runId != before and "the database was away" in watched.managed.failures[0].cause
    watched.stop()


def test_a_writer_without_a_checkpoint_is_refused_in_one_line(session: Any, tmp_path: Path, job: str) -> None:
    with pytest.raises(UserMistake, match="checkpointLocation"):
        penstock.start(trace(session, tmp_path).writeStream.format("noop"), job=job, max_executors=3)
    assert not JobFolder(job).socket.exists()


def test_a_query_that_has_ended_can_be_started_again_under_its_name_while_another_runs(session: Any, tmp_path: Path, job: str) -> None:
    def writer(name: str, **trigger: Any) -> Any:
        frame = session.readStream.format("rate").option("rowsPerSecond", 100).load()
        return frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / name)).trigger(**trigger)

    def states() -> dict[str, str]:
        return {query["name"]: query["state"] for query in (remote.ask("status")["reading"] or {"queries": []})["queries"]}

    always = penstock.start(writer("always", processingTime="1 second"), job=job, name="always", max_executors=3, reading_interval_s=1.0)
    remote = RemoteJob(JobFolder(job).socket)
    try:
        for _ in range(2):
            hourly = penstock.start(writer("hourly", availableNow=True), job=job, name="hourly")
            assert hourly.awaitTermination(60)
        wait_until(lambda: states() == {"always": "running", "hourly": "ended"}, what="a reading in which hourly has ended")
        with pytest.raises(UserMistake, match="already has a query 'always'"):
            penstock.start(writer("always", processingTime="1 second"), job=job, name="always")
    finally:
        always.stop()
