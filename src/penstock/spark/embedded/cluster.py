"""Join the embedded cluster of this user, starting it if none runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

from penstock.core.errors import UserMistake
from penstock.leases import FileLease, is_held, start_lock

START_S = 90.0
SLOTS = 64


class EmbeddedCluster:
    """A job's membership in the cluster: `master` is its URL; `close` leaves it, and the last one to leave stops it."""

    def __init__(self, folder: Path, master: str, ui_port: int, lease: FileLease) -> None:
        self.folder = folder
        self.master = master
        self.ui_port = ui_port
        self._lease = lease

    @classmethod
    def join(cls, folder: Path, *, slots: int = SLOTS) -> EmbeddedCluster:
        with FileLease(start_lock(folder), wait=True):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lease = FileLease(folder / "jobs" / f"{os.getpid()}-{uuid.uuid4().hex[:8]}")
            try:
                if not (is_held(folder / "keeper.lock") and (folder / "cluster.json").exists()):
                    start_keeper(folder, slots)
                description = json.loads((folder / "cluster.json").read_text())
            except BaseException:
                lease.close(remove=True)
                raise
        return cls(folder, description["master"], description["ui_port"], lease)

    def close(self) -> None:
        self._lease.close(remove=True)

    def wait_gone(self, timeout_s: float) -> bool:
        """Whether the cluster has stopped within the time: it has when this was its last job."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if not self.folder.exists() or not is_held(self.folder / "keeper.lock"):
                return True
            if any(is_held(path) for path in (self.folder / "jobs").glob("*")):
                return False
            time.sleep(0.1)
        return False


def start_keeper(folder: Path, slots: int) -> None:
    (folder / "cluster.json").unlink(missing_ok=True)
    with open(folder / "keeper.log", "ab") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "penstock.spark.embedded.keeper", str(folder), str(slots)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + START_S
    while not (folder / "cluster.json").exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            keeper.kill()
            raise UserMistake(f"master: the embedded cluster did not start; {last_line(folder)}; see that Java 17 or newer works (`java -version`)")
        time.sleep(0.05)


def last_line(folder: Path) -> str:
    for name in ("keeper.log", "daemons.log"):
        path = folder / name
        lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
        if lines:
            return f"its log ends with: {lines[-1][:200]}"
    return "it left no log"
