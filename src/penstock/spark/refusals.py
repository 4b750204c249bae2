"""What Penstock cannot work with: each is refused in one line that says what to do."""

import os
import socket
from pathlib import Path
from typing import Any

from penstock.core.errors import UserMistake

OLDEST_SPARK = (4, 3)


def refuse_old_spark(version: str) -> None:
    """Raise unless this Spark is new enough.

    >>> refuse_old_spark("3.5.1")
    Traceback (most recent call last):
    penstock.core.errors.UserMistake: Spark 3.5.1 is too old: Penstock needs Spark 4.3 or newer (pip install "pyspark>=4.3")
    """
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SPARK:
        needed = ".".join(map(str, OLDEST_SPARK))
        raise UserMistake(f'Spark {version} is too old: Penstock needs Spark {needed} or newer (pip install "pyspark>={needed}")')


def refuse_other_spark() -> None:
    """Raise unless the PySpark that Python finds is new enough; to be called before importing what an older one does not have."""
    import pyspark

    refuse_old_spark(pyspark.__version__)


def refuse_connect(session: Any = None) -> None:
    """Raise for Spark Connect and serverless clients (a session, a writer, a query): they have no driver from which executors can be requested."""
    remote = os.environ.get("SPARK_REMOTE") or os.environ.get("SPARK_CONNECT_MODE_ENABLED") or os.environ.get("SPARK_API_MODE", "").lower() == "connect"
    if session is None and remote:
        raise UserMistake(
            "a Spark Connect client was found (SPARK_REMOTE or the connect API mode): run on the driver instead, with a classic session; unset it"
        )
    if session is not None and ".connect." in type(session).__module__:
        raise UserMistake(
            "this is a Spark Connect or serverless session: Penstock needs a classic one, in the driver (SparkSession.builder.master(...), or spark-submit)"
        )


def refuse_dynamic_allocation(setting: str | None) -> None:
    if str(setting).lower() == "true":
        raise UserMistake('dynamic allocation is on and would fight with Penstock over executors: set "spark.dynamicAllocation.enabled" to false')


def find_master(declared: str | None) -> str | None:
    """Return the master that the job names; None if spark-submit or Spark's own settings give one; raise if there is none."""
    if declared:
        return declared
    given = os.environ.get("PYSPARK_GATEWAY_PORT") or os.environ.get("MASTER") or "--master" in os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    if given or "spark.master" in spark_defaults():
        return None
    raise UserMistake(
        'master: none is named anywhere; write master = "embedded" (or a Spark master URL) in the job file, or start the job with spark-submit --master ...'
    )


def spark_defaults() -> dict[str, str]:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    path = Path(folder) / "spark-defaults.conf" if folder else None
    if path is None or not path.exists():
        return {}
    pairs = (line.split(None, 1) for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {pair[0]: pair[-1].strip() for pair in pairs}


def refuse_silent_master(master: str | None, timeout_s: float = 5.0) -> None:
    """Raise if no host of a standalone master answers: Spark itself would try for minutes."""
    if not master or not master.startswith("spark://"):
        return
    answers = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise UserMistake(f"master: found {master!r}, spark://host:port is allowed")
        try:
            socket.create_connection((host, int(port)), timeout_s).close()
            return
        except OSError as error:
            answers.append(f"{address}: {error.strerror or error}")
    raise UserMistake(f"master: {master} does not answer ({'; '.join(answers)}); is it running, and reachable from here?")
