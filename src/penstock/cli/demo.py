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
from penstock.core.domain.events.event import Event
from penstock.core.domain.job import JobSpec
from penstock.core.domain.reading import Reading
from penstock.core.errors import PenstockError
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.runtime.jobfile import load_job
from penstock.stores.reader import HistoryReader

FRESH = ("checkpoint", "demo.png", "demo.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A job of `workloads`, how long it runs, and the operator's commands in seconds since its start; without commands the policy decides."""

    workload: str
    says: str
    lasts_s: float
    operator: tuple[tuple[float, str, dict[str, Any]], ...] = ()


SCALING = Demonstration(
    workload="lookup",
    says="The rate rises beyond the capacity of one executor and falls again. The policy scales the job",
    lasts_s=215.0,
)
REAL_TIME = Demonstration(
    workload="clicks",
    says="Kafka in Real-Time Mode. An operator switches to micro-batches and back, and then removes an executor",
    lasts_s=130.0,
    operator=(
        (55.0, "trigger", {"value": "2s"}),
        (82.0, "trigger", {"value": "realtime:10s"}),
        (106.0, "scale", {"value": "1"}),
    ),
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
    from penstock.dashboard.summary import summarise

    history = JobFolder(spec.name).history
    with HistoryReader.open(history) as reader:
        readings = list(reader.readings())
        events = [row.event for row in reader.events()]
    summary = summarise(readings, events, spec.promises, spec.limits.max_executors, spec.config.reading_window_s)
    table = Table(box=None, show_header=False)
    for name, value in summary.rows():
        table.add_row(name, value)
    console.print(table)
    if beside_a_static_one:
        show_beside_static(console, readings, events, spec)
    draw(readings, events, spec.promises, folder / "demo.png", "Penstock demonstration")
    write_page(readings, events, spec.promises, folder / "demo.html", title="Penstock demonstration", summary=summary)
    for what, path in (("picture", folder / "demo.png"), ("page", folder / "demo.html"), ("history", history)):
        console.print(f"{what}: {path}", highlight=False, soft_wrap=True)


def show_beside_static(console: Console, readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec) -> None:
    from penstock.cli.beside_static import beside_static

    found = beside_static(readings, events, spec)
    console.print(found.table())
    console.print(found.note(), highlight=False, soft_wrap=True)
