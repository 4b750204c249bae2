"""A real job that writes Spark's event log, and `penstock audit` of that log alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

JOB = """
name = "audited"
master = "embedded"
checkpoint = "checkpoint"
[limits]
min_executors = 2
max_executors = 2
[sources.events]
format = "trace"
rate = "constant(500)"
partitions = 4
[queries.counted]
function = "job.py:counted"
trigger = "2s"
[queries.counted.sink]
format = "noop"
[spark]
"spark.eventLog.enabled" = true
"spark.eventLog.dir" = "file://{folder}"
"spark.eventLog.compress" = {compress}
"spark.eventLog.compression.codec" = "{codec}"
"spark.eventLog.rolling.enabled" = {rolling}
"""
RUN_S = 120.0
STARTED_S = 45.0
"""Between the first moment of the trace and the first batch, at most."""


def penstock(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "penstock", *arguments], cwd=folder, capture_output=True, text=True, timeout=280, check=False)


def record(tmp_path: Path, state_home: Path, *, compress: bool, rolling: bool, codec: str) -> Path:
    """Run the job until it has worked for a while, and stop it as a user would."""
    logs = tmp_path / "events"
    logs.mkdir()
    (tmp_path / "job.py").write_text(
        "def counted(events):\n    return events.selectExpr('position % 10 as key', 'sha2(cast(position as string), 256) as value')\n"
    )
    job = JOB.format(folder=logs, compress=str(compress).lower(), rolling=str(rolling).lower(), codec=codec)
    (tmp_path / "job.toml").write_text(job)
    environment = {**os.environ, "PENSTOCK_HOME": str(state_home)}
    with (tmp_path / "out.log").open("w") as log:
        driver = subprocess.Popen([sys.executable, "-m", "penstock", "run", "job.toml"], cwd=tmp_path, env=environment, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 120
            while "started, trigger" not in (tmp_path / "out.log").read_text():
                assert driver.poll() is None and time.monotonic() < deadline, (tmp_path / "out.log").read_text()
                time.sleep(0.5)
            try:
                driver.wait(RUN_S)
            except subprocess.TimeoutExpired:
                driver.send_signal(signal.SIGTERM)
            assert driver.wait(60) == 0, (tmp_path / "out.log").read_text()
        finally:
            if driver.poll() is None:
                driver.kill()
                driver.wait()
    return logs


@pytest.mark.long
@pytest.mark.parametrize(("compress", "rolling", "codec"), [(False, False, "zstd"), (True, True, "zstd"), (True, False, "lz4"), (True, False, "snappy")])
def test_the_event_log_of_a_real_job_is_audited(tmp_path: Path, cluster: Any, state_home: Path, compress: bool, rolling: bool, codec: str) -> None:
    logs = record(tmp_path, state_home, compress=compress, rolling=rolling, codec=codec)
    done = penstock(tmp_path, "audit", str(logs), "--policy", "static", "--promise-latency-ms", "20000", "--json")
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    print(json.dumps(job, indent=1))
    assert job["average_executors"] == pytest.approx(2.0, abs=0.3)
    assert job["duration_s"] > 60 and job["latency_ms"]["p95"] > 500
    assert any("2s is taken" in note for note in job["notes"]), "the trigger shows in when batches start"
    assert 0.9 * 500 < job["rows_per_s"] < 500 * (1 + STARTED_S / job["duration_s"]), "what piled up until the first batch was processed too"
    assert abs(job["own_error"]["throughput"]) < 0.2
    assert job["executor_hours"]["needed"] <= job["executor_hours"]["had"]
