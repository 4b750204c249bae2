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
limits = {{ min_executors = 2, max_executors = 2 }}
sources.events = {{ format = "trace", rate = "constant(500)", partitions = 4 }}
queries.counted = {{ function = "job.py:counted", trigger = "2s", sink = {{ format = "noop" }} }}
[spark]
"spark.eventLog.enabled" = true
"spark.eventLog.dir" = "file://{folder}"
"spark.eventLog.compress" = {compress}
"spark.eventLog.compression.codec" = "{codec}"
"spark.eventLog.rolling.enabled" = {rolling}
"""
SECOND = 'queries.slow = { function = "job.py:slow", trigger = "3s", sink = { format = "noop" } }\n'
"""Rows that wait for a millisecond each."""
RUN_S = 120.0
STARTED_S = 45.0
"""Between the first moment of the trace and the first batch, at most."""


def penstock(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "penstock", *arguments], cwd=folder, capture_output=True, text=True, timeout=1120, check=False)


def record(tmp_path: Path, state_home: Path, *, compress: bool = False, rolling: bool = False, codec: str = "zstd", second: str = "") -> Path:
    """Run the job, with a second query if there is one, until it has worked for a while, and stop it as a user would."""
    logs = tmp_path / "events"
    logs.mkdir()
    (tmp_path / "job.py").write_text(
        "def counted(events):\n    return events.selectExpr('position % 10 as key', 'sha2(cast(position as string), 256) as value')\n"
        "def slow(events):\n    wait = \"reflect('java.util.concurrent.locks.LockSupport', 'parkNanos', 1000000L)\"\n"
        "    return events.selectExpr('position', f'{wait} as waited')\n"
    )
    job = JOB.format(folder=logs, compress=str(compress).lower(), rolling=str(rolling).lower(), codec=codec)
    (tmp_path / "job.toml").write_text(job.replace("[spark]", f"{second}[spark]"))
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
            assert driver.wait(240) == 0, (tmp_path / "out.log").read_text()
        finally:
            if driver.poll() is None:
                driver.kill()
                driver.wait()
    return logs


@pytest.mark.long
def test_of_a_real_job_of_two_queries_both_are_simulated_and_what_policies_would_save_is_known(tmp_path: Path, cluster: Any, state_home: Path) -> None:
    logs = record(tmp_path, state_home, second=SECOND)
    done = penstock(tmp_path, "audit", str(logs), "--policy", "all", "--promise-latency-ms", "20000", "--json")
    assert done.returncode == 0, done.stderr
    (job,) = json.loads(done.stdout)["jobs"]
    print({key: job[key] for key in ("own_error", "confidence", "executor_hours", "notes")})
    assert any("counted, slow: they are simulated together" in note or "slow, counted: they are simulated together" in note for note in job["notes"])
    assert 0.9 * 1000 < job["rows_per_s"] < 1000 * (1 + STARTED_S / job["duration_s"]), "each of the two reads all rows"
    assert abs(job["own_error"]["throughput"]) < 0.2 and abs(job["own_error"]["latency_p95"]) < 0.5
    policies = {each["policy"]: each for each in job["policies"]}
    assert policies.keys() >= {"static", "hpa", "daedalus", "twres"} and all(each["saved_worker_seconds"] is not None for each in policies.values())
    assert abs(policies["static"]["saved_worker_seconds"]) < 1 and set(policies["hpa"]["queries"]) == {"counted", "slow"}


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
    assert any("2s is assumed" in note for note in job["notes"]), "the trigger shows in when batches start"
    assert 0.9 * 500 < job["rows_per_s"] < 500 * (1 + STARTED_S / job["duration_s"]), "what piled up until the first batch was processed too"
    assert abs(job["own_error"]["throughput"]) < 0.2
    assert job["executor_hours"]["needed"] <= job["executor_hours"]["had"]
