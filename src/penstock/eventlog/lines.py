"""Parsing of an event log: the events that matter for a streaming job from Spark's JSON; all others are skipped unparsed."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from penstock.core.domain.reading import IN_TASKS
from penstock.eventlog import events


def behind_rows(sources: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the rows that had arrived when the batch began and are not in it, over all sources; None if one of them does not report it."""
    behind = [behind_of(source) for source in sources]
    return None if not behind or None in behind else float(sum(each for each in behind if each is not None))


def behind_of(source: Mapping[str, Any]) -> float | None:
    """Return the same for one source: by Kafka's offsets, which count rows, or by its own metric, which is the mean over partitions.

    >>> behind_of({"endOffset": '{"clicks":{"0":70,"1":80}}', "latestOffset": '{"clicks":{"0":100,"1":80}}'})
    30.0
    >>> behind_of({"endOffset": '{"clicks":{"0":70,"1":80}}', "metrics": {"avgOffsetsBehindLatest": "15.0"}})
    30.0
    >>> behind_of({"endOffset": '{"logOffset":7}', "latestOffset": '{"logOffset":9}'}) is None
    True
    """
    end, newest = partitions_of(source.get("endOffset")), partitions_of(source.get("latestOffset"))
    if end is None:
        return None
    if newest is not None:
        return float(sum(max(0, count - end.get(partition, count)) for partition, count in newest.items()))
    mean = (source.get("metrics") or {}).get("avgOffsetsBehindLatest")
    return None if mean is None else max(0.0, float(mean)) * len(end)


def partitions_of(offset: Any) -> dict[tuple[str, str], int] | None:
    """Return Kafka's offsets by topic and partition, from text or an object; None for other sources."""
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if not isinstance(offset, dict) or not offset:
        return None
    found: dict[tuple[str, str], int] = {}
    for topic, partitions in offset.items():
        if not isinstance(partitions, dict):
            return None
        for partition, count in partitions.items():
            if not isinstance(count, int):
                return None
            found[str(topic), str(partition)] = count
    return found


LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"
EVENT = re.compile(rb'\{"Event":"([^"]+)"')
BATCH = re.compile(r"\bbatch = (\d+)\s*$")
MEANT = ("killed by driver", "decommission", "idle", "scaled down", "preempt")
"""Words in the reason of a requested removal of an executor; any other removal is a failure."""


