"""A Spark session fit for Penstock, on any master."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from penstock.core.domain.job import JobSpec
from penstock.core.errors import UserMistake
from penstock.spark.refusals import find_master, refuse_connect, refuse_dynamic_allocation, refuse_old_spark, refuse_silent_master, spark_defaults

_JVM_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"

STREAMING_DEFAULTS = {
    # With these from the first start, a query can later go to Real-Time Mode and back on the same checkpoint; an existing checkpoint keeps its own.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.dynamicAllocation.enabled": "false",
    "spark.decommission.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
}

EMBEDDED_DEFAULTS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "800m",
    "spark.executor.extraJavaOptions": _JVM_OPTIONS,
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.locality.wait": "0s",
    "spark.executor.heartbeatInterval": "2s",
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "5s",
    "spark.storage.blockManagerHeartbeatTimeoutMs": "20s",
    "spark.ui.enabled": "false",
}


def settings_for(job: JobSpec, *, embedded: bool) -> dict[str, str]:
    """The Spark settings of a job: what its file says wins over Penstock's defaults."""
    most = job.limits.max_executors
    settings = dict(STREAMING_DEFAULTS)
    if embedded:
        cores = int(job.spark_conf.get("spark.executor.cores", EMBEDDED_DEFAULTS["spark.executor.cores"]))
        settings |= EMBEDDED_DEFAULTS | {"spark.cores.max": str(most * cores), "spark.sql.shuffle.partitions": str(most)}
    else:
        settings |= {"spark.executor.instances": str(job.limits.first)}
        cores = int(job.spark_conf.get("spark.executor.cores", "1"))
        if job.master and job.master.startswith("spark://"):
            settings |= {"spark.executor.cores": str(cores), "spark.cores.max": str(most * cores)}
    return settings | dict(job.spark_conf)


def open_session(job: JobSpec, embedded_master: str | None = None, log: Path | None = None) -> SparkSession:
    """Start Spark for a job, or raise one clear line; `log` takes what Spark would write to the terminal."""
    refuse_connect()
    master = embedded_master or find_master(job.master)
    refuse_silent_master(master)
    refuse_dynamic_allocation(job.spark_conf.get("spark.dynamicAllocation.enabled", spark_defaults().get("spark.dynamicAllocation.enabled")))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return start_session(job.name, master, settings_for(job, embedded=embedded_master is not None), log)


def start_session(name: str, master: str | None, settings: Mapping[str, str], log: Path | None = None) -> SparkSession:
    import pyspark

    refuse_old_spark(pyspark.__version__)
    launch_apart(settings, log)
    builder: Any = SparkSession.builder.appName(name)
    if master:
        builder = builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise UserMistake(f"Spark did not start on {master or 'the given master'}: {first_line(error)}") from error
    check_session(session)
    return session


def launch_apart(settings: Mapping[str, str], log: Path | None) -> None:
    """Start Spark's JVM in a session of its own: a Ctrl-C at the terminal reaches Penstock alone, which then stops it in order.

    It still ends with this process, as it reads from a pipe that closes then. Under spark-submit there already is one.
    """
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(settings.items()))
    streams: dict[str, Any] = {}
    if log is not None:
        file = open(log, "wb")  # noqa: SIM115
        streams = {"stdout": file, "stderr": file}
    gateway = launch_gateway(conf, popen_kwargs={"start_new_session": True, **streams})  # type: ignore[no-untyped-call]
    SparkContext._ensure_initialized(gateway=gateway)


def check_session(session: SparkSession) -> None:
    """Raise unless this session is one that Penstock can work with."""
    refuse_connect(session)
    refuse_old_spark(session.version)
    refuse_dynamic_allocation(session.sparkContext.getConf().get("spark.dynamicAllocation.enabled"))


def first_line(error: BaseException) -> str:
    """The most telling single line of an error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("at ") and not line.endswith("An error occurred while calling o")]
    java = next((line for line in telling if ": java." in line or line.startswith(": ")), None)
    return (java or (telling[0] if telling else type(error).__name__)).lstrip(": ")[:300]
