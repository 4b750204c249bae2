"""A Spark session fit for Penstock, on any master."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.core.domain.job import JobSpec
from penstock.core.errors import UserMistake
from penstock.spark.causes import cause_of, first_sentence
from penstock.spark.connector import provide_connector
from penstock.spark.logs import LogPipe
from penstock.spark.refusals import (
    find_master,
    refuse_connect,
    refuse_dynamic_allocation,
    refuse_old_spark,
    refuse_other_spark,
    refuse_silent_master,
    spark_defaults,
)
from penstock.spark.shipping import pack_penstock, ship_penstock

# Executors run in a folder of the cluster's own: what a killed one leaves there goes with it.
_EXECUTOR_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir=."

SCRATCH = "scratch"
SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""In the environment under spark-submit, which has started the JVM."""

# In Real-Time Mode all tasks run all the time: slots are logical, and room to take an executor away is worth more than a slot a core.
REAL_TIME_SLOTS = "8"
# Heartbeats are what tells how far a running batch has come. A job on Kafka may be switched to Real-Time Mode while it runs, they may not.
EMBEDDED_HEARTBEAT, HEARTBEAT = "250ms", "1s"

STREAMING_DEFAULTS = {
    # With these from the first start, a query can later go to Real-Time Mode and back on the same checkpoint; an existing checkpoint keeps its own.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.dynamicAllocation.enabled": "false",
    "spark.decommission.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
    # Code of the user that does not come back must not keep a query from being stopped for ever.
    "spark.sql.streaming.stopTimeout": "30s",
}

EMBEDDED_DEFAULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "800m",
    "spark.executor.extraJavaOptions": _EXECUTOR_OPTIONS,
    "spark.locality.wait": "0s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "5s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "20s",
    "spark.ui.enabled": "false",
}


def settings_for(job: JobSpec, *, embedded: bool) -> dict[str, str]:
    """The Spark settings of a job: what its file says wins, then what spark-submit or spark-defaults.conf say, then Penstock's defaults."""
    given = dict(job.spark_conf) if embedded else given_settings() | dict(job.spark_conf)
    flows = any(query.trigger.kind == "real_time" for query in job.queries)
    cores_text = given.get("spark.executor.cores", REAL_TIME_SLOTS if embedded and flows else "1")
    if not cores_text.isdigit():
        raise UserMistake(f"spark.executor.cores: found {cores_text!r}, a whole number of at least 1 is allowed")
    all_cores = str(job.limits.max_executors * int(cores_text))
    defaults = dict(STREAMING_DEFAULTS)
    if embedded:
        defaults |= EMBEDDED_DEFAULTS | {"spark.cores.max": all_cores, "spark.sql.shuffle.partitions": str(job.limits.max_executors)}
        defaults |= {"spark.executor.cores": cores_text}
    else:
        master = job.master or given.get("spark.master", "")
        defaults |= {"spark.executor.instances": str(job.limits.first)}
        defaults |= {"spark.executor.cores": cores_text, "spark.cores.max": all_cores} if master.startswith("spark://") else {}
    defaults |= {"spark.executor.heartbeatInterval": EMBEDDED_HEARTBEAT if embedded else HEARTBEAT} if flows or job.uses_kafka else {}
    return {key: value for key, value in defaults.items() if key not in given} | dict(job.spark_conf)


def in_scratch(folder: Path) -> dict[str, str]:
    """Let the driver's JVM put its temporary files in the job's own folder, emptied first of what a killed one left."""
    scratch = folder / SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return {"spark.local.dir": str(scratch), "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Djava.io.tmpdir={scratch}"}


def given_settings() -> dict[str, str]:
    """What spark-submit was given, or what spark-defaults.conf says."""
    if SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return spark_defaults()


