"""`penstock run`: run a job in the foreground until it ends or a signal stops it."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from penstock.cli import EXIT_AT_ONCE, EXIT_DRIVER_LOST, EXIT_GIVEN_UP, EXIT_INTERNAL, EXIT_LEASE_LOST, EXIT_MISTAKE, EXIT_OK, complain
from penstock.cli.live import view_for
from penstock.cli.signals import StopAsked, StopSignals
from penstock.core.errors import PenstockError
from penstock.core.redaction import Redactor
from penstock.runtime.home import JobFolder
from penstock.runtime.jobfile import LoadedJob, load_job

if TYPE_CHECKING:
    from penstock.wiring.running_job import RunningJob

POLL_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run ended, and its exit code if the reason settles it."""

    reason: str
    code: int | None = None


def run(
    job: Annotated[Path, typer.Argument(help="The job file.", metavar="JOB.TOML")],
    plain: Annotated[bool, typer.Option("--plain", help="Print log lines instead of the live view.")] = False,
    for_s: Annotated[float | None, typer.Option("--for", help="Stop after this number of seconds.", metavar="SECONDS")] = None,
    spark_log: Annotated[
        str | None, typer.Option("--spark-log", help='The file for Spark\'s log; "-" is the terminal (default: spark.log in the state folder).')
    ] = None,
) -> None:
    """Run a job, monitor it and restart its queries if they fail. Commands such as `penstock scale` reach it from other terminals."""
    sys.exit(run_job(load_job(job), plain=plain, for_s=for_s, spark_log=spark_log))


def never() -> bool:
    return False


def run_job(loaded: LoadedJob, *, plain: bool = False, for_s: float | None = None, spark_log: str | None = None, is_over: Callable[[], bool] = never) -> int:
    """Run a loaded job until it ends, is stopped or is over, and return the exit code. Everything printed passes the redactor."""
    redact = Redactor(loaded.secrets).text
    try:
        return run_in_foreground(loaded, Console(force_terminal=False if plain else None), for_s, spark_log, is_over)
    except PenstockError as error:
        complain(redact(str(error)))
        return EXIT_MISTAKE
    except Exception:
        print(redact(traceback.format_exc()), file=sys.stderr)
        return EXIT_INTERNAL


def run_in_foreground(loaded: LoadedJob, console: Console, for_s: float | None, spark_log: str | None, is_over: Callable[[], bool]) -> int:
    from penstock.spark.refusals import refuse_other_spark

    refuse_other_spark()
    from penstock.wiring.running_job import RunningJob

    spec = loaded.spec
    signals = StopSignals()
    signals.install()
    redact = Redactor(loaded.secrets).text
    view = view_for(console, spec.name, mode=spec.mode, master=spec.master or "given by spark-submit", promises=spec.promises, redact=redact)
    log = None if spark_log == "-" else Path(spark_log) if spark_log else JobFolder(spec.name).create().path / "spark.log"
    job = RunningJob(loaded, views=[view], spark_log=log, on_step=signals.check, pass_on=signals.pass_on)
    ending, clean = Ending(reason="it could not be started"), True
    view.start()
    try:
        try:
            job.start()
            signals.check()
            ending = wait_for_end(job, signals, for_s, is_over)
        except StopAsked:
            ending = Ending(reason=f"it was told to stop while it started ({signals.name})")
        finally:
            clean = job.stop(ending.reason, lambda: signals.at_once() or job.host.lost.is_set())
    finally:
        view.stop()
        signals.done()
    report(console, job, ending.reason, clean, redact(log.as_posix()) if log else None)
    return exit_code(job, signals, ending)


def wait_for_end(job: RunningJob, signals: StopSignals, for_s: float | None, is_over: Callable[[], bool] = never) -> Ending:
    clock = job.host.clock
    until_s = None if for_s is None else clock.now_s() + for_s
    while not signals.asked.wait(POLL_S):
        if job.host.lost.is_set():
            return Ending(reason="another driver took it over")
        if not job.engine.living():
            return Ending(reason="all its queries were given up or ended" if job.given_up() else "all its queries ended")
        if is_over() or (until_s is not None and clock.now_s() >= until_s):
            return Ending(reason="its time was up")
        if not job.engine.lives():
            return Ending(reason="Spark's driver process ended under it", code=EXIT_DRIVER_LOST)
    return Ending(reason=f"it was told to stop ({signals.name})")


def exit_code(job: RunningJob, signals: StopSignals, ending: Ending) -> int:
    if signals.at_once():
        return EXIT_AT_ONCE
    if job.host.lost.is_set():
        return EXIT_LEASE_LOST
    if ending.code is not None:
        return ending.code
    return EXIT_GIVEN_UP if job.given_up() else EXIT_OK


def report(console: Console, job: RunningJob, reason: str, clean: bool, log: str | None) -> None:
    """Print why the job stopped, the queries given up, and the path of the history."""

    def line(text: str) -> None:
        console.print(text, markup=False, highlight=False, soft_wrap=True)

    how = "no batch was interrupted" if clean else "a batch was interrupted; it is replayed at the next start"
    line(f"job {job.spec.name} stopped: {reason}; {how}")
    for query in job.given_up():
        line(f"query {query.name} was given up: {query.failures[-1].cause}" + (f" (Spark's log: {log})" if log else ""))
    line(f"history: {job.host.history_path} (penstock history --job {job.spec.name})")
