"""Faults of executors on this machine: killed or frozen by signals to their processes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import psutil

from penstock.core.domain.fault import Fault, Injected
from penstock.core.errors import NotReachable, UserMistake
from penstock.ports import Clock
from penstock.spark.cpu import ExecutorProcesses

FREEZE = """
import os, pathlib, select, signal, sys
process, duration_s = os.pidfd_open(int(sys.argv[1])), float(sys.argv[2]) if sys.argv[2] else None
signal.pidfd_send_signal(process, signal.SIGSTOP)
stat = pathlib.Path("/proc", sys.argv[1], "stat")
while (state := stat.read_text().rpartition(")")[2].split()[0]) not in "TZ" and not select.select([sys.stdin], [], [], 0.001)[0]:
    pass
if state == "Z":
    sys.exit("the process has ended")
print(flush=True)
select.select([sys.stdin], [], [], duration_s)
signal.pidfd_send_signal(process, signal.SIGCONT)
"""
"""Keeps a process stopped until its standard input is closed, which the end of the experimenter does too, however it ends."""


NO_RESTART = "a query of a copy on Spark cannot be made to fail yet: kill or freeze an executor"


class ExecutorFaults:
    """Strikes the executors of one application, the oldest first: `kill` is SIGKILL, `freeze` SIGSTOP and, to undo it, SIGCONT."""

    def __init__(self, application_id: str, clock: Clock) -> None:
        self._processes = ExecutorProcesses(application_id)
        self._clock = clock
        self._freezers: dict[Injected, subprocess.Popen[bytes]] = {}

    def inject(self, fault: Fault) -> Injected:
        if fault.kind == "restart":
            raise UserMistake(NO_RESTART)
        running = {each: process for each, process in self._processes.all().items() if process.status() != psutil.STATUS_STOPPED}
        if not running:
            raise NotReachable("the copy has no executor on this machine to strike")
        executor_id = min(running, key=int)
        injected = Injected(fault=fault, at_s=self._clock.now_s(), executor_id=executor_id)
        if fault.kind == "kill":
            with suppress(psutil.NoSuchProcess):
                running[executor_id].kill()
        else:
            self._freezers[injected] = freezing(running[executor_id].pid, fault.duration_s)
        return injected

    def undo(self, injected: Injected) -> None:
        """Let a frozen executor go on."""
        freezer = self._freezers.pop(injected, None)
        if freezer is not None:
            freezer.communicate()

    def close(self) -> None:
        for injected in list(self._freezers):
            self.undo(injected)


def freezing(pid: int, duration_s: float | None) -> subprocess.Popen[bytes]:
    """Start the process that keeps another one stopped, and return when it is."""
    command = [sys.executable, "-IS", "-c", FREEZE, str(pid), "" if duration_s is None else str(duration_s)]
    freezer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
    assert freezer.stdout is not None
    if not freezer.stdout.readline():
        freezer.communicate()
        raise NotReachable("the executor ended before it could be frozen")
    return freezer
