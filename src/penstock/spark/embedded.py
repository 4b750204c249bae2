"""Penstock's own standalone cluster: real Master, Worker and executor processes from a pip install alone.

Jobs join it. A keeper process (this module, run as a program) owns it: it starts Master and Worker, and stops them when the last job has left. Jobs hold
leases (locked files), so that the keeper notices also a job that was killed. Master and Worker die with the keeper.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from pathlib import Path
from typing import Any, Self

from penstock.core.errors import UserMistake
from penstock.leases import FileLease, is_held, start_lock
from penstock.localhost import HOST, free_ports
from penstock.processes import die_with_parent, end_process

SLOTS = 64
IDLE_S = 3.0
KEEPER_START_S = 90.0
DAEMONS_START_S = 60.0
DAEMON_SETTINGS = {
    "spark.master.rest.enabled": "false",
    # The Worker writes the logs of its executors, and keeps the folders of applications that have ended.
    "spark.executor.logs.rolling.strategy": "size",
    "spark.executor.logs.rolling.maxSize": str(20 << 20),
    "spark.executor.logs.rolling.maxRetainedFiles": "2",
    "spark.worker.cleanup.enabled": "true",
    "spark.worker.cleanup.appDataTtl": "86400",
}


class EmbeddedCluster:
    """A job's membership in the cluster: `master` is its URL; the cluster stops after the last job has closed its own."""

    def __init__(self, folder: Path, master: str, ui_port: int, lease: FileLease) -> None:
        self.folder = folder
        self.master = master
        self.ui_port = ui_port
        self._lease = lease

    @classmethod
    def join(cls, folder: Path, *, slots: int = SLOTS) -> Self:
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
        """Return whether the cluster stops within the time: it does if this was its last job."""
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
            [sys.executable, "-m", "penstock.spark.embedded", str(folder), str(slots)],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    deadline = time.monotonic() + KEEPER_START_S
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


def spawn(folder: Path, class_name: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start one of Spark's daemons; it dies with this process."""
    import pyspark

    home = os.path.dirname(pyspark.__file__)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    settings = " ".join(f"-D{key}={value}" for key, value in DAEMON_SETTINGS.items())
    options = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {settings} -Djava.io.tmpdir={scratch}"
    environment = dict(
        os.environ, SPARK_HOME=home, SPARK_LOCAL_IP=HOST, SPARK_LOCAL_DIRS=str(scratch), SPARK_DAEMON_MEMORY="192m", SPARK_DAEMON_JAVA_OPTS=options
    )
    with open(folder / "daemons.log", "ab") as log:
        return subprocess.Popen(
            [f"{home}/bin/spark-class", class_name, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent
        )


def workers_alive(ui_port: int) -> int:
    """Return how many Workers the Master knows; 0 while it does not answer, or answers with an empty page, as it does while it starts."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{ui_port}/json/", timeout=2) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (OSError, ValueError):
        return 0


def launch(folder: Path, slots: int) -> tuple[list[subprocess.Popen[bytes]], dict[str, Any]]:
    port, ui_port = free_ports(2)
    url = f"spark://{HOST}:{port}"
    package = "org.apache.spark.deploy"
    master = spawn(folder, f"{package}.master.Master", "--host", HOST, "--port", str(port), "--webui-port", str(ui_port))
    # Cores and memory of a standalone Worker are book-keeping only: each job limits its own executors.
    worker = spawn(
        folder, f"{package}.worker.Worker", "--host", HOST, "--cores", str(slots), "--memory", f"{4 * slots}g",
        "--webui-port", "0", "--work-dir", str(folder / "work"), url,
    )  # fmt: skip
    deadline = time.monotonic() + DAEMONS_START_S
    while time.monotonic() < deadline and master.poll() is None and worker.poll() is None:
        if workers_alive(ui_port) == 1:
            return [worker, master], {"master": url, "ui_port": ui_port, "keeper_pid": os.getpid()}
        time.sleep(0.1)
    for process in (worker, master):
        end_process(process)
    raise SystemExit("the embedded cluster did not start")


def living_jobs(folder: Path) -> int:
    living = 0
    for path in (folder / "jobs").glob("*"):
        if is_held(path):
            living += 1
        else:
            path.unlink(missing_ok=True)
    return living


def keep(folder: Path, slots: int) -> None:
    """Run the cluster until no job holds a lease on it, or a daemon dies."""
    asked_to_stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _frame: asked_to_stop.append(number))
    alive = FileLease(folder / "keeper.lock")
    for left in ("work", "scratch"):
        shutil.rmtree(folder / left, ignore_errors=True)
    processes, description = launch(folder, slots)
    ready = folder / "cluster.json"
    ready.with_suffix(".new").write_text(json.dumps(description))
    ready.with_suffix(".new").rename(ready)
    used = time.monotonic()
    while not asked_to_stop and all(process.poll() is None for process in processes):
        # No job can join while the lock is held.
        with FileLease(start_lock(folder), wait=True):
            if living_jobs(folder):
                used = time.monotonic()
            elif time.monotonic() - used > IDLE_S:
                stop(folder, processes, alive)
                return
        time.sleep(0.25)
    with FileLease(start_lock(folder), wait=True):
        stop(folder, processes, alive)


def stop(folder: Path, processes: list[subprocess.Popen[bytes]], alive: FileLease) -> None:
    (folder / "cluster.json").unlink(missing_ok=True)
    for process in processes:
        end_process(process)
    shutil.rmtree(folder, ignore_errors=True)
    alive.close()


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]))
