"""Spark reports in wall time; the controller's clock does not follow when the system's time is set."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.core.config import Config
from penstock.runtime.fakes import EPOCH_S, FakeClock
from penstock.spark.monitor import SparkMonitor
from penstock.spark.progress import CommitListener, Commits, batch_fact, wall_seconds

BEGAN = "2026-11-16T08:00:00.000Z"
REPORT = {"runId": "run", "batchId": 3, "timestamp": BEGAN, "durationMs": {"addBatch": 1500, "triggerExecution": 2000}, "numInputRows": 7}


def test_a_step_of_the_systems_time_after_a_report_moves_nothing_that_was_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, commits = FakeClock(), Commits()
    listener = CommitListener(clock)
    listener.follow("run", commits)

    def reported(wall_s: float, **differs: Any) -> None:
        monkeypatch.setattr(time, "time", lambda: wall_s)
        listener.reported(json.dumps({**REPORT, **differs}))

    reported(wall_seconds(BEGAN) + 2.0)
    clock.wait(10.0)
    reported(wall_seconds(BEGAN) - 3600.0, durationMs={"triggerExecution": 0})

    (progress,) = commits.take()
    fact = batch_fact(progress, rows=None, stages=())
    assert (fact.started_s, fact.committed_s, fact.committed_wall_s) == (EPOCH_S - 2.0, EPOCH_S, wall_seconds(BEGAN) + 2.0)
    assert commits.idle_s == EPOCH_S + 10.0


def none(*of: object) -> None:
    return None


def test_an_executor_is_as_old_as_it_is_whatever_the_systems_time_says(monkeypatch: pytest.MonkeyPatch) -> None:
    began_s = wall_seconds(BEGAN)
    executor = {"id": "0", "hostPort": "here:7000", "maxTasks": 1, "totalCores": 1, "addTime": began_s * 1000}
    clock, monitored, nothing = FakeClock(), SimpleNamespace(executors=lambda: [executor]), SimpleNamespace(cpu_s=none, cores=none, problem=None)
    pool = SimpleNamespace(dismissed=set(), requested=1, unable={})
    parts: dict[str, Any] = {"store": monitored, "pool": pool, "cpu": nothing, "emit": lambda events: None, "disturbed_s": lambda: None}
    monitor = SparkMonitor(queries=(), config=Config(), clock=clock, default_partitions=lambda: 1, redact=str, heartbeat_s=1.0, **parts)

    def age_s(wall_s: float) -> float:
        monkeypatch.setattr(time, "time", lambda: wall_s)
        return monitor.read().executors[0].uptime_s

    assert age_s(began_s + 20.0) == 20.0
    clock.wait(10.0)
    assert age_s(began_s + 3600.0) == 30.0
