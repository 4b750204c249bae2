"""A Spark session fit for Penstock, on any master, with the code that its executors need."""

import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import IllegalArgumentException
from pyspark.sql import SparkSession

from penstock.core.domain.job_spec import JobSpec
from penstock.core.errors import UserMistake
from penstock.spark.causes import cause_of
from penstock.spark.connector import provide_connector
from penstock.spark.launch import SUBMITTED, launch_apart
from penstock.spark.refusals import (
    find_master,
    refuse_connect,
    refuse_dynamic_allocation,
    refuse_old_spark,
    refuse_other_spark,
    refuse_silent_master,
    spark_defaults,
)

# Executors run in a folder of the cluster's own: files of a killed one are removed with it.
_EXECUTOR_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir=."

SCRATCH = "scratch"

# In Real-Time Mode all tasks run all the time. Slots are logical: more of them than cores leave room to remove an executor.
REAL_TIME_SLOTS = "8"
# Heartbeats report the progress of a running batch. A job on Kafka may be switched to Real-Time Mode while it runs; this setting cannot be changed then.
EMBEDDED_HEARTBEAT, HEARTBEAT = "250ms", "1s"

STREAMING_DEFAULTS = {
    # With these, a query can later switch to Real-Time Mode and back on the same checkpoint; an existing checkpoint keeps its own.
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.dynamicAllocation.enabled": "false",
    "spark.decommission.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.scheduler.mode": "FAIR",
    # User code that never returns must not block the stop of a query for ever.
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
    """Return the Spark settings of a job: its file wins, then spark-submit or spark-defaults.conf, then Penstock's defaults."""
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
    """Return the settings that put temporary files of the driver's JVM in the job's folder, which is emptied first."""
    scratch = folder / SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return {"spark.local.dir": str(scratch), "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Djava.io.tmpdir={scratch}"}


def given_settings() -> dict[str, str]:
    """Return the settings of spark-submit, else those of spark-defaults.conf."""
    if SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return spark_defaults()


def open_session(
    job: JobSpec, folder: Path, embedded_master: str | None = None, log: Path | None = None, redact: Callable[[str], str] = str,
    say: Callable[[str], None] = lambda line: None, more: Mapping[str, str] | None = None,
) -> SparkSession:  # fmt: skip
    """Start Spark for a job, with Penstock on its executors, or raise one clear line.

    `folder` is the job's own, for files that must stay while it runs; `log` takes what Spark's JVM prints (None: the terminal); `say` is called with
    the Kafka connector that was found; the job's own settings win over `more`.
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
    """Load the Kafka connector into the driver; return the setting by which the executors get it."""
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


def check_session(session: SparkSession) -> None:
    refuse_connect(session)
    refuse_old_spark(session.version)
    refuse_dynamic_allocation(session.sparkContext.getConf().get("spark.dynamicAllocation.enabled"))


def ship_file(session: SparkSession, reference: str | None, folder: str) -> None:
    """Send the file of a `file.py:name` reference to the executors."""
    file = (reference or "").partition(":")[0]
    if not file.endswith(".py"):
        return
    path = (Path(folder) / file).resolve()
    try:
        session.sparkContext.addPyFile(str(path))
    except IllegalArgumentException:
        raise UserMistake(f"{path}: another file of that name was already sent to the executors; give one of them another name") from None


def pack_penstock(folder: Path) -> Path:
    """Write Penstock as an archive to `folder`, where it stays: executors that join later fetch it too."""
    found = find_spec("penstock")
    assert found is not None and found.origin is not None
    root = Path(found.origin).parent
    path = folder / "penstock.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(root.rglob("*.py")):
            archive.write(file, Path("penstock") / file.relative_to(root))
    return path


def ship_penstock(session: SparkSession, archive: Path) -> None:
    """Send Penstock to the executors, once a session; its sources and sinks need only the standard library, numpy, pyarrow and pyspark."""
    if not getattr(session, "_has_penstock", False):
        session.sparkContext.addPyFile(str(archive))
        session._has_penstock = True  # type: ignore[attr-defined]
