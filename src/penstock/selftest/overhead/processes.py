"""What the driver of a measurement takes: this process and its JVM, without the embedded cluster and its executors."""

from __future__ import annotations

from typing import Any

import psutil
from pyspark.sql import SparkSession

KEEPER = "penstock.spark.embedded"


class Driver:
    """Its processes as they are when this is made."""

    def __init__(self) -> None:
        me = psutil.Process()
        keepers = [child for child in me.children() if child.status() != psutil.STATUS_ZOMBIE and KEEPER in child.cmdline()]
        apart = {process.pid for keeper in keepers for process in (keeper, *keeper.children(recursive=True))}
        self._processes = [me, *(child for child in me.children(recursive=True) if child.pid not in apart)]

    def cpu_s(self) -> float:
        """CPU seconds it has taken so far."""
        return sum(map(cpu_s, self._processes))


def cpu_s(process: psutil.Process) -> float:
    """CPU seconds a process has taken; 0 for one that is gone."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0


def driver_memory_mb(session: SparkSession) -> float:
    """What the driver holds: its Python process, and what is left in the heap of its JVM when the garbage is gone."""
    jvm: Any = session._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    return float(psutil.Process().memory_info().rss + runtime.totalMemory() - runtime.freeMemory()) / 1e6
