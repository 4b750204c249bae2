"""Run the demonstration on this machine, quiet and beside busy loops, and compare with its targets what it kept, cost and took."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.source_events import SourceRateSet
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.reading import Reading
from penstock.core.report.run_report import run_report
from penstock.experiments.cell import fingerprint
from penstock.experiments.runner import Runnable, run_cells
from penstock.processes import die_with_parent, end_process
from penstock.runtime.home import JobFolder
from penstock.runtime.jobfile import load_job
from penstock.runtime.steady_clock import SteadyClock
from penstock.selftest.model_targets import Measured, ModelsResult
from penstock.stores.reader import read_history

COMMAND = (sys.executable, "-m", "penstock", "demo")
FIRST_S = 60.0
"""The first minute of a job is not judged, nor what comes before its load begins."""
LONGEST_S, GIVEN_UP_S = 300.0, 600.0
"""How long the command may take, and when it is ended."""
ENDING_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstrated:
    """A run of the demonstration: what it kept of its load after its first minute, and what it cost from its first reading on."""

    within_promise: float | None
    executor_s: float
    executor_s_at_maximum: float
    took_s: float
    times: float
    """The load is so many times the declared one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationCell:
    """The demonstration on a quiet machine, or beside busy loops while it starts."""

    busy: bool

    @property
    def key(self) -> str:
        return f"{self.name} {fingerprint('').decode()}"

    @property
    def name(self) -> str:
        return f"demonstration, {'busy' if self.busy else 'quiet'}"

    @property
    def in_parallel(self) -> bool:
        return False

    def run(self, progress: Callable[[float], None]) -> Demonstrated:
        return demonstrate(self.busy, progress)


def measure_demonstration(keep: Path | None, progress: Callable[[float, int], None]) -> ModelsResult:
    """Run the demonstration twice; a run in the file `keep` that the same code has made is not repeated."""
    cells: dict[str, Runnable[Demonstrated]] = {cell.name: cell for cell in (DemonstrationCell(busy=False), DemonstrationCell(busy=True))}
    return ModelsResult(measured=measured(run_cells(cells, Demonstrated, keep, progress=progress).complete()))


def demonstrate(busy: bool, progress: Callable[[float], None]) -> Demonstrated:
    """Run the demonstration in a process and a state folder of its own, and return what its history shows."""
    from penstock.selftest.contended_run import CONTENDED_S, WATCH_S, contention

    clock = SteadyClock()
    with TemporaryDirectory(prefix="penstock-demonstration-", ignore_cleanup_errors=True) as made, ExitStack() as others:
        folder, state, printed = Path(made) / "demo", Path(made) / "state", Path(made) / "printed"
        if busy:
            others.enter_context(contention())
        start_s = clock.now_s()
        with printed.open("w") as log:
            process = subprocess.Popen(
                [*COMMAND, "--folder", str(folder)], env=os.environ | {"PENSTOCK_HOME": str(state)}, stdout=log, stderr=log, preexec_fn=die_with_parent
            )
        try:
            while process.poll() is None and (spent_s := clock.now_s() - start_s) < GIVEN_UP_S:
                if spent_s >= CONTENDED_S:
                    others.close()
                progress(min(1.0, spent_s / LONGEST_S))
                clock.wait(WATCH_S)
            took_s = clock.now_s() - start_s
        finally:
            end_process(process, ENDING_S)
        if process.returncode:
            raise RuntimeError(f"penstock demo ended with code {process.returncode} after {took_s:.0f} s: {' '.join(printed.read_text().splitlines()[-3:])}")
        spec = load_job(folder / "job.toml").spec
        return demonstrated(*read_history(JobFolder(spec.name, state).history), spec, took_s)


def demonstrated(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec, took_s: float) -> Demonstrated:
    begun = load_begun(events)
    if begun is None or begun.times is None:
        raise RuntimeError("the load of the demonstration did not begin")
    from_s = max(begun.at_s, readings[0].at_s + FIRST_S)
    later = [each for each in readings if each.at_s >= from_s]
    whole = run_report(readings, spec.promises)
    return Demonstrated(
        within_promise=run_report(later, spec.promises, window_s=spec.config.reading_window_s).within_promise,
        executor_s=whole.executor_s,
        executor_s_at_maximum=spec.limits.max_executors * whole.duration_s,
        took_s=took_s,
        times=begun.times,
    )


def load_begun(events: Sequence[Event]) -> SourceRateSet | None:
    """Return the event with which the load began after the warm-up; None if it did not."""
    return next((each for each in reversed(events) if isinstance(each, SourceRateSet) and each.times is not None), None)


def measured(runs: Mapping[str, Demonstrated]) -> tuple[Measured, ...]:
    """Return what each run kept, cost and took; rows of which nothing is known count as late.

    >>> run = Demonstrated(within_promise=None, executor_s=300.0, executor_s_at_maximum=1000.0, took_s=280.0, times=0.75)
    >>> [(each.what, each.found, each.met) for each in measured({"quiet": run})]
    [('quiet: rows in time after the first minute', 0.0, False), ('quiet: share of the maximum', 0.3, True), ('quiet: seconds', 280.0, True)]
    """
    return tuple(
        each
        for name, run in runs.items()
        for each in (
            Measured(what=f"{name}: rows in time after the first minute", found=run.within_promise or 0.0, least=0.9, beside=f"{run.times:g} times its load"),
            Measured(
                what=f"{name}: share of the maximum",
                found=run.executor_s / run.executor_s_at_maximum,
                most=0.8,
                beside=f"{run.executor_s:,.0f} of {run.executor_s_at_maximum:,.0f} executor-seconds",
            ),
            Measured(what=f"{name}: seconds", found=run.took_s, most=LONGEST_S),
        )
    )
