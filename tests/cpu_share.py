"""Hold processes to a share of a core by a cgroup quota, where this machine lets us; everything is as before afterwards."""

import subprocess
import sys
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil
from waiting import wait_until

CGROUPS = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
TRIED_SHARE, TRIED_S = 0.3, 2.0
"""Before it is believed, a quota is tried on a process that does nothing but work."""


class CpuShare:
    """Groups of processes, each held to `cores`; `why_not` says why this machine cannot do it, and is empty where it can."""

    def __init__(self, cores: float, root: Path = CGROUPS) -> None:
        self._cores = cores
        self._v1 = (root / "cpu" / "cpu.cfs_quota_us").exists()
        self._top = root / "cpu" if self._v1 else root
        self._groups: dict[int, Path] = {}
        self.why_not = self._try()

    def hold(self, processes: Iterable[psutil.Process]) -> int:
        """Hold each of these with its children, those that are not held yet; how many are held now."""
        if not self.why_not:
            for process in processes:
                if process.pid not in self._groups and process.is_running():
                    self._groups[process.pid] = self._group_of(process, self._cores)
        return len(self._groups)

    def release(self) -> None:
        for group in self._groups.values():
            self._dissolve(group)
        self._groups.clear()

    def _group_of(self, process: psutil.Process, cores: float) -> Path:
        group = self._top / f"penstock-test-{uuid.uuid4().hex[:8]}"
        group.mkdir()
        if self._v1:
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(int(cores * PERIOD_US)))
        else:
            (group / "cpu.max").write_text(f"{int(cores * PERIOD_US)} {PERIOD_US}")
        for each in (process, *process.children(recursive=True)):
            with suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(each.pid))
        return group

    def _dissolve(self, group: Path) -> None:
        """Move its processes out and remove it; those that they start meanwhile, or that have just ended, are in it for a moment."""

        def is_gone() -> bool:
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    (self._top / "cgroup.procs").write_text(pid)
            with suppress(OSError):
                group.rmdir()
            return not group.exists()

        wait_until(is_gone)

    def _try(self) -> str:
        if not self._v1 and not (self._top / "cgroup.controllers").exists():
            return f"there are no cgroups at {self._top}"
        try:
            if not self._v1:
                (self._top / "cgroup.subtree_control").write_text("+cpu")
            took_s = self._taken_by_a_worker()
        except OSError as error:
            return f"a cgroup cannot be made: {error}"
        return "" if took_s <= 2 * TRIED_SHARE * TRIED_S else f"a quota of {TRIED_SHARE} cores does not hold: {took_s:.1f} s of CPU in {TRIED_S:g} s"

    def _taken_by_a_worker(self) -> float:
        """CPU seconds that a process gets within the tried time, held to the tried share."""
        worker = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            process = psutil.Process(worker.pid)
            group = self._group_of(process, TRIED_SHARE)
            before = process.cpu_times().user
            try:
                worker.wait(TRIED_S)
            except subprocess.TimeoutExpired:
                pass
            took_s = process.cpu_times().user - before
        finally:
            worker.kill()
            worker.wait()
        self._dissolve(group)
        return took_s
