"""The CPU of executors: from a Prometheus query of the user's, from their process trees on this machine, or from their own metrics."""

import os
import socket
from collections.abc import Mapping

import psutil

from penstock.core.domain.job_spec import JobSpec
from penstock.core.monitor.facts import CpuWanted
from penstock.spark.contention import ContentionMeter
from penstock.spark.graphite import GraphiteCpu, graphite_settings
from penstock.spark.prometheus_cpu import PrometheusCpu
from penstock.spark.session import given_settings

BACKEND = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class ExecutorProcesses:
    """Finds the processes of one application's executors on this machine, and reads the CPU time of their process trees, Python workers included."""

    def __init__(self, application_id: str) -> None:
        self._application_id = application_id
        self._found: dict[str, psutil.Process] = {}
        self._addresses = {address.address for addresses in psutil.net_if_addrs().values() for address in addresses} | {socket.gethostname(), socket.getfqdn()}

    def is_here(self, host: str) -> bool:
        return host in self._addresses

    def process(self, executor_id: str) -> psutil.Process | None:
        known = self._found.get(executor_id)
        if known is not None and known.is_running():
            return known
        self._found = self.all()
        return self._found.get(executor_id)

    def all(self) -> dict[str, psutil.Process]:
        """Return the processes of all executors on this machine, by executor id."""
        found = {}
        for process in psutil.process_iter(["cmdline"]):
            line = process.info["cmdline"] or []
            if BACKEND in line and self._application_id in line and "--executor-id" in line:
                found[line[line.index("--executor-id") + 1]] = process
        return found

    def tree(self, executor_id: str) -> list[int]:
        """Return the ids of its processes; none if it is not found here."""
        process = self.process(executor_id)
        try:
            return [] if process is None else [process.pid, *(child.pid for child in process.children(recursive=True))]
        except psutil.Error:
            return []

    def cpu_s(self, executor_id: str) -> float | None:
        """Return the CPU seconds of its process tree; None if they cannot be read here."""
        process = self.process(executor_id)
        if process is None:
            return None
        try:
            times = [process.cpu_times(), *(child.cpu_times() for child in process.children(recursive=True))]
        except psutil.Error:
            return None
        return sum(each.user + each.system + getattr(each, "children_user", 0.0) + getattr(each, "children_system", 0.0) for each in times)


class MeasuredCpu:
    """The CPU of one executor on a host: the cores it uses now, or the seconds it has used in all; None if unknown.

    The user's Prometheus query wins; else the process tree of an executor on this machine; else what the executor itself reports.
    """

    def __init__(self, processes: ExecutorProcesses, reported: GraphiteCpu | None = None, asked: PrometheusCpu | None = None) -> None:
        self._processes = processes
        self._reported = reported
        self._asked = asked
        self._contention = ContentionMeter()

    def wanted(self, hosts: Mapping[str, str]) -> CpuWanted | None:
        """Return what the driver and these executors, by their hosts, wanted of this machine's CPU and others took; None if one is on another machine."""
        if not hosts or not all(map(self._processes.is_here, hosts.values())):
            return None
        trees = [pid for each in hosts for pid in self._processes.tree(each)]
        return self._contention.look([*trees, *(child.pid for child in psutil.Process().children(recursive=True)), os.getpid()]) if trees else None

    @property
    def problem(self) -> str | None:
        """One line on why nothing is known of any executor, if so."""
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
    """Return whether the executors of this job are to report their CPU: they may be on other machines, and there is no Prometheus query."""
    if not job.ask_executors_cpu:
        return False
    given = job.master or given_settings().get("spark.master") or os.environ.get("MASTER", "")
    return job.cpu_query is None and job.master != "embedded" and not given.startswith("local")


def reporting_settings(job: JobSpec, reported: GraphiteCpu) -> dict[str, str]:
    """Return the Spark settings by which executors report to this driver."""
    host = (given_settings() | dict(job.spark_conf)).get("spark.driver.host") or os.environ.get("SPARK_LOCAL_IP") or own_address()
    return graphite_settings(host, reported.address[1])


def own_address() -> str:
    """Return this machine's address as others see it: that of its default route."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()
