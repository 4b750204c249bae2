"""An embedded cluster and a session for a measurement, gone when it is done."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.core.domain.job import JobSpec, Limits
from penstock.runtime.home import home
from penstock.spark.embedded import EmbeddedCluster
from penstock.spark.executors import ExecutorPool
from penstock.spark.jvm import StatusStore
from penstock.spark.session import open_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a measurement runs: a session with its executors up, and a folder that goes with it."""

    session: SparkSession
    folder: Path


@contextmanager
def place(name: str, executors: int, **conf: str) -> Iterator[Place]:
    home().mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home()))
    job = JobSpec(
        name=name,
        folder=str(folder),
        checkpoint=str(folder),
        sources=(),
        queries=(),
        master="embedded",
        spark_conf=conf,
        limits=Limits(max_executors=executors),
    )
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
