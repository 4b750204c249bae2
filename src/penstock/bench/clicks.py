"""The clicks job for a measurement: an embedded broker, a feeder at a constant rate, a query that counts; gone at the end."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from penstock.runtime.home import JobFolder, home
from penstock.runtime.jobfile import load_job
from penstock.wiring.job import RunningJob

DEMO, REAL_TIME = "penstock-demo-realtime", '{ real_time = "10s" }'
FED, QUERY, OUTPUT = "clicks", "counted", "counts"
ANSWER_S = 120.0


@contextmanager
def clicks_job(name: str, rate_rows_per_s: float, trigger: str = REAL_TIME) -> Iterator[RunningJob]:
    home().mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home()))
    source = files("penstock") / "workloads" / "clicks"
    toml = (source / "job.toml").read_text().replace(DEMO, name).replace(REAL_TIME, trigger)
    rate = next(line for line in toml.splitlines() if line.startswith("rate ="))
    (folder / "job.toml").write_text(toml.replace(rate, f'rate = "constant({rate_rows_per_s:g})"'))
    (folder / "job.py").write_text((source / "job.py").read_text())
    shutil.rmtree(JobFolder(name).path, ignore_errors=True)
    job = RunningJob(load_job(folder / "job.toml"), spark_log=folder / "spark.log")
    try:
        job.start()
        yield job
    finally:
        job.stop("the measurement is over")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(JobFolder(name).path, ignore_errors=True)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + ANSWER_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not come within {ANSWER_S:.0f} s")
        time.sleep(0.1)
