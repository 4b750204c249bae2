"""Event logs as Spark 4 writes them (JsonProtocol; streaming events by Jackson), of a job whose truth is known: a simulated one."""

import json
import struct
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from changes import scaling

from penstock.core.domain.job_spec import Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.monitor.facts import BatchFact, ExecutorFact, StageFact
from penstock.eventlog.log_files import EventLog, event_logs
from penstock.hindsight.audit import AuditAsked
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.graph import QueryGraph
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine

START_S = 1_700_000_000.0
QUERY, QUERY_ID, RUN_ID = "words", "8d268dc2-bc9c-4be8-97a9-b135d2943028", "e225d92f-2545-48f8-87a2-9c0309580f8a"
LISTENER = "org.apache.spark.sql.streaming.StreamingQueryListener$"
JOB = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, cores_per_executor=2, trigger=Trigger(interval_s=5.0), noise=0.03)
"""Two cores an executor: each carries some 1,700 rows/s."""


def wave(rows_per_s: float = 2500.0, share: float = 0.4, length_s: float = 1800.0) -> Arrivals:
    time_s = np.arange(0.0, length_s + 1, 20.0)
    return Arrivals.through(START_S + time_s, rows_per_s * (1.0 + share * np.sin(4 * np.pi * time_s / length_s)))


def streaming_log(
    job: MicroBatchSettings | QueryGraph[MicroBatchSettings] = JOB, arrivals: Arrivals | None = None, *, executors: int = 6, length_s: float = 1800.0,
    changes: Mapping[float, int] | None = None, kafka: bool = True, name: str = "counts",
) -> list[str]:  # fmt: skip
    """The lines of a whole run of one query, or of several that read the source; executors change at the given seconds."""
    load = Load.of(arrivals or wave(length_s=length_s), START_S)
    engine = MicroBatchEngine(job, load, executors=executors, seed=3)
    graph = QueryGraph.of(job)
    sources, pooled = graph.sources(load), len(graph.queries) > 1 and graph.scheduler == "fair"
    known: dict[str, ExecutorFact] = {}
    lines = beginning(name, **({"spark.scheduler.mode": "FAIR"} if pooled else {}))
    stage, processed = 0, dict.fromkeys(sources, 0.0)
    for at_s in np.arange(START_S, START_S + length_s + 0.5, 1.0):
        engine.advance(at_s)
        seen = engine.observation()
        there = {each.executor_id: each for each in seen.executors}
        lines += [executor_added(each) for each in there.values() if each.executor_id not in known]
        lines += [executor_removed(each, at_s, "Executor killed by driver.") for each in known.values() if each.executor_id not in there]
        known = there
        for place, query in enumerate(seen.queries):
            named = (f"{QUERY_ID[:-1]}{place}", query.name) if len(sources) > 1 else (QUERY_ID, QUERY)
            if at_s == START_S:
                lines.append(query_started(at_s, *named))
            for batch in query.batches:
                newest = float(sources[query.name].rows_until(np.array([batch.started_s]))[0])
                rows = processed[query.name] = processed[query.name] + batch.rows
                lines += [
                    *batch_lines(batch, stage, named[0], query.name if pooled else None),
                    progress(batch, rows, max(newest, rows) if kafka else None, *named),
                ]
                stage += len(batch.stages)
        wanted = (changes or {}).get(at_s - START_S)
        if wanted is not None:
            engine.perform(scaling(1, 0, wanted), lambda outcome: None)
    return [*lines, line(Event="SparkListenerApplicationEnd", Timestamp=ms(START_S + length_s))]


