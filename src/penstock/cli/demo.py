"""`penstock demo`: run a job on the embedded cluster, let a policy scale it, and draw a picture of the run."""

import shutil
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from penstock.cli.run import run_job
from penstock.cli.terminal import pairs_of
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import JobSpec, Limits
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.errors import PenstockError, UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.dashboard.summary import RunSummary, summarise
from penstock.hindsight.whatif import Like
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.runtime.jobfile import load_job
from penstock.simulator.calibrate import calibrated
from penstock.simulator.rerun import rerun
from penstock.stores.reader import read_history
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import simulate

FRESH = ("checkpoint", "demo.png", "demo.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A job of `workloads`, how long it runs, and the operator's commands in seconds since its start; without commands the policy decides."""

    workload: str
    says: str
    lasts_s: float
    operator: tuple[tuple[float, str, dict[str, Any]], ...] = ()


SCALING = Demonstration(workload="lookup", says="The rate rises beyond the capacity of one executor and falls again. The policy scales the job", lasts_s=215.0)
REAL_TIME = Demonstration(
    workload="clicks",
    says="Kafka in Real-Time Mode. An operator switches to micro-batches and back, and then removes an executor",
    lasts_s=130.0,
    operator=((55.0, "trigger", {"value": "2s"}), (82.0, "trigger", {"value": "realtime:10s"}), (106.0, "scale", {"value": "1"})),
)


def demo(
    folder: Annotated[Path | None, typer.Option("--folder", help="The folder for the job, its picture and its page (default: out/demo).")] = None,
    realtime: Annotated[bool, typer.Option("--realtime", help="Show Kafka and Spark's Real-Time Mode, operated by hand, instead of a policy.")] = False,
) -> None:
    """Show what Penstock does in about four minutes. It needs no preparation and leaves nothing running."""
    console = Console()
    shown = REAL_TIME if realtime else SCALING
    folder = folder or Path("out/demo-realtime" if realtime else "out/demo")
    spec = prepare(folder, shown.workload)
    console.print(f"{shown.says}. The job: {folder / 'job.toml'}", highlight=False)
    operator = Operator(JobFolder(spec.name), shown)
    operator.start()
    code = run_job(load_job(folder / "job.toml"), for_s=shown.lasts_s)
    operator.stop()
    if code == 0:
        show(console, spec, folder, beside_a_static_one=not shown.operator)
        for mishap in operator.mishaps:
            console.print(f"the operator was refused: {mishap}", highlight=False)
    sys.exit(code or (1 if operator.mishaps else 0))


def prepare(folder: Path, workload: str) -> JobSpec:
    """Write a fresh copy of the job, and delete the state of an earlier demonstration."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FRESH:
        path = folder / name
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    for name in ("job.toml", "job.py"):
        (folder / name).write_text((files("penstock") / "workloads" / workload / name).read_text())
    spec = load_job(folder / "job.toml").spec
    state = JobFolder(spec.name)
    if state.path.exists() and not RemoteJob(state.socket).lives():
        shutil.rmtree(state.path)
    return spec


class Operator(threading.Thread):
    """Sends the commands of the demonstration through the socket at their times, as a person at another terminal would."""

    def __init__(self, folder: JobFolder, shown: Demonstration) -> None:
        super().__init__(name="operator", daemon=True)
        self._folder = folder
        self._shown = shown
        self._stopping = threading.Event()
        self.mishaps: list[str] = []

    def stop(self) -> None:
        self._stopping.set()
        self.join(timeout=5)

    def run(self) -> None:
        remote = RemoteJob(self._folder.socket)
        for at_s, verb, arguments in self._shown.operator:
            while self._uptime_s(remote) < at_s:
                if self._stopping.wait(0.5):
                    return
            try:
                remote.ask(verb, **arguments)
            except PenstockError as error:
                self.mishaps.append(str(error))

    def _uptime_s(self, remote: RemoteJob) -> float:
        if not remote.lives():
            return 0.0
        reading = remote.ask("status")["reading"]
        return float(reading["uptime_s"]) if reading else 0.0


def show(console: Console, spec: JobSpec, folder: Path, *, beside_a_static_one: bool) -> None:
    """Print a summary, what the policy saved, and the paths of the picture and the page."""
    from penstock.dashboard.page import write_page
    from penstock.dashboard.picture import draw

    history = JobFolder(spec.name).history
    readings, events = read_history(history)
    summary = summarise(readings, events, spec.promises, spec.limits.max_executors, spec.config.reading_window_s)
    console.print(pairs_of(summary.rows()))
    if beside_a_static_one:
        found = beside_static(readings, events, spec)
        console.print(found.table())
        console.print(found.note(), highlight=False, soft_wrap=True)
    draw(readings, events, spec.promises, folder / "demo.png", "Penstock demonstration")
    write_page(readings, events, spec.promises, folder / "demo.html", title="Penstock demonstration", summary=summary)
    for what, path in (("picture", folder / "demo.png"), ("page", folder / "demo.html"), ("history", history)):
        console.print(f"{what}: {path}", highlight=False, soft_wrap=True)


NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideStatic:
    """Both deployments over the same time, from when the job had caught up after its start. `static` and `p95_off` are None if nothing could be simulated."""

    policy: str
    executors: int
    measured: RunSummary
    static: RunSummary | None
    p95_off: float | None

    def table(self) -> Table:
        table = Table(
            box=None, title_justify="left", title=f"beside a static deployment of the maximum, over the same {self.measured.report.duration_s:,.0f} s"
        )
        for name in ("", f"{self.policy}, measured", f"static {self.executors}, not run"):
            table.add_column(name)
        for row in self.rows():
            table.add_row(*row)
        return table

    def rows(self) -> list[tuple[str, str, str]]:
        measured = self.measured
        promised = "nothing promised" if measured.promised_p95_s is None else f"within {duration_words(measured.promised_p95_s)}"
        return [
            ("executor-seconds", f"{measured.report.executor_s:,.0f}{self._share()}", f"{measured.executor_s_at_maximum:,.0f} (computed)"),
            ("latency p50, p95", latency_words(measured), latency_words(self.static)),
            (promised, within_words(measured), within_words(self.static)),
            ("promises broken", broken_words(measured), broken_words(self.static)),
            ("rescales", str(measured.report.rescales), "0"),
        ]

    def _share(self) -> str:
        most = self.measured.executor_s_at_maximum
        return f" ({self.measured.report.executor_s / most:.0%})" if most else ""

    def note(self) -> str:
        """Say which of the numbers were measured."""
        if self.static is None:
            return "The static deployment was not run: its executor-seconds are the maximum times the same time; its latency is not known."
        off = "" if self.p95_off is None else f", which is off by {self.p95_off:+.0%} (p95) on the measured run itself"
        return (
            "The policy was measured. The static deployment was not run: its executor-seconds are the maximum times the same time, "
            f"its latency is simulated with what this run showed{off}."
        )


def beside_static(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec) -> BesideStatic:
    """Compare a recorded run with a static deployment of the job's maximum number of executors."""
    most = spec.limits.max_executors
    like = likeness(readings, events, spec)
    from_s = like.found.start_s + spec.config.reading_window_s if like else readings[0].at_s
    seen, heard = [each for each in readings if each.at_s >= from_s], [each for each in events if each.at_s >= from_s]
    decided = [event.policy for event in events if isinstance(event, Decided)]
    return BesideStatic(
        policy=decided[-1] if decided else "as declared",
        executors=most,
        measured=summarise(seen, heard, spec.promises, most, spec.config.reading_window_s),
        static=static_run(like, spec) if like else None,
        p95_off=like.error.latency_p95 if like else None,
    )


def likeness(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec) -> Like | None:
    """Calibrate a simulator by the run; None if the run does not hold enough."""
    try:
        found = calibrated(readings, events, spec.config, autopilot=spec.autopilot)
        lived = rerun(found, readings, spec.config)
    except UserMistake:
        return None
    return Like(name=spec.name, found=found, error=lived.error, again=lived.readings, started=None)


def static_run(like: Like, spec: JobSpec) -> RunSummary:
    """Simulate the same arrivals with the maximum number of executors, and summarise from one window after the start."""
    most = spec.limits.max_executors
    autopilot = Autopilot(mode="active", policy="static", rollback=False)
    terms = Terms(limits=Limits(max_executors=most), promises=spec.promises, config=spec.config, autopilot=autopilot)
    run = simulate(Setup(load=like.load, engine=like.engine, terms=terms))
    seen = [each for each in run.readings if each.at_s >= spec.config.reading_window_s]
    return summarise(seen, run.events, spec.promises, most, spec.config.reading_window_s)


def latency_words(run: RunSummary | None) -> str:
    if run is None or run.report.latency is None:
        return NOT_KNOWN
    return f"{run.report.latency.p50_s:.3g} s, {run.report.latency.p95_s:.3g} s"


def within_words(run: RunSummary | None) -> str:
    return NOT_KNOWN if run is None or run.report.within_promise is None else f"{run.report.within_promise:.0%} of rows"


def broken_words(run: RunSummary | None) -> str:
    return NOT_KNOWN if run is None or run.decided is None else str(run.decided.broken)
