"""`penstock run`: run a job until it ends or is told to stop."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli import EXIT_AT_ONCE, EXIT_GIVEN_UP, EXIT_LEASE_LOST, EXIT_OK
from penstock.cli.live import view_for
from penstock.core.redaction import Redactor
from penstock.runtime.home import JobFolder
from penstock.runtime.jobfile import LoadedJob, load_job
from penstock.wiring import RunningJob

POLL_S = 0.2


def run(
    job: Annotated[Path, typer.Argument(help="The job file.", metavar="JOB.TOML")],
    plain: Annotated[bool, typer.Option("--plain", help="Log lines instead of the live view.")] = False,
    for_s: Annotated[float | None, typer.Option("--for", help="Stop by itself after so many seconds.", metavar="SECONDS")] = None,
    spark_log: Annotated[
        str | None, typer.Option("--spark-log", help='Where Spark logs to; "-" is here (default: spark.log in the job\'s state folder).')
    ] = None,
) -> None:
    """Run a job: observe it, keep it alive, and let it be steered from other terminals."""
    sys.exit(run_job(load_job(job), plain=plain, for_s=for_s, spark_log=spark_log))


class StopSignals:
    """Ctrl-C and SIGTERM ask for a stop after the next commit; a second one for a stop at once."""

    def __init__(self) -> None:
        self.count = 0
        self.asked = threading.Event()
        self.name = ""

    def install(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._heard)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        self.name = signal.Signals(number).name
        self.asked.set()

    def at_once(self) -> bool:
        return self.count > 1


def run_job(loaded: LoadedJob, *, plain: bool = False, for_s: float | None = None, spark_log: str | None = None) -> int:
    """Run a loaded job in the foreground; gives the exit code."""
    console = Console(force_terminal=False if plain else None)
    signals = StopSignals()
    signals.install()
    redact = Redactor(loaded.secrets).text
    spec = loaded.spec
    view = view_for(console, spec.name, mode=spec.mode, master=spec.master or "given by spark-submit", promises=spec.promises, redact=redact)
    log = None if spark_log == "-" else Path(spark_log) if spark_log else JobFolder(spec.name).create().path / "spark.log"
    job = RunningJob(loaded, views=[view], spark_log=log)
    reason, clean = "it could not be started", True
    view.start()
    try:
        try:
            job.start()
            # Spark puts a handler of its own for Ctrl-C in place when it starts.
            signals.install()
            reason = wait_for_end(job, signals, for_s)
        finally:
            clean = job.stop(reason, signals.at_once)
    finally:
        view.stop()
    report(console, job, reason, clean)
    if signals.at_once() and not clean:
        return EXIT_AT_ONCE
    if job.host.lost.is_set():
        return EXIT_LEASE_LOST
    return EXIT_GIVEN_UP if job.given_up() else EXIT_OK


def wait_for_end(job: RunningJob, signals: StopSignals, for_s: float | None) -> str:
    """Wait until there is a reason to stop, and give it."""
    clock = job.host.clock
    until_s = None if for_s is None else clock.now_s() + for_s
    while not signals.asked.wait(POLL_S):
        if job.host.lost.is_set():
            return "another driver took it over"
        if not job.engine.living():
            return "all its queries were given up or ended" if job.given_up() else "all its queries ended"
        if until_s is not None and clock.now_s() >= until_s:
            return "its time was up"
    return f"it was told to stop ({signals.name})"


def report(console: Console, job: RunningJob, reason: str, clean: bool) -> None:
    how = "no batch was interrupted" if clean else "a batch was interrupted; it is replayed at the next start"
    console.print(f"job {job.spec.name} stopped: {reason}; {how}", markup=False, highlight=False, soft_wrap=True)
    for query in job.given_up():
        console.print(f"query {query.name} was given up: {query.failures[-1].cause}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"history: {job.host.history_path} (penstock history --job {job.spec.name})", markup=False, highlight=False, soft_wrap=True)