def logged(pieces: Iterable[bytes]) -> Iterator[events.Logged]:
    """Yield the events of the log one by one; `events.Unreadable` for a line that cannot be parsed, such as the torn last line of a running job."""
    for line in lines_of(pieces):
        found = EVENT.match(line)
        if found is None:
            if line.strip():
                yield events.Unreadable()
            continue
        read = READERS.get(found[1])
        if read is None:
            continue
        try:
            event = read(json.loads(line))
        except (KeyError, TypeError, ValueError, AttributeError):
            event = events.Unreadable(kind=found[1].decode(errors="replace"))
        if event is not None:
            yield event


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a text that comes in pieces.

    >>> list(lines_of([b"ab", b"c\\nd", b"\\ne"]))
    [b'abc', b'd', b'e']
    """
    begun: list[bytes] = []
    for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for end in ended:
            yield b"".join((*begun, end))
            begun.clear()
        begun.append(rest)
    if any(begun):
        yield b"".join(begun)


def application_started(event: Mapping[str, Any]) -> events.Logged:
    return events.ApplicationStarted(at_s=event["Timestamp"] / 1000, name=str(event["App Name"]), app_id=str(event.get("App ID") or ""))


def environment_updated(event: Mapping[str, Any]) -> events.Logged:
    properties = event["Spark Properties"]
    fair = str(properties.get("spark.scheduler.mode") or "").upper() == "FAIR"
    return events.Configured(task_cpus=max(1, int(properties.get("spark.task.cpus") or 1)), fair=fair)


def executor_added(event: Mapping[str, Any]) -> events.Logged:
    info = event["Executor Info"]
    return events.ExecutorAdded(
        at_s=event["Timestamp"] / 1000, executor_id=str(event["Executor ID"]), host=str(info.get("Host") or ""), cores=int(info["Total Cores"])
    )


def executor_removed(event: Mapping[str, Any]) -> events.Logged:
    reason = str(event.get("Removed Reason") or "").lower()
    return events.ExecutorRemoved(at_s=event["Timestamp"] / 1000, executor_id=str(event["Executor ID"]), lost=not any(words in reason for words in MEANT))


def job_started(event: Mapping[str, Any]) -> events.Logged | None:
    """Parse a job of a streaming query, which carries its id and batch; None for other jobs."""
    properties = event.get("Properties") or {}
    query_id = properties.get("sql.streaming.queryId")
    described = BATCH.search(properties.get("spark.job.description") or "")
    batch = properties.get("streaming.sql.batchId", described[1] if described else None)
    if query_id is None or batch is None:
        return None
    stages = event.get("Stage IDs") or [stage["Stage ID"] for stage in event["Stage Infos"]]
    pool = str(properties.get("spark.scheduler.pool") or "default")
    return events.JobStarted(at_s=event["Submission Time"] / 1000, query_id=str(query_id), batch_id=int(batch), stages=tuple(map(int, stages)), pool=pool)


def task_ended(event: Mapping[str, Any]) -> events.Logged:
    task, metrics = event["Task Info"], event.get("Task Metrics") or {}
    succeeded = event["Task End Reason"]["Reason"] == "Success"
    read, fetched = metrics.get("Input Metrics") or {}, metrics.get("Shuffle Read Metrics") or {}
    return events.TaskEnded(
        at_s=task["Finish Time"] / 1000,
        stage=int(event["Stage ID"]),
        executor_id=str(task["Executor ID"]),
        run_time_s=metrics.get("Executor Run Time", 0) / 1000,
        source_rows=int(read.get("Records Read", 0)) if succeeded else 0,
        shuffle_rows=int(fetched.get("Total Records Read", 0)) if succeeded else 0,
        succeeded=succeeded,
    )


def query_started(event: Mapping[str, Any]) -> events.Logged:
    return events.QueryStarted(at_s=wall_s(event["timestamp"]), query_id=str(event["id"]), name=event.get("name"))


def query_idle(event: Mapping[str, Any]) -> events.Logged:
    return events.QueryIdle(at_s=wall_s(event["timestamp"]), query_id=str(event["id"]))


def query_terminated(event: Mapping[str, Any]) -> events.Logged:
    return events.QueryTerminated(query_id=str(event["id"]), failed=event.get("exception") is not None)


def query_progressed(event: Mapping[str, Any]) -> events.Logged:
    """Parse a batch, or an idle query: before Spark 3.5 that is logged as progress without work."""
    progress = event["progress"]
    parts_s = {name: milliseconds / 1000 for name, milliseconds in progress["durationMs"].items()}
    started_s = wall_s(progress["timestamp"])
    if IN_TASKS not in parts_s:
        return events.QueryIdle(at_s=started_s, query_id=str(progress["id"]))
    states = progress.get("stateOperators") or []
    sources = progress.get("sources") or []
    duration_s = parts_s.pop("triggerExecution", None)
    return events.QueryProgressed(
        at_s=started_s + (progress.get("batchDuration", 0) / 1000 if duration_s is None else duration_s),
        query_id=str(progress["id"]),
        name=progress.get("name"),
        batch_id=int(progress["batchId"]),
        started_s=started_s,
        rows=sum(int(source.get("numInputRows") or 0) for source in sources),
        parts_s=parts_s,
        behind_rows=behind_rows(sources),
        state_rows=sum(state["numRowsTotal"] for state in states) if states else None,
        state_memory_bytes=sum(state["memoryUsedBytes"] for state in states) if states else None,
        partitions=max((state.get("numShufflePartitions") or 0 for state in states), default=0) or None,
    )


def wall_s(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


READERS: dict[bytes, Callable[[Mapping[str, Any]], events.Logged | None]] = {
    b"SparkListenerApplicationStart": application_started,
    b"SparkListenerEnvironmentUpdate": environment_updated,
    b"SparkListenerExecutorAdded": executor_added,
    b"SparkListenerExecutorRemoved": executor_removed,
    b"SparkListenerJobStart": job_started,
    b"SparkListenerTaskEnd": task_ended,
    f"{LISTENER}QueryStartedEvent".encode(): query_started,
    f"{LISTENER}QueryProgressEvent".encode(): query_progressed,
    f"{LISTENER}QueryIdleEvent".encode(): query_idle,
    f"{LISTENER}QueryTerminatedEvent".encode(): query_terminated,
}
