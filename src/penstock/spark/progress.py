"""Spark's progress reports: parsed, and handed to the query they belong to as soon as a batch commits."""

import json
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from pyspark import SparkContext
from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.core.domain.reading import IN_TASKS
from penstock.core.monitor.facts import ARRIVAL_PROBABILITIES, ArrivalSample, BatchFact, StageFact
from penstock.eventlog.lines import BATCH, wall_s
from penstock.eventlog.logged_query import Share, stage_fact
from penstock.ports import Clock

OBSERVED = "penstock_source_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One progress report. Offsets are JSON values in the format of each source; wall time + `steady_minus_wall_s` is the controller's time."""

    run_id: str
    batch_id: int
    started_wall_s: float
    committed_wall_s: float
    input_rows: int
    parts_s: Mapping[str, float] = field(default_factory=dict)
    start_offsets: tuple[Any, ...] = ()
    end_offsets: tuple[Any, ...] = ()
    arrivals: tuple[ArrivalSample, ...] = ()
    state_rows: int | None = None
    state_memory_bytes: int | None = None
    state_partitions: int | None = None
    executed: bool = True
    steady_minus_wall_s: float = 0.0


def parse_progress(report: Mapping[str, Any]) -> Progress:
    parts = {name: milliseconds / 1000 for name, milliseconds in report["durationMs"].items()}
    started = wall_s(report["timestamp"])
    states = report.get("stateOperators") or []
    return Progress(
        run_id=str(report["runId"]), batch_id=int(report["batchId"]), started_wall_s=started, committed_wall_s=started + parts.get("triggerExecution", 0.0),
        input_rows=int(report.get("numInputRows") or 0), parts_s={name: seconds for name, seconds in parts.items() if name != "triggerExecution"},
        start_offsets=tuple(source.get("startOffset") for source in report.get("sources", ())),
        end_offsets=tuple(source.get("endOffset") for source in report.get("sources", ())), arrivals=parse_arrivals(report.get("observedMetrics") or {}),
        state_rows=sum(state["numRowsTotal"] for state in states) if states else None,
        state_memory_bytes=sum(state["memoryUsedBytes"] for state in states) if states else None,
        state_partitions=max((state.get("numShufflePartitions") or 0 for state in states), default=0) or None, executed=IN_TASKS in report["durationMs"],
    )  # fmt: skip


def parse_arrivals(observed: Mapping[str, Any]) -> tuple[ArrivalSample, ...]:
    """Return the arrival quantiles that were observed at the sources."""
    samples = []
    for name, values in sorted(observed.items()):
        quantiles = values.get("arrivals") if name.startswith(OBSERVED) else None
        if quantiles:
            samples.append(ArrivalSample(rows=float(values["rows"]), probabilities=ARRIVAL_PROBABILITIES, wall_s=tuple(micros / 1e6 for micros in quantiles)))
    return tuple(samples)


def batch_of_job(job: Mapping[str, Any]) -> int | None:
    """Return the batch of a Spark job, from the description that Structured Streaming gives it."""
    found = BATCH.search(job.get("description") or "")
    return int(found[1]) if found else None


def parse_stage(position: int, shares: Mapping[str, Mapping[str, Any]], cpu_s: float | None = None) -> StageFact:
    """Return a stage from the summaries of its executors in Spark's REST API, and the CPU time of its tasks."""
    known = {
        executor_id: Share(
            run_time_s=each["taskTime"] / 1000, source_rows=each["inputRecords"], shuffle_rows=each["shuffleReadRecords"], tasks=each["succeededTasks"]
        )
        for executor_id, each in shares.items()
    }
    return replace(stage_fact(position, known), cpu_s=cpu_s)


def batch_fact(progress: Progress, *, rows: float | None, stages: Sequence[StageFact]) -> BatchFact:
    """Return a report as a fact on the controller's clock; `rows` is counted from offsets, None if they do not count rows."""
    return BatchFact(
        batch_id=progress.batch_id, started_s=progress.started_wall_s + progress.steady_minus_wall_s,
        committed_s=progress.committed_wall_s + progress.steady_minus_wall_s, committed_wall_s=progress.committed_wall_s,
        rows=float(progress.input_rows) if rows is None else rows, parts_s=progress.parts_s, arrivals=progress.arrivals, stages=tuple(stages),
        state_rows=progress.state_rows, state_memory_bytes=progress.state_memory_bytes,
    )  # fmt: skip


class Commits:
    """The progress reports of one query across its restarts; a thread can wait for the next commit."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._fresh: deque[Progress] = deque(maxlen=1000)
        self.count = 0
        self.last: Progress | None = None
        self.idle_s: float | None = None

    def add(self, progress: Progress) -> None:
        with self._changed:
            self._fresh.append(progress)
            self.count += 1
            self.last = progress
            self._changed.notify_all()

    def idle(self, at_s: float) -> None:
        with self._changed:
            self.idle_s = at_s
            self._changed.notify_all()

    def take(self) -> list[Progress]:
        with self._changed:
            fresh = list(self._fresh)
            self._fresh.clear()
            return fresh

    def wait_beyond(self, count: int, timeout_s: float) -> bool:
        """Return whether more than `count` commits are seen within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.count > count, timeout_s)


class CommitListener(StreamingQueryListener):
    """Hands each progress report to the query it belongs to. Runs in Spark's callback thread: it must be quick and never raise.

    The JVM calls this object directly: PySpark's own wrapper would turn every report into Python objects, with a call to the JVM for each value.
    The difference between Spark's wall time and the controller's clock is noted as each report comes in, so that a later change of the system's
    time moves nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._by_run: dict[str, Commits] = {}
        self._early: deque[Progress] = deque(maxlen=20)
        self.ended = threading.Event()

    def follow(self, run_id: str, commits: Commits) -> None:
        """Hand a run's reports to `commits`, those from before this call included, and no longer those of its earlier runs."""
        with self._lock:
            self._by_run = {known: each for known, each in self._by_run.items() if each is not commits} | {run_id: commits}
            for progress in [each for each in self._early if each.run_id == run_id]:
                commits.add(progress)
                self._early.remove(progress)

    def reported(self, report: str) -> None:
        now_s = self._clock.now_s()
        progress = replace(parse_progress(json.loads(report)), steady_minus_wall_s=now_s - time.time())
        with self._lock:
            commits = self._by_run.get(progress.run_id)
            if not progress.executed:
                if commits is not None:
                    commits.idle(now_s)
            elif commits is not None:
                commits.add(progress)
            else:
                self._early.append(progress)

    @property
    def _jlistener(self) -> Any:
        if not hasattr(self, "_jlistenerobj"):
            jvm: Any = SparkContext._jvm
            self._jlistenerobj = jvm.PythonStreamingQueryListenerWrapper(self)
        return self._jlistenerobj

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self.reported(event.progress().json())

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        commits = self._by_run.get(str(event.runId().toString()))
        if commits is not None:
            commits.idle(self._clock.now_s())

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self.ended.set()

    class Java:
        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]
