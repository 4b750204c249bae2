"""Spark's progress reports, read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from penstock.core.domain.reading import IN_TASKS
from penstock.core.monitor.facts import ARRIVAL_PROBABILITIES, ArrivalSample, BatchFact, ExecutorShare, StageFact

OBSERVED = "penstock_source_"
_BATCH = re.compile(r"\bbatch = (\d+)\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One progress report. Offsets are as Spark writes them: JSON values of the sources' own making. `steady_minus_wall_s` leads from its wall times
    to the controller's clock."""

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


def wall_seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def parse_progress(report: Mapping[str, Any]) -> Progress:
    """Make sense of the JSON of a `StreamingQueryProgress`."""
    parts = {name: milliseconds / 1000 for name, milliseconds in report["durationMs"].items()}
    started = wall_seconds(report["timestamp"])
    states = report.get("stateOperators") or []
    return Progress(
        run_id=str(report["runId"]),
        batch_id=int(report["batchId"]),
        started_wall_s=started,
        committed_wall_s=started + parts.get("triggerExecution", 0.0),
        input_rows=int(report.get("numInputRows") or 0),
        parts_s={name: seconds for name, seconds in parts.items() if name != "triggerExecution"},
        start_offsets=tuple(source.get("startOffset") for source in report.get("sources", ())),
        end_offsets=tuple(source.get("endOffset") for source in report.get("sources", ())),
        arrivals=parse_arrivals(report.get("observedMetrics") or {}),
        state_rows=sum(state["numRowsTotal"] for state in states) if states else None,
        state_memory_bytes=sum(state["memoryUsedBytes"] for state in states) if states else None,
        state_partitions=max((state.get("numShufflePartitions") or 0 for state in states), default=0) or None,
        executed=IN_TASKS in report["durationMs"],
    )


def parse_arrivals(observed: Mapping[str, Any]) -> tuple[ArrivalSample, ...]:
    """The arrival quantiles that were observed at the sources."""
    samples = []
    for name, values in sorted(observed.items()):
        quantiles = values.get("arrivals") if name.startswith(OBSERVED) else None
        if quantiles:
            samples.append(ArrivalSample(rows=float(values["rows"]), probabilities=ARRIVAL_PROBABILITIES, wall_s=tuple(micros / 1e6 for micros in quantiles)))
    return tuple(samples)


def batch_of_job(job: Mapping[str, Any]) -> int | None:
    """The batch a Spark job worked for, from the description Structured Streaming gives it."""
    found = _BATCH.search(job.get("description") or "")
    return int(found[1]) if found else None


def parse_stage(position: int, shares: Mapping[str, Mapping[str, Any]]) -> StageFact:
    """One stage from what its executors did for it."""
    read = sum(share["inputRecords"] for share in shares.values())
    return StageFact(
        position=position,
        name="source" if read else f"after shuffle {position}" if position else "first",
        tasks=sum(share["succeededTasks"] for share in shares.values()),
        run_time_s=sum(share["taskTime"] for share in shares.values()) / 1000,
        rows=sum(share["inputRecords"] + share["shuffleReadRecords"] for share in shares.values()),
        reads_source=read > 0,
        shares=tuple(
            ExecutorShare(executor_id=executor_id, task_time_s=share["taskTime"] / 1000, rows=share["inputRecords"])
            for executor_id, share in sorted(shares.items())
        ),
    )


def batch_fact(progress: Progress, *, rows: float | None, stages: Sequence[StageFact]) -> BatchFact:
    """A report as a fact on the controller's clock; `rows` from offsets where they count rows."""
    return BatchFact(
        batch_id=progress.batch_id,
        started_s=progress.started_wall_s + progress.steady_minus_wall_s,
        committed_s=progress.committed_wall_s + progress.steady_minus_wall_s,
        committed_wall_s=progress.committed_wall_s,
        rows=float(progress.input_rows) if rows is None else rows,
        parts_s=progress.parts_s,
        arrivals=progress.arrivals,
        stages=tuple(stages),
        state_rows=progress.state_rows,
        state_memory_bytes=progress.state_memory_bytes,
    )
