"""Jobs in processes of their own on the embedded cluster, with a broker that a test may stop; steered through the socket, as by `penstock`."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from waiting import PATIENCE

from penstock.kafka.broker import EmbeddedBroker
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.spark.connector import broker_jars

BACKEND = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class JobProcess:
    """`penstock run` of one job file."""

    def __init__(self, folder: Path, name: str, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.name, self.process = folder, name, process
        self._remote = RemoteJob(JobFolder(name).socket)

    @property
    def printed(self) -> str:
        return (self.folder / "out.log").read_text()

    @property
    def bootstrap(self) -> str:
        """The address of its embedded broker."""
        lines = (self.folder / "checkpoint/_penstock/kafka/server.properties").read_text().splitlines()
        return next(line for line in lines if line.startswith("advertised.listeners=")).rpartition("//")[2]

    def wait_until(self, condition: Callable[[], object], timeout_s: float, what: str) -> None:
        deadline = time.monotonic() + PATIENCE * timeout_s
        while not condition():
            assert self.process.poll() is None, f"the job ended while waiting for {what}:\n{self.printed[-3000:]}"
            assert time.monotonic() < deadline, f"{what} did not come within {PATIENCE * timeout_s} s:\n{self.printed[-3000:]}"
            time.sleep(0.25)

    def status(self) -> dict[str, Any]:
        return dict(self._remote.ask("status")) if self._remote.lives() else {"reading": None, "events": []}

    def query(self, name: str) -> dict[str, Any]:
        reading = self.status()["reading"]
        return next((query for query in reading["queries"] if query["name"] == name), {}) if reading else {}

    def events(self, kind: str) -> list[str]:
        return [event["words"] for event in self.status()["events"] if event["kind"] == kind]

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        return dict(self._remote.ask(verb, **arguments))

    def has_caught_up(self, name: str) -> bool:
        query = self.query(name)
        return query.get("state") == "running" and query["lag_rows"] == 0 and query["arrival_rows_per_s"] == 0

    def say(self, verb: str, **arguments: Any) -> None:
        """Say it; there is nothing to wait for."""
        assert self._remote.ask(verb, hold_s=None, **arguments)["said"]

    def steer(self, verb: str, timeout_s: float = 120.0, **arguments: Any) -> list[str]:
        """Say it and wait until it is done; what was said of its end."""
        answer = self._remote.ask(verb, hold_s=None, **arguments)
        done: dict[str, Any] = {}

        def over() -> bool:
            done.update(self._remote.ask("outcomes", numbers=answer["numbers"]))
            return not done["pending"]

        self.wait_until(over, timeout_s, f"the end of {verb} {arguments}")
        assert not done.get("undone"), done
        return list(done["ended"].values())

    def executors(self) -> list[psutil.Process]:
        """Its executors' processes, oldest first."""
        application = self.status()["application_id"]
        lines = {process: process.info["cmdline"] or () for process in psutil.process_iter(["cmdline", "create_time"])}
        found = [process for process, line in lines.items() if BACKEND in line and application in line]
        return sorted(found, key=lambda process: float(process.info["create_time"]))

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(480)


@pytest.fixture(scope="module")
def away_broker(state_home: Path) -> Iterator[EmbeddedBroker]:
    """A broker of this module's own, which may go away for a while."""
    broker = EmbeddedBroker(state_home / "away", broker_jars().jars)
    broker.start()
    yield broker
    broker.stop()
    shutil.rmtree(broker.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def job_process(state_home: Path, cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs a job file and its code, with other files beside them; ends it, however the test ends."""

    @contextmanager
    def run(name: str, toml: str, code: str, beside: Mapping[str, str] | None = None) -> Iterator[JobProcess]:
        folder = tmp_path_factory.mktemp(name)
        for file, text in {"job.toml": toml, "job.py": code, **(beside or {})}.items():
            (folder / file).write_text(text)
        with open(folder / "out.log", "wb") as log:
            process = subprocess.Popen([sys.executable, "-m", "penstock", "run", "job.toml", "--plain"], cwd=folder, stdout=log, stderr=log)
        try:
            yield JobProcess(folder, name, process)
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(240)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    return run
