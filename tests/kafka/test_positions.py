"""A Kafka source tells how far its topics have come: arrival rate and lag are measured at the broker."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest

pytestmark = pytest.mark.spark

TOKEN = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
JOB = """
name = "kafka-job"
master = "local[4]"
[sources.made]
format = "trace"
rate = "constant(400)"
partitions = 2
[sources.topic]
format = "kafka"
subscribe = "numbers"
startingOffsets = "earliest"
"kafka.bootstrap.servers" = "{broker}"
[queries.feed]
function = "job.py:feed"
sources = ["made"]
trigger = "500ms"
[queries.feed.sink]
format = "kafka"
topic = "numbers"
"kafka.bootstrap.servers" = "{broker}"
[queries.read]
function = "job.py:read"
sources = ["topic"]
trigger = "2s"
[queries.read.sink]
format = "noop"
[settings]
reading_interval_s = 2
reading_window_s = 6
[spark]
"spark.jars" = "{jars}"
"""
CODE = """
def feed(rows):
    return rows.selectExpr("cast(position as string) key", "cast(value as string) value")

def read(rows):
    return rows
"""


def resolve(session: Any, folder: Path, coordinates: str, *, transitive: bool = True, without: tuple[str, ...] = ()) -> list[str]:
    """Jars by Spark's own resolver."""
    jvm = session._jvm
    maven, stderr, nothing = jvm.org.apache.spark.util.MavenUtils, jvm.java.lang.System.err, jvm.scala.Option.empty()
    scala = jvm.scala.jdk.javaapi.CollectionConverters
    exclusions = jvm.java.util.ArrayList()
    for each in without:
        exclusions.add(each)
    settings = maven.buildIvySettings(nothing, jvm.scala.Option.apply(str(folder)), False, stderr)
    found = maven.resolveMavenCoordinates(coordinates, settings, nothing, transitive, scala.asScala(exclusions).toSeq(), False, stderr)
    return [str(jar) for jar in scala.asJava(found)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def broker(session: Any, state_home: Path) -> Iterator[str]:
    jars = resolve(session, state_home / "ivy", "org.apache.kafka:kafka_2.13:4.1.1")
    jars += [str(jar) for jar in (Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")]
    folder, port, controller = state_home / "broker", free_port(), free_port()
    folder.mkdir()
    (folder / "server.properties").write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\nadvertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
        "controller.listener.names=CONTROLLER\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"
        f"log.dirs={folder}/data\nnum.partitions=3\noffsets.topic.replication.factor=1\n"
    )
    java = [f"{os.environ['JAVA_HOME']}/bin/java" if os.environ.get("JAVA_HOME") else "java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", ":".join(jars)]
    cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    subprocess.run([*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(folder / "server.properties")], check=True, capture_output=True)
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(folder / "server.properties")], stdout=log, stderr=log, cwd=folder)
    deadline = time.monotonic() + 60
    while socket.socket().connect_ex(("127.0.0.1", port)):
        assert time.monotonic() < deadline and process.poll() is None, (folder / "log").read_text()[-2000:]
        time.sleep(0.2)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait(30)


def state_of(environment: dict[str, str]) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "status", "--json", "--job", "kafka-job"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    reading = json.loads(done.stdout)["reading"] if done.returncode == 0 else None
    return next((query for query in (reading or {}).get("queries", ()) if query["name"] == "read"), None)


def test_the_arrival_rate_and_the_lag_of_a_topic_are_asked_from_the_broker(session: Any, state_home: Path, broker: str, tmp_path: Path) -> None:
    connector = resolve(session, state_home / "ivy", "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", without=(TOKEN,))
    token = resolve(session, state_home / "ivy", f"{TOKEN}:4.1.0-preview1", transitive=False)
    wanted = [jar for jar in connector + token if any(name in jar for name in ("spark-sql-kafka", "kafka-clients", "commons-pool2", "token-provider"))]
    (tmp_path / "job.py").write_text(CODE)
    (tmp_path / "job.toml").write_text(JOB.format(broker=broker, jars=",".join(wanted)))
    environment = dict(os.environ)
    with open(tmp_path / "out.log", "wb") as log:
        driver = subprocess.Popen([sys.executable, "-m", "penstock", "run", "job.toml"], cwd=tmp_path, env=environment, stdout=log, stderr=log)
    try:
        rates: list[float] = []
        deadline = time.monotonic() + 120
        while len(rates) < 5:
            assert time.monotonic() < deadline and driver.poll() is None, (tmp_path / "out.log").read_text()[-3000:]
            query = state_of(environment)
            if query and query["throughput_rows_per_s"] and query["batches"] >= 2:
                assert query["lag_rows"] is not None and query["lag_s"] is not None and query["latency"]["p95_s"] > 0
                rates.append(query["arrival_rows_per_s"])
            time.sleep(2)
        assert sum(rates) / len(rates) == pytest.approx(400, rel=0.25), rates
    finally:
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(60) == 0