def short_runs(*ids: str, every_s: float = 60.0, rows: int = 6000) -> list[str]:
    """A query that starts again and again, commits two batches within 7 s and ends; by these ids, one run after another."""
    lines = [*beginning("now"), executor_added(ExecutorFact(executor_id="1", host="here", slots=2, added_s=START_S))]
    for number, query_id in enumerate(ids):
        start_s = START_S + every_s * number
        lines.append(query_started(start_s, query_id))
        for part in (0, 1):
            batch = BatchFact(
                batch_id=2 * number + part, started_s=start_s + 2 + 3 * part, committed_s=start_s + 4 + 3 * part,
                committed_wall_s=start_s + 4 + 3 * part, rows=rows / 2, parts_s={"addBatch": 1.8},
                stages=(StageFact(position=0, name="source", tasks=2, run_time_s=3.0, rows=rows // 2, reads_source=True),),
            )  # fmt: skip
            lines += [*batch_lines(batch, batch.batch_id, query_id), progress(batch, rows * (number + 1), None, query_id)]
        lines.append(query_terminated(None, query_id))
    return lines


def batch_log() -> list[str]:
    executor = ExecutorFact(executor_id="1", host="here", slots=2, added_s=START_S)
    stage = StageFact(position=0, name="first", tasks=2, run_time_s=4.0, rows=100, reads_source=True)
    return [*beginning("nightly"), executor_added(executor), job_start(0, [0], {}, START_S), *task_ends(stage, 0, START_S + 3)]


def beginning(name: str, **properties: str) -> list[str]:
    return [
        line(**{"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"}),
        line(**{"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {"spark.app.name": name, **properties}, "JVM Information": {}}),
        line(**{"Event": "SparkListenerApplicationStart", "App Name": name, "App ID": f"app-{name}", "Timestamp": ms(START_S - 20), "User": "ann"}),
    ]


def executor_added(executor: ExecutorFact) -> str:
    details = {"Host": executor.host, "Total Cores": executor.slots, "Log Urls": {}, "Attributes": {}, "Resources": {}, "Resource Profile Id": 0}
    return line(**{"Event": "SparkListenerExecutorAdded", "Timestamp": ms(executor.added_s), "Executor ID": executor.executor_id, "Executor Info": details})


def executor_removed(executor: ExecutorFact, at_s: float, reason: str) -> str:
    return line(**{"Event": "SparkListenerExecutorRemoved", "Timestamp": ms(at_s), "Executor ID": executor.executor_id, "Removed Reason": reason})


def query_started(at_s: float, query_id: str = QUERY_ID, name: str = QUERY) -> str:
    return line(Event=f"{LISTENER}QueryStartedEvent", id=query_id, runId=RUN_ID, name=name, timestamp=iso(at_s))


def query_terminated(exception: str | None, query_id: str = QUERY_ID) -> str:
    return line(Event=f"{LISTENER}QueryTerminatedEvent", id=query_id, runId=RUN_ID, exception=exception, errorClassOnException=None)


def batch_lines(batch: BatchFact, stage: int, query_id: str = QUERY_ID, pool: str | None = None) -> list[str]:
    properties = ({} if pool is None else {"spark.scheduler.pool": pool}) | {
        "sql.streaming.queryId": query_id,
        "streaming.sql.batchId": str(batch.batch_id),
        "spark.jobGroup.id": RUN_ID,
        "spark.job.description": f"\nid = {query_id}\nrunId = {RUN_ID}\nbatch = {batch.batch_id}",
    }
    stages = list(range(stage, stage + len(batch.stages)))
    ends = [each for number, details in zip(stages, batch.stages, strict=True) for each in task_ends(details, number, batch.committed_s)]
    return [job_start(batch.batch_id, stages, properties, batch.started_s), plan(batch.batch_id), *ends]


def job_start(number: int, stages: list[int], properties: dict[str, str], at_s: float) -> str:
    infos = [{"Stage ID": each, "Stage Attempt ID": 0, "Stage Name": "start at job.py:1", "Number of Tasks": 12, "RDD Info": []} for each in stages]
    details = {"Job ID": number, "Submission Time": ms(at_s), "Stage Infos": infos, "Stage IDs": stages, "Properties": properties}
    return line(**{"Event": "SparkListenerJobStart", **details})


def plan(number: int) -> str:
    """One of the many events that say nothing of how a job went."""
    return line(Event="org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart", executionId=number, physicalPlanDescription="x" * 500)


def task_ends(stage: StageFact, number: int, at_s: float) -> list[str]:
    """As many tasks as the stage has, an executor's share of time and rows spread over its own."""
    shares = [(share.executor_id, share.task_time_s, share.rows) for share in stage.shares] or [("1", stage.run_time_s, stage.rows)]
    found = []
    for place, (executor_id, time_s, rows) in enumerate(shares):
        tasks = stage.tasks // len(shares) + (place < stage.tasks % len(shares))
        for task in range(tasks):
            part = rows // tasks + (task < rows % tasks)
            found.append(task_end(number, executor_id, at_s, time_s / tasks, part if stage.reads_source else 0, 0 if stage.reads_source else part))
    return found


def task_end(stage: int, executor_id: str, at_s: float, run_s: float, read: int, fetched: int, reason: str = "Success") -> str:
    info = {"Task ID": 7, "Index": 0, "Attempt": 0, "Partition ID": 0, "Launch Time": ms(at_s - run_s), "Executor ID": executor_id, "Host": "here",
            "Locality": "PROCESS_LOCAL", "Speculative": False, "Getting Result Time": 0, "Finish Time": ms(at_s), "Failed": reason != "Success",
            "Killed": False, "Accumulables": []}  # fmt: skip
    metrics = {"Executor Run Time": round(1000 * run_s), "Executor CPU Time": 1, "JVM GC Time": 0, "Shuffle Read Metrics": {"Total Records Read": fetched},
               "Input Metrics": {"Bytes Read": 0, "Records Read": read}, "Output Metrics": {"Bytes Written": 0, "Records Written": 0}}  # fmt: skip
    details = {"Stage ID": stage, "Stage Attempt ID": 0, "Task Type": "ShuffleMapTask", "Task End Reason": {"Reason": reason}, "Task Info": info}
    return line(**{"Event": "SparkListenerTaskEnd", **details, "Task Metrics": metrics})


def progress(batch: BatchFact, processed: float, newest: float | None, query_id: str = QUERY_ID, name: str = QUERY) -> str:
    """By Jackson: the number of all rows is not in it, offsets are text, and what is no number is the text NaN."""
    parts = {name: round(1000 * seconds) for name, seconds in batch.parts_s.items()}
    source: dict[str, Any] = {"description": "RateStreamV2", "startOffset": "0", "endOffset": str(round(processed)), "latestOffset": str(round(processed))}
    if newest is not None:
        begins, ends, latest = (offsets(each) for each in (processed - batch.rows, processed, newest))
        source = {"description": "KafkaV2[Subscribe[clicks]]", "startOffset": begins, "endOffset": ends, "latestOffset": latest}
    return line(
        Event=f"{LISTENER}QueryProgressEvent",
        progress={
            "id": query_id, "runId": RUN_ID, "name": name, "timestamp": iso(batch.started_s), "batchId": batch.batch_id,
            "batchDuration": round(1000 * batch.duration_s), "durationMs": {"triggerExecution": round(1000 * batch.duration_s), **parts}, "eventTime": {},
            "stateOperators": [{"operatorName": "stateStoreSave", "numRowsTotal": 40, "memoryUsedBytes": 9000, "numShufflePartitions": 12}],
            "sources": [{**source, "numInputRows": round(batch.rows), "inputRowsPerSecond": "NaN", "processedRowsPerSecond": 9.0, "metrics": {}}],
            "sink": {"description": "ConsoleTable$", "numOutputRows": 1, "metrics": {}}, "observedMetrics": {},
        },
    )  # fmt: skip


def offsets(rows: float) -> str:
    whole = round(rows)
    return json.dumps({"clicks": {"0": whole // 2, "1": whole - whole // 2}}, separators=(",", ":"))


def line(**event: Any) -> str:
    return json.dumps(event, separators=(",", ":"))


def ms(at_s: float) -> int:
    return round(1000 * at_s)


def iso(at_s: float) -> str:
    return datetime.fromtimestamp(ms(at_s) / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def written(path: Path, lines: Iterable[str], codec: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed("".join(f"{each}\n" for each in lines).encode(), codec))
    return path


def packed(content: bytes, codec: str) -> bytes:
    blocks = [content[at : at + 32768] for at in range(0, len(content), 32768)]
    if codec == "lz4":
        return b"".join(map(lz4_block, [*blocks, b""]))
    if codec == "snappy":
        raw = [pa.Codec("snappy").compress(block, asbytes=True) for block in blocks]
        return b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1) + b"".join(struct.pack(">i", len(block)) + block for block in raw)
    if codec == "zstd":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(content)
        return bytes(sink.getvalue().to_pybytes())
    return content


def lz4_block(block: bytes) -> bytes:
    raw = pa.Codec("lz4_raw").compress(block, asbytes=True) if block else b""
    return b"LZ4Block" + struct.pack("<Biii", 0x25 if block else 0x15, len(raw), len(block), 0) + raw


STATIC = AuditAsked(policies=("static",), promises=Promises(latency_p95_s=9.0))


def log_at(path: Path) -> EventLog:
    (log,) = event_logs([path])
    return log
