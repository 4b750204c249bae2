"""`penstock demo`: run a job on the embedded cluster, let a policy scale it, and draw a picture of the run."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from penstock.cli.beside_static import beside_static, since
from penstock.cli.demo_operator import Operator, begin_load, commands
from penstock.cli.run import run_job
from penstock.cli.terminal import pairs_of
from penstock.core.domain.job_spec import JobSpec
from penstock.core.errors import UserMistake
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.runtime.jobfile import load_job
from penstock.selftest.demonstration import load_begun
from penstock.stores.reader import read_history

FRESH = ("checkpoint", "demo.png", "demo.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """A job of `workloads`, with changes to its job file, and what an operator does while it runs; `lasts_s` counts from the begin of its load."""

    workload: str
    folder: str
    says: str
    lasts_s: float
    script: Callable[[Operator, float], None]
    changes: tuple[tuple[str, str], ...] = ()
    compares: bool = False
    """Whether the run is compared with a static deployment."""


SCALING = Demonstration(
    workload="lookup", folder="demo", lasts_s=185.0, script=begin_load, compares=True,
    says="The rate rises beyond the capacity of one executor and falls again. The policy scales the job",
)  # fmt: skip
STATIC = Demonstration(
    workload="lookup", folder="demo-static", lasts_s=185.0, script=begin_load,
    says="The same load on the maximum number of executors all the time",
    changes=(("penstock-demo", "penstock-demo-static"), ("start_executors = 1", "start_executors = 4"), ('policy = "auto"', 'policy = "static"')),
)  # fmt: skip
REAL_TIME = Demonstration(
    workload="clicks", folder="demo-realtime", lasts_s=130.0,
    script=commands((55.0, "trigger", {"value": "2s"}), (82.0, "trigger", {"value": "realtime:10s"}), (106.0, "scale", {"value": "1"})),
    says="Kafka in Real-Time Mode. An operator switches to micro-batches and back, and then removes an executor",
)  # fmt: skip


def demo(
    folder: Annotated[Path | None, typer.Option("--folder", help="The folder for the job, its picture and its page (default: out/demo).")] = None,
    static: Annotated[bool, typer.Option("--static", help="Run the same load without a policy, on the maximum number of executors.")] = False,
    realtime: Annotated[bool, typer.Option("--realtime", help="Show Kafka and Spark's Real-Time Mode, operated by hand, instead of a policy.")] = False,
) -> None:
    """Show what Penstock does in under five minutes. It needs no preparation and leaves nothing running."""
    if static and realtime:
        raise UserMistake("--static and --realtime: there is one demonstration at a time")
    console = Console()
    shown = REAL_TIME if realtime else STATIC if static else SCALING
    folder = folder or Path("out") / shown.folder
    spec = prepare(folder, shown)
    console.print(f"{shown.says}. The job: {folder / 'job.toml'}", highlight=False)
    operator = Operator(spec, lambda each: shown.script(each, shown.lasts_s))
    operator.start()
    code = run_job(load_job(folder / "job.toml"), is_over=operator.over.is_set)
    operator.stop()
    if code == 0:
        for line in operator.said:
            console.print(line, highlight=False, soft_wrap=True)
        show(console, spec, folder, compares=shown.compares)
        for mishap in operator.mishaps:
            console.print(f"the operator was refused: {mishap}", highlight=False)
    sys.exit(code or (1 if operator.mishaps else 0))


def prepare(folder: Path, shown: Demonstration) -> JobSpec:
    """Write a fresh copy of the job, and delete the state of an earlier demonstration."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FRESH:
        path = folder / name
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    source = files("penstock") / "workloads" / shown.workload
    toml = (source / "job.toml").read_text()
    for usual, changed in shown.changes:
        toml = toml.replace(usual, changed)
    (folder / "job.toml").write_text(toml)
    (folder / "job.py").write_text((source / "job.py").read_text())
    spec = load_job(folder / "job.toml").spec
    state = JobFolder(spec.name)
    if state.path.exists() and not RemoteJob(state.socket).lives():
        shutil.rmtree(state.path)
    return spec


def show(console: Console, spec: JobSpec, folder: Path, *, compares: bool) -> None:
    """Print a summary from the begin of the load on, what the policy saved, and the paths of the picture and the page."""
    from penstock.dashboard.page import write_page
    from penstock.dashboard.picture import draw

    history = JobFolder(spec.name).history
    readings, events = read_history(history)
    begun = load_begun(events)
    began_s = readings[0].at_s if begun is None else begun.at_s
    summary = since(readings, events, spec, began_s)
    console.print(pairs_of(summary.rows()))
    if compares:
        found = beside_static(readings, events, spec, began_s)
        console.print(found.table())
        console.print(found.note(), highlight=False, soft_wrap=True)
    draw(readings, events, spec.promises, folder / "demo.png", "Penstock demonstration")
    write_page(readings, events, spec.promises, folder / "demo.html", title="Penstock demonstration", summary=summary)
    for what, path in (("picture", folder / "demo.png"), ("page", folder / "demo.html"), ("history", history)):
        console.print(f"{what}: {path}", highlight=False, soft_wrap=True)
