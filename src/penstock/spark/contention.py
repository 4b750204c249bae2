"""The CPU time that others take from the job on this machine: from the run queues of Linux, and from the hypervisor."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from penstock.core.monitor.facts import CpuWanted

NANOSECONDS = 1e9
PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """CPU seconds of the whole machine since it started: busy with processes, and stolen by the hypervisor."""

    busy_s: float
    stolen_s: float


class ContentionMeter:
    """Adds up what the threads of some processes wanted and others took; nothing is known before the second look, and nowhere but on Linux.

    A thread that is ready waits in a run queue, behind threads of the job as well as of others: others are charged with the share that they have of the
    busy time. Of the time that a hypervisor steals, the job loses its own share of the busy time.
    """

    def __init__(self, proc: Path = PROC) -> None:
        self._proc = proc
        self._threads: dict[tuple[int, int], tuple[float, float]] = {}
        self._machine: Machine | None = None
        self._total = CpuWanted(wanted_s=0.0, taken_s=0.0)

    def look(self, pids: Iterable[int]) -> CpuWanted | None:
        """Return what was wanted and taken since the first look."""
        machine, threads = self._read_machine(), self._read_threads(pids)
        before, known = self._machine, self._threads
        self._machine, self._threads = machine, threads
        if machine is None or before is None or not threads:
            return None if machine is None or not threads else self._total
        ran_s = sum(ran - known.get(thread, (ran, 0.0))[0] for thread, (ran, _) in threads.items())
        waited_s = sum(waited - known.get(thread, (0.0, waited))[1] for thread, (_, waited) in threads.items())
        busy_s, stolen_s = max(machine.busy_s - before.busy_s, ran_s), max(0.0, machine.stolen_s - before.stolen_s)
        own = ran_s / busy_s if busy_s > 0 else 0.0
        taken_s = waited_s * (1.0 - own) + stolen_s * own
        self._total = CpuWanted(wanted_s=self._total.wanted_s + ran_s + waited_s + stolen_s * own, taken_s=self._total.taken_s + taken_s)
        return self._total

    def _read_threads(self, pids: Iterable[int]) -> dict[tuple[int, int], tuple[float, float]]:
        """Return the seconds that each thread ran and waited to run; threads that end meanwhile are left out."""
        found = {}
        for pid in pids:
            try:
                folders = os.listdir(self._proc / str(pid) / "task")
            except OSError:
                continue
            for each in folders:
                try:
                    ran, waited, *_ = (self._proc / str(pid) / "task" / each / "schedstat").read_text().split()
                except (OSError, ValueError):
                    continue
                found[pid, int(each)] = (int(ran) / NANOSECONDS, int(waited) / NANOSECONDS)
        return found

    def _read_machine(self) -> Machine | None:
        try:
            user, nice, system, _, _, irq, softirq, stolen, *_ = (int(each) for each in (self._proc / "stat").read_text().split("\n", 1)[0].split()[1:])
        except (OSError, ValueError):
            return None
        tick_s = 1.0 / os.sysconf("SC_CLK_TCK")
        return Machine(busy_s=tick_s * (user + nice + system + irq + softirq), stolen_s=tick_s * stolen)
