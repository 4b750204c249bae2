"""The CPU of executors, from wherever it can be had: a query the user gave, their processes on this machine, or their own metrics."""

from __future__ import annotations

import os
import socket
from typing import Protocol

from penstock.core.domain.job import JobSpec
from penstock.spark.graphite import GraphiteCpu, graphite_settings
from penstock.spark.processes import ExecutorProcesses
from penstock.spark.prometheus_cpu import PrometheusCpu
from penstock.spark.session import given_settings


class ExecutorCpu(Protocol):
    """Tells the CPU of one executor on a host: its cores now, or the seconds it has taken in all; None where neither is known.

    `problem` is one line on why nothing is known of any, if there is such a reason.
    """

    @property
    def problem(self) -> str | None: ...

    def cores(self, executor_id: str, host: str) -> float | None: ...

    def cpu_s(self, executor_id: str, host: str) -> float | None: ...


class MeasuredCpu:
    """What the user's Prometheus query says wins; else the process tree of an executor on this machine, else what the executor itself reports."""

    def __init__(self, processes: ExecutorProcesses, reported: GraphiteCpu | None = None, asked: PrometheusCpu | None = None) -> None:
        self._processes = processes
        self._reported = reported
        self._asked = asked

    @property
    def problem(self) -> str | None:
        return self._asked.problem if self._asked else None

    def cores(self, executor_id: str, host: str) -> float | None:
        return self._asked.cores().get(executor_id) if self._asked else None

    def cpu_s(self, executor_id: str, host: str) -> float | None:
        if self._asked is not None:
            return None
        if self._processes.is_here(host):
            return self._processes.cpu_s(executor_id)
        return self._reported.cpu_s(executor_id) if self._reported else None


def reports_cpu(job: JobSpec) -> bool:
    """Whether the executors of this job are to report their CPU: they may be on other machines, and nobody was named who knows better."""
    if not job.ask_executors_cpu:
        return False
    given = job.master or given_settings().get("spark.master") or os.environ.get("MASTER", "")
    return job.cpu_query is None and job.master != "embedded" and not given.startswith("local")


def reporting_settings(job: JobSpec, reported: GraphiteCpu) -> dict[str, str]:
    """The Spark settings by which executors report to this driver."""
    host = (given_settings() | dict(job.spark_conf)).get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP") or own_address()
    return graphite_settings(host, reported.address[1])


def own_address() -> str:
    """This machine's address as others see it: that of the way out of it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
