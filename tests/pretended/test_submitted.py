"""The JVM of spark-submit, in whose place there is one without Spark."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import py4j.java_gateway
import pyspark
import pytest
from hearing import hearing
from py4j.java_gateway import GatewayParameters, JavaGateway
from waiting import wait_until

from penstock.spark.launch import hear_for_jvm


@pytest.fixture
def jvm() -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    with hearing():
        yield from launched(jar)


def launched(jar: Path) -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    port, process = py4j.java_gateway.launch_gateway(classpath=str(jar), jarpath=str(jar), die_on_exit=True, return_proc=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    yield gateway, process
    gateway.close(close_callback_server_connections=True)
    process.kill()
    process.wait()


def test_a_signal_that_asks_the_jvm_to_stop_is_passed_on_and_the_jvm_lives(jvm: tuple[Any, subprocess.Popen[bytes]]) -> None:
    gateway, process = jvm
    heard: list[int] = []
    hear_for_jvm(gateway, heard.append)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(process.pid, number)
        wait_until(lambda number=number: heard[-1:] == [number], 20)  # type: ignore[misc]
    assert process.poll() is None and gateway.jvm.java.lang.Math.abs(-2) == 2


def test_a_signal_that_is_ignored_here_is_left_to_the_jvm(jvm: tuple[Any, subprocess.Popen[bytes]]) -> None:
    gateway, process = jvm
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        hear_for_jvm(gateway, lambda number: None)
    finally:
        signal.signal(signal.SIGHUP, before)
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(20) == 128 + signal.SIGHUP
