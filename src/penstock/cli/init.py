"""`penstock init` writes a small job to begin with; `penstock entry` prints the script that spark-submit runs."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.core.errors import UserMistake
from penstock.workloads.catalogue import BENCHMARKS, benchmark, job_toml


def init(
    folder: Annotated[Path, typer.Argument(help="The folder to write the job into.")] = Path(),
    workload: Annotated[str | None, typer.Option(help=f"A benchmark job in place of the small one: {', '.join(BENCHMARKS)}.", metavar="NAME")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="With --workload: on an embedded Kafka broker that is fed, in place of a trace.")] = False,
    real_time: Annotated[bool, typer.Option("--real-time", help="With --workload and --kafka: the queries that Real-Time Mode allows, in it.")] = False,
) -> None:
    """Write a commented job.toml with a small job that runs, or a benchmark job to begin with."""
    if workload is None and (kafka or real_time):
        raise UserMistake("--kafka, --real-time: add --workload NAME, the benchmark job to write")
    texts = scaffold() if workload is None else benchmark_job(workload, kafka=kafka, real_time=real_time)
    there = [name for name in texts if (folder / name).exists()]
    if there:
        raise UserMistake(f"{folder / there[0]} is already there; choose another folder (penstock init FOLDER), nothing was written")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text)
    except OSError as error:
        raise UserMistake(f"{folder}: cannot be written: {error.strerror}") from None
    typer.echo(f"wrote {folder / 'job.toml'} and {folder / 'job.py'}; run it: penstock run {folder / 'job.toml'}")


def scaffold() -> dict[str, str]:
    return {name: (files("penstock") / "cli" / "scaffold" / name).read_text() for name in ("job.toml", "job.py")}


def benchmark_job(name: str, *, kafka: bool, real_time: bool) -> dict[str, str]:
    """Return the job file and the code of a benchmark job."""
    of = benchmark(name)
    code = (files("penstock") / "workloads" / f"{of.name}.py").read_text()
    return {"job.toml": job_toml(of, kafka=kafka, real_time=real_time), "job.py": code}


def entry() -> None:
    """Print the path of the script that spark-submit runs. Example: spark-submit --master yarn "$(penstock entry)" run job.toml"""
    typer.echo(str(files("penstock") / "__main__.py"))
