"""CPU time of executors on this machine, from their process trees: Python workers and helper threads included."""

from __future__ import annotations

import socket

import psutil

BACKEND = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class ExecutorProcesses:
    """Finds the processes of one application's executors, once each, and reads what they and their children have taken."""

    def __init__(self, application_id: str) -> None:
        self._application_id = application_id
        self._found: dict[str, psutil.Process] = {}
        self._addresses = {address.address for addresses in psutil.net_if_addrs().values() for address in addresses} | {socket.gethostname(), socket.getfqdn()}

    def is_here(self, host: str) -> bool:
        """Whether an executor's host is this machine: elsewhere there is nothing to look for."""
        return host in self._addresses

    def process(self, executor_id: str) -> psutil.Process | None:
        """The executor's own process, if it runs on this machine."""
        known = self._found.get(executor_id)
        if known is not None and known.is_running():
            return known
        self._found.pop(executor_id, None)
        for process in psutil.process_iter(["cmdline"]):
            line = process.info["cmdline"] or []
            if BACKEND in line and self._application_id in line and "--executor-id" in line:
                self._found[line[line.index("--executor-id") + 1]] = process
        return self._found.get(executor_id)

    def cpu_s(self, executor_id: str) -> float | None:
        """CPU seconds its whole process tree has taken; None if it cannot be read here."""
        process = self.process(executor_id)
        if process is None:
            return None
        try:
            times = [process.cpu_times(), *(child.cpu_times() for child in process.children(recursive=True))]
        except psutil.Error:
            return None
        return sum(each.user + each.system + getattr(each, "children_user", 0.0) + getattr(each, "children_system", 0.0) for each in times)
