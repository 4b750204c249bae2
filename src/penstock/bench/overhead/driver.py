"""What the driver takes: this process and its JVM, without the processes of the embedded cluster."""

from __future__ import annotations

import time

import psutil

KEEPER = "penstock.spark.embedded.keeper"


class Driver:
    """The driver's processes, as they are when this is made."""

    def __init__(self) -> None:
        me = psutil.Process()
        keepers = [child for child in me.children() if child.status() != psutil.STATUS_ZOMBIE and KEEPER in child.cmdline()]
        apart = {process.pid for keeper in keepers for process in (keeper, *keeper.children(recursive=True))}
        self._processes = [me, *(child for child in me.children(recursive=True) if child.pid not in apart)]

    def spent(self) -> tuple[float, float]:
        """CPU seconds so far, and the time of this look."""
        return sum(cpu_s(process) for process in self._processes), time.monotonic()

    def rss_mb(self) -> float:
        return sum(rss_mb(process) for process in self._processes)


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
