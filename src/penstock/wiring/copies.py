"""Copies of a job on the embedded cluster, each in a process of its own: this module, run as a program."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.reading import Reading
from penstock.core.errors import NotReachable, PenstockError, Refused, UserMistake
from penstock.core.redaction import Redactor
from penstock.kafka.topics import remove_topic
from penstock.leases import FileLease, is_held, start_lock
from penstock.ports import Clock, Faults
from penstock.processes import die_with_parent, end_process
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder, home
from penstock.runtime.jobfile import LoadedJob
from penstock.spark.checkpoint import FOLDER
from penstock.spark.cpu import ExecutorProcesses
from penstock.spark.embedded import EmbeddedCluster
from penstock.spark.executor_faults import ExecutorFaults
from penstock.spark.launch import SUBMITTED
from penstock.stores.codec import decode, encode
from penstock.stores.reader import read_history
from penstock.wiring.copied_job import CopiedJob, copied

START_S = 180.0
STOP_S = 60.0
GONE_S = 20.0
POLL_S = 0.1


class SparkTestbed:
    """Launches copies of a job on an embedded cluster of its own, which outlives them; `close` ends all of it.

    Everything is in one folder, which is removed in the end; the next testbed removes what one that was killed has left. Copies decide nothing
    unless they are given an autopilot. They end with the thread that launched them.
    """

    def __init__(self, spec: JobSpec, clock: Clock, *, secrets: frozenset[str] = frozenset(), autopilot: Autopilot | None = None) -> None:
        self._spec = spec
        self._clock = clock
        self._secrets = secrets
        self._autopilot = autopilot or Autopilot()
        self._copies: list[SparkCopy] = []
        self._cluster: EmbeddedCluster | None = None
        root = home() / "experiments"
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with FileLease(start_lock(root), wait=True):
            for left in root.iterdir():
                if not is_held(left / "lease"):
                    shutil.rmtree(left, ignore_errors=True)
            self._folder = Path(tempfile.mkdtemp(dir=root))
            self._lease = FileLease(self._folder / "lease")

    def launch(self, configuration: Configuration) -> SparkCopy:
        name = f"{self._spec.name}-copy-{self._folder.name}-{len(self._copies) + 1}"
        job = copied(self._spec, name, self._folder / name, configuration, self._autopilot)
        if self._cluster is None:
            self._cluster = EmbeddedCluster.join(self._folder / "cluster")
        copy = SparkCopy(job, self._folder, self._secrets, self._clock)
        self._copies.append(copy)
        try:
            copy.wait_running(configuration)
        except BaseException:
            copy.stop()
            raise
        return copy

    def close(self) -> None:
        with ExitStack() as last:
            last.callback(shutil.rmtree, self._folder, ignore_errors=True)
            last.callback(self._lease.close)
            if self._cluster is not None:
                last.callback(self._cluster.wait_gone, GONE_S)
                last.callback(self._cluster.close)
            for copy in self._copies:
                last.callback(copy.stop)


class SparkCopy:
    """A copy that runs in a child process, and is read and steered through its socket."""

    def __init__(self, job: CopiedJob, root: Path, secrets: frozenset[str], clock: Clock) -> None:
        self._job = job
        self._folder = root / job.spec.name
        self._folder.mkdir(mode=0o700)
        self._clock = clock
        self._state = JobFolder(job.spec.name, root)
        self._remote = RemoteJob(self._state.socket)
        self._faults: ExecutorFaults | None = None
        self._application_id = ""
        self._stopped = False
        environment = {key: value for key, value in os.environ.items() if key not in (SUBMITTED, "PYSPARK_GATEWAY_SECRET")}
        environment["PENSTOCK_HOME"] = str(root)
        with open(self._folder / "copy.log", "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "penstock.wiring.copies"], env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=die_with_parent,
            )  # fmt: skip
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"job": encode(job), "folder": str(self._folder), "secrets": sorted(secrets)}).encode())
        self._process.stdin.close()

    def wait_running(self, configuration: Configuration) -> None:
        """Return when all queries run, with all values of the configuration."""
        deadline = time.monotonic() + START_S
        while not self._runs(configuration):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise UserMistake(f"a copy of the job did not start: {self._last_line()}")
            time.sleep(POLL_S)

    def _runs(self, configuration: Configuration) -> bool:
        try:
            status = self._remote.ask("status")
        except NotReachable:
            return False
        self._application_id = status["application_id"]
        self._faults = self._faults or ExecutorFaults(self._application_id, self._clock)
        if not status["reading"]:
            return False
        reading = decode(Reading, json.dumps(status["reading"]))
        running = {query.name for query in reading.queries if query.state == "running"}
        all_run = running == {query.name for query in self._job.spec.queries} and reading.executors_running == configuration.executors
        return all_run and configuration.holds_in(reading.configuration)

    def _last_line(self) -> str:
        lines = (self._folder / "copy.log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def read(self) -> Reading:
        return decode(Reading, json.dumps(self._remote.ask("status")["reading"]))

    def set_rate(self, rows_per_s: float) -> None:
        """Set the rate of all trace sources and feeds together, in equal parts."""
        spec = self._job.spec
        names = [source.name for source in spec.sources if source.format == "trace"] + [feed.topic for feed in spec.kafka.feeds]
        if not names:
            raise UserMistake(f"{spec.name} has no trace source or feed whose rate could be set")
        for name in names:
            self._remote.ask("rate", source=name, value=f"{rows_per_s / len(names):f}")

    @property
    def faults(self) -> Faults:
        if self._faults is None:
            raise NotReachable("the copy does not run")
        return self._faults

    def began_s(self) -> float:
        """Return when the first of its traces or feeds began."""
        states = [*self._folder.glob(f"checkpoint/{FOLDER}/trace-*.json"), *self._folder.glob(f"checkpoint/{FOLDER}/feed-*.json")]
        return min(float(json.loads(path.read_text())["epoch_s"]) for path in states)

    def pause(self, seconds: float) -> None:
        """Keep the policy from deciding for a while."""
        self._remote.ask("pause", hold_s=seconds, reason="the run has not begun")

    @property
    def spec(self) -> JobSpec:
        return self._job.spec

    @property
    def history(self) -> Path:
        return self._state.history

    def recorded(self) -> tuple[tuple[Reading, ...], tuple[Event, ...]]:
        """Return the readings and events of its history."""
        return read_history(self.history)

    def stop(self) -> None:
        if self._stopped:
            return
        self._stopped = True
        if self._faults is not None:
            self._faults.close()
        started = self._own_processes()
        end_process(self._process, STOP_S)
        _, alive = psutil.wait_procs(started, timeout=GONE_S)
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        remove_all(self._job, self._folder, self._state.path)

    def _own_processes(self) -> list[psutil.Process]:
        """Return the processes that the copy has started, and its executors."""
        found = list(ExecutorProcesses(self._application_id).all().values()) if self._application_id else []
        with suppress(psutil.NoSuchProcess):
            found += psutil.Process(self._process.pid).children(recursive=True) if self._process.poll() is None else []
        return found


def remove_all(job: CopiedJob, *folders: Path) -> None:
    """Remove what a copy has made."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    for topic, client in job.topics:
        with suppress(PenstockError):
            remove_topic(client, topic)


def run_copy(given: dict[str, Any]) -> int:
    """Run a copy until SIGTERM, which comes also when the experimenter dies, and remove what it made."""
    from penstock.wiring.running_job import RunningJob

    stopped, folder = threading.Event(), Path(given["folder"])
    job = decode(CopiedJob, given["job"])

    def step() -> None:
        """Listen to signals, again after each step of the start: Spark replaces handlers."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: stopped.set())
        if stopped.is_set():
            raise Refused("it was told to stop while it started")

    # A folder in place of a job file is not looked at again.
    loaded = LoadedJob(spec=job.spec, path=folder, secrets=frozenset(given["secrets"]), declared={})
    running = RunningJob(loaded, spark_log=folder / "spark.log", on_step=step)
    try:
        step()
        running.start()
        step()
        while not stopped.wait(POLL_S) and running.engine.living() and running.engine.lives():
            pass
    except PenstockError as error:
        print(Redactor(frozenset(given["secrets"])).text(str(error)), file=sys.stderr)
        return 1
    finally:
        running.stop("the experiment is over", lambda: True)
    remove_all(job, folder, JobFolder(job.spec.name).path)
    return 0


if __name__ == "__main__":
    sys.exit(run_copy(json.load(sys.stdin)))
