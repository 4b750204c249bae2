"""What a measurement's processes take: the driver (this process and its JVM), and the embedded cluster with its executors."""

from __future__ import annotations

import psutil

KEEPER = "penstock.spark.embedded.keeper"


class Processes:
    """The processes as they are when this is made."""

    def __init__(self) -> None:
        me = psutil.Process()
        keepers = [child for child in me.children() if child.status() != psutil.STATUS_ZOMBIE and KEEPER in child.cmdline()]
        self._cluster = [process for keeper in keepers for process in (keeper, *keeper.children(recursive=True))]
        apart = {process.pid for process in self._cluster}
        self._driver = [me, *(child for child in me.children(recursive=True) if child.pid not in apart)]

    def driver_cpu_s(self) -> float:
        """CPU seconds the driver has taken so far."""
        return sum(map(cpu_s, self._driver))

    def cpu_s(self) -> float:
        """CPU seconds all have taken so far."""
        return self.driver_cpu_s() + sum(map(cpu_s, self._cluster))

    def driver_rss_mb(self) -> float:
        return sum(map(rss_mb, self._driver))


def cpu_s(process: psutil.Process) -> float:
    """CPU seconds a process has taken; 0 for one that is gone."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0


def rss_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 1e6
    except psutil.Error:
        return 0.0
