"""Faults of executors on this machine: killed or frozen by signals to their processes."""

from __future__ import annotations

import threading

import psutil

from penstock.core.domain.fault import Fault, Injected
from penstock.core.errors import NotReachable, UserMistake
from penstock.ports import Clock
from penstock.spark.cpu import ExecutorProcesses


class ExecutorFaults:
    """Strikes the executors of one application, the oldest first: `kill` is SIGKILL, `freeze` SIGSTOP and, to undo it, SIGCONT.

    A frozen executor that is never undone ends with its application: Spark's Worker kills it.
    """

    def __init__(self, application_id: str, clock: Clock) -> None:
        self._processes = ExecutorProcesses(application_id)
        self._clock = clock

    def inject(self, fault: Fault) -> Injected:
        if fault.kind == "restart":
            raise UserMistake("a query of a copy on Spark cannot be made to fail yet: kill or freeze an executor")
        running = {each: process for each, process in self._processes.all().items() if process.status() != psutil.STATUS_STOPPED}
        if not running:
            raise NotReachable("the copy has no executor on this machine to strike")
        executor_id = min(running, key=int)
        process = running[executor_id]
        if fault.kind == "kill":
            process.kill()
        else:
            process.suspend()
        injected = Injected(fault=fault, at_s=self._clock.now_s(), executor_id=executor_id, pid=process.pid, process_started_s=process.create_time())
        if fault.kind == "freeze" and fault.duration_s is not None:
            timer = threading.Timer(fault.duration_s, self.undo, [injected])
            timer.daemon = True
            timer.start()
        return injected

    def undo(self, injected: Injected) -> None:
        """Let a frozen executor go on; another process that has its id by now is left alone."""
        if injected.fault.kind != "freeze":
            return
        try:
            process = psutil.Process(injected.pid)
            if process.create_time() == injected.process_started_s:
                process.resume()
        except psutil.NoSuchProcess:
            pass
