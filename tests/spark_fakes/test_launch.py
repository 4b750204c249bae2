import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import py4j.java_gateway
import pyspark
import pytest
from hearing import hearing
from py4j.java_gateway import GatewayParameters, JavaGateway
from waiting import wait_until

from penstock.core.domain.job_spec import JobSpec, Limits, QuerySpec, SinkSpec, SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.redaction import Redactor
from penstock.spark import cpu
from penstock.spark.launch import LogPipe, forward_signals, launch_apart
from penstock.spark.session import settings_for


def job(source: str, trigger: str = "2s") -> JobSpec:
    query = QuerySpec(name="q", function="job.py:q", sources=("in",), sink=SinkSpec(format="noop"), trigger=Trigger.parse(trigger))
    sources = (SourceSpec(name="in", format=source),)
    return JobSpec(name="j", folder=".", checkpoint="c", sources=sources, queries=(query,), master="embedded", limits=Limits(max_executors=3))


def test_a_job_on_kafka_has_quick_heartbeats_as_it_may_be_switched_to_real_time_mode() -> None:
    beat = "spark.executor.heartbeatInterval"
    quick = settings_for(job("kafka", "realtime:15s"), embedded=True)[beat]
    assert settings_for(job("kafka"), embedded=True)[beat] == quick
    assert settings_for(job("trace"), embedded=True)[beat] != quick
    assert beat in settings_for(job("kafka"), embedded=False) and beat not in settings_for(job("trace"), embedded=False)


@pytest.mark.parametrize("to_file", [True, False])
def test_a_jvm_that_does_not_start_is_one_line_with_what_it_said(to_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    with pytest.raises(UserMistake, match=r"local\[1\]: .*/nonexistent/bin/java.*Java 17") as mistake:
        launch_apart("local[1]", {}, tmp_path / "penstock.zip", tmp_path / "spark.log" if to_file else None, str)
    assert "\n" not in str(mistake.value)


def test_what_the_jvm_prints_is_masked_on_the_terminal_too(capsys: pytest.CaptureFixture[str]) -> None:
    pipe = LogPipe(None, Redactor(frozenset({"hunter2"})).text)
    os.write(pipe.end, b"the password is hunter2\n")
    pipe.close()
    assert pipe.said() == "the password is ***\n" == capsys.readouterr().err


def test_executors_report_their_cpu_to_where_spark_submit_says_the_driver_is_and_not_on_a_local_master(monkeypatch: pytest.MonkeyPatch) -> None:
    submitted = replace(job("trace"), master=None)
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    monkeypatch.setattr(cpu, "given_settings", lambda: {"spark.master": "k8s://https://host:443", "spark.driver.host": "driver-service"})
    listening: Any = SimpleNamespace(address=("0.0.0.0", 4711))
    assert cpu.reports_cpu(submitted)
    assert "driver-service" in cpu.reporting_settings(submitted, listening).values()
    monkeypatch.setattr(cpu, "given_settings", lambda: {"spark.master": "local[2]"})
    assert not cpu.reports_cpu(submitted)


@pytest.fixture
def jvm() -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    with hearing():
        port, process = py4j.java_gateway.launch_gateway(classpath=str(jar), jarpath=str(jar), die_on_exit=True, return_proc=True)
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        yield gateway, process
        gateway.close(close_callback_server_connections=True)
        process.kill()
        process.wait()


def test_a_signal_that_asks_the_jvm_to_stop_is_passed_on_and_the_jvm_lives(jvm: tuple[Any, subprocess.Popen[bytes]]) -> None:
    gateway, process = jvm
    heard: list[int] = []
    forward_signals(gateway, heard.append)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(process.pid, number)
        wait_until(lambda number=number: heard[-1:] == [number], 20)  # type: ignore[misc]
    assert process.poll() is None and gateway.jvm.java.lang.Math.abs(-2) == 2


def test_a_signal_that_is_ignored_here_is_left_to_the_jvm(jvm: tuple[Any, subprocess.Popen[bytes]]) -> None:
    gateway, process = jvm
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        forward_signals(gateway, lambda number: None)
    finally:
        signal.signal(signal.SIGHUP, before)
    os.kill(process.pid, signal.SIGHUP)
    assert process.wait(20) == 128 + signal.SIGHUP