def open_session(
    job: JobSpec, folder: Path, embedded_master: str | None = None, log: Path | None = None, redact: Callable[[str], str] = str,
    say: Callable[[str], None] = lambda line: None, more: Mapping[str, str] | None = None,
) -> SparkSession:  # fmt: skip
    """Start Spark for a job, with Penstock on its executors, or raise one clear line.

    `folder` is the job's own, for what must stay while it runs; `log` takes what Spark's JVM prints (None: the terminal); `say` hears which Kafka
    connector was found, for a job that needs one; `more` are settings that give way to the job's own.
    """
    refuse_connect()
    master = embedded_master or find_master(job.master)
    refuse_silent_master(master)
    given = given_settings() | dict(job.spark_conf)
    refuse_dynamic_allocation(given.get("spark.dynamicAllocation.enabled"))
    if master is not None and master.startswith(("spark://127.0.0.1", "local")):
        # On this machine, executors use this interpreter; elsewhere its path means nothing.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    refuse_other_spark()
    archive = pack_penstock(folder)
    settings = {**(more or {}), **settings_for(job, embedded=embedded_master is not None)}
    if embedded_master is not None:
        settings = in_scratch(folder) | settings
    launch_apart(master, settings, archive, log, redact)
    if job.uses_kafka:
        settings |= with_connector(job.kafka.connector, settings.get("spark.jars", ""), say)
    session = start_session(job.name, master, settings, redact)
    ship_penstock(session, archive)
    return session


def with_connector(given: Sequence[str], jars: str, say: Callable[[str], None]) -> dict[str, str]:
    """The Kafka connector for the driver, which gets it here, and for the executors, which get it by the returned setting."""
    SparkContext._ensure_initialized()
    found, words = provide_connector(SparkContext._jvm, given)
    if words:
        say(words)
    return {"spark.jars": ",".join([*filter(None, [jars]), *found.jars])} if found.jars else {}


def start_session(name: str, master: str | None, settings: Mapping[str, str], redact: Callable[[str], str]) -> SparkSession:
    builder: Any = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise UserMistake(f"Spark did not start on {master or 'the given master'}: {cause_of(error, redact)[0]}") from None
    check_session(session)
    return session


def launch_apart(master: str | None, settings: Mapping[str, str], archive: Path, log: Path | None, redact: Callable[[str], str]) -> None:
    """Start Spark's JVM in a session of its own: a Ctrl-C at the terminal reaches Penstock alone, which then stops it in order.

    It still ends with this process, as it reads from a pipe that closes then. Under spark-submit there already is one.
    Settings that hold a secret are not given on its command line, which everybody can read; they reach Spark a moment later.
    """
    if SparkContext._gateway is not None or SUBMITTED in os.environ:
        return
    conf = SparkConf(loadDefaults=False)
    conf.setAll([(key, value) for key, value in settings.items() if redact(value) == value])
    if master:
        conf.set("spark.master", master)
    pipe = LogPipe(log, redact)
    try:
        # The Python that Spark plans sources with, in the driver, is the executors' one and may not have Penstock either.
        with python_path(archive):
            gateway = launch_gateway(conf, popen_kwargs={"start_new_session": True, "stdout": pipe.end, "stderr": pipe.end})  # type: ignore[no-untyped-call]
    except (PySparkRuntimeError, OSError) as error:
        pipe.close()
        cause = first_sentence(pipe.said() or redact(str(error)))
        raise UserMistake(f"Spark's JVM did not start for {master or 'the given master'}: {cause}; it needs Java 17 or newer (set JAVA_HOME)") from None
    SparkContext._ensure_initialized(gateway=gateway)
    pipe.close()


@contextmanager
def python_path(archive: Path) -> Iterator[None]:
    """PYTHONPATH with this archive in front, for processes that are started meanwhile."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(archive), *filter(None, [before])])
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def check_session(session: SparkSession) -> None:
    """Raise unless this session is one that Penstock can work with."""
    refuse_connect(session)
    refuse_old_spark(session.version)
    refuse_dynamic_allocation(session.sparkContext.getConf().get("spark.dynamicAllocation.enabled"))
