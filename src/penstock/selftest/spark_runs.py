"""Start what a measurement runs on, and clean up afterwards: an embedded cluster with a session, or a job of `workloads`."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.core.domain.job_spec import JobSpec, Limits
from penstock.runtime.home import JobFolder, home
from penstock.runtime.jobfile import LoadedJob, load_job
from penstock.spark.embedded import EmbeddedCluster
from penstock.spark.executors import ExecutorPool
from penstock.spark.jvm import StatusStore
from penstock.spark.session import open_session
from penstock.wiring.running_job import RunningJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A session with its executors running, and a temporary folder."""

    session: SparkSession
    folder: Path


def new_folder(name: str) -> Path:
    home().mkdir(mode=0o700, parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home()))


@contextmanager
def place(name: str, executors: int, **conf: str) -> Iterator[Place]:
    """Start an embedded cluster and a session, and wait for its executors."""
    folder = new_folder(name)
    limits = Limits(max_executors=executors)
    job = JobSpec(name=name, folder=str(folder), checkpoint=str(folder), sources=(), queries=(), master="embedded", spark_conf=conf, limits=limits)
    cluster = EmbeddedCluster.join(home() / "cluster")
    try:
        session = open_session(job, folder, cluster.master, folder / "spark.log")
        try:
            pool = ExecutorPool(session, StatusStore(session), executors)
            deadline = time.monotonic() + 120
            while len(pool.running()) < executors and time.monotonic() < deadline:
                time.sleep(0.2)
            yield Place(session=session, folder=folder)
        finally:
            session.stop()
    finally:
        cluster.close()
        cluster.wait_gone(20)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def workload_folder(workload: str, name: str, changed: Callable[[str], str]) -> Iterator[LoadedJob]:
    """Write the job of a workload to a folder, and remove it afterwards; `changed` edits its job file."""
    folder = new_folder(name)
    source = files("penstock") / "workloads" / workload
    try:
        (folder / "job.toml").write_text(changed((source / "job.toml").read_text()))
        (folder / "job.py").write_text((source / "job.py").read_text())
        yield load_job(folder / "job.toml")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def workload_job(workload: str, name: str, changed: Callable[[str], str]) -> Iterator[RunningJob]:
    """Run the workload as a job of this name."""
    with workload_folder(workload, name, changed) as loaded:
        shutil.rmtree(JobFolder(name).path, ignore_errors=True)
        job = RunningJob(loaded, spark_log=loaded.path.parent / "spark.log")
        try:
            job.start()
            yield job
        finally:
            job.stop("the measurement is over")
            shutil.rmtree(JobFolder(name).path, ignore_errors=True)


def with_rate(toml: str, rate: str) -> str:
    """Return a job file with another rate for its only trace or feed.

    >>> with_rate('[sources.a]' + chr(10) + 'rate = "constant(5)"' + chr(10), "constant(9)")
    '[sources.a]\\nrate = "constant(9)"\\n'
    """
    line = next(line for line in toml.splitlines() if line.startswith("rate ="))
    return toml.replace(line, f'rate = "{rate}"')


DEMO, REAL_TIME = "penstock-demo-realtime", '{ real_time = "10s" }'
FED, QUERY, OUTPUT = "clicks", "counted", "counts"
ANSWER_S = 120.0


@contextmanager
def clicks_job(name: str, rate_rows_per_s: float, trigger: str = REAL_TIME) -> Iterator[RunningJob]:
    def changed(toml: str) -> str:
        return with_rate(toml.replace(DEMO, name).replace(REAL_TIME, trigger), f"constant({rate_rows_per_s:g})")

    with workload_job("clicks", name, changed) as job:
        yield job


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + ANSWER_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{what} did not come within {ANSWER_S:.0f} s")
        time.sleep(0.1)
