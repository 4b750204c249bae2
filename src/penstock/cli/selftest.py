"""`penstock selftest`: measure Penstock itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from penstock.cli import EXIT_INTERNAL, complain
from penstock.cli.report import bar

app = typer.Typer(no_args_is_help=True, help="Measure Penstock itself.")
TRACES = Path("../shared/data/workloads")
ORIGINS = 40
JsonOption = Annotated[bool, typer.Option("--json", help="For machines: one JSON object.")]


@app.command()
def overhead(
    starts: Annotated[int, typer.Option(min=2, help="How often the executors are started anew; each takes some five minutes.")] = 8,
    pairs: Annotated[int, typer.Option(min=5, help="How many interleaved pairs of turns of three batches after each start.")] = 8,
    keep: Annotated[
        Path | None, typer.Option(help="Starts go here as they are measured, and those measured by this very code are not measured again.", metavar="FILE")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The cost of observation: the same saturated, CPU-bound query, plain and under Penstock; exit code 1 if the target is missed."""
    from penstock.selftest.overhead_run import measure_overhead

    with bar("turns") as progress:
        result = measure_overhead(starts, pairs, keep, progress)
    show(result, as_json, "overhead")
    fail_on_a_miss({"overhead": result})


@app.command()
def source(
    executors: Annotated[int, typer.Option(min=1)] = 2,
    partitions: Annotated[int, typer.Option(min=1)] = 12,
    seconds: Annotated[float, typer.Option(min=2)] = 15.0,
    as_json: JsonOption = False,
) -> None:
    """The ceiling of the trace source: rows per second into nothing."""
    from penstock.selftest.ceiling import measure_ceiling

    with bar("trace source") as progress:
        result = measure_ceiling(executors, partitions, seconds, progress)
    show(result, as_json, "trace source")


@app.command()
def modes(
    rate: Annotated[float, typer.Option(min=1, help="Rows per second.")] = 1000.0,
    turns: Annotated[int, typer.Option(min=1, help="How many turns of each mode.")] = 2,
    seconds: Annotated[float, typer.Option(min=5, help="How long each turn is measured.")] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Micro-batches and Real-Time Mode side by side: latency at the sink, pause at the boundary, recovery after SIGKILL."""
    from penstock.selftest.modes import measure_modes

    with bar("turns") as progress:
        result = measure_modes(rate, turns, seconds, progress)
    show(result, as_json, "modes")


@app.command()
def feeder(
    rate: Annotated[float, typer.Option(min=1, help="Rows per second that are asked of it.")] = 60_000.0,
    seconds: Annotated[float, typer.Option(min=3)] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """How many rows per second a feeder puts into a topic, alone and beside a job that reads it, and at what cost."""
    from penstock.selftest.feeder import measure_feeder

    with bar("feeder") as progress:
        result = measure_feeder(rate, seconds, progress)
    show(result, as_json, "feeder")


@app.command()
def models(
    traces: Annotated[
        Path | None, typer.Option(help=f"A folder of CSV files (t, rate) to forecast beside generated loads; {TRACES} where it is.", metavar="FOLDER")
    ] = None,
    origins: Annotated[int, typer.Option(min=1, help="Forecasts of each trace; fewer say little about a mean over traces.")] = ORIGINS,
    as_json: JsonOption = False,
) -> None:
    """How well the models do: capacity, recovery, latency and forecasts against a known truth; exit code 1 if a target is missed."""
    from penstock.selftest.models_accuracy import measure_models

    with bar("models") as progress:
        result = measure_models(traces or (TRACES if TRACES.is_dir() else None), origins, progress)
    show(result, as_json, "models")
    fail_on_a_miss({"models": result})


@app.command()
def honesty(
    minutes: Annotated[
        float, typer.Option(min=4, help="How long the run on Spark is, after a minute of start; without --calibrate-from another one comes first.")
    ] = 8.0,
    calibrate_from: Annotated[
        str | None, typer.Option(help="Calibrate the simulator by a history that this command has left.", metavar="HISTORY.DB|JOB")
    ] = None,
    keep: Annotated[Path, typer.Option(help="Where the histories of the runs on Spark are left, to look into a miss.", metavar="FOLDER")] = Path("out/honesty"),
    as_json: JsonOption = False,
) -> None:
    """The same trace and policy on real embedded Spark and in the simulator, side by side; exit code 1 if a target is missed."""
    from penstock.cli.histories import history_named
    from penstock.selftest.honesty import measure_honesty

    source = None if calibrate_from is None else history_named(calibrate_from)
    with bar("seconds on Spark") as progress:
        result = measure_honesty(minutes, source, keep, progress)
    show(result, as_json, "honesty of the simulator")
    fail_on_a_miss({"honesty": result})


@app.command()
def speed(as_json: JsonOption = False) -> None:
    """Six simulated hours as a command, and a turn of the loop with 1,000 executors; exit code 1 if a target is missed."""
    from penstock.selftest.speed import measure_speed

    with bar("measurements") as progress:
        result = measure_speed(progress)
    show(result, as_json, "speed")
    fail_on_a_miss({"speed": result})


@app.command()
def acceptance(out: Annotated[Path, typer.Option(help="Where acceptance.json and acceptance.txt go.")] = Path("out")) -> None:
    """Run the long targets of all issues; writes one JSON and one table. Exit code 1 if a target is missed."""
    from penstock.selftest.ceiling import measure_ceiling
    from penstock.selftest.feeder import measure_feeder
    from penstock.selftest.honesty import measure_honesty
    from penstock.selftest.models_accuracy import measure_models
    from penstock.selftest.modes import measure_modes
    from penstock.selftest.overhead_run import measure_overhead
    from penstock.selftest.speed import measure_speed

    measures: dict[str, Callable[[Callable[[int, int], None]], Any]] = {
        "models": lambda progress: measure_models(TRACES if TRACES.is_dir() else None, ORIGINS, progress),
        "speed": measure_speed,
        "honesty": lambda progress: measure_honesty(8.0, None, out / "honesty", progress),
        "modes": lambda progress: measure_modes(1000.0, 2, 30.0, progress),
        "feeder": lambda progress: measure_feeder(60_000.0, 20.0, progress),
        "source": lambda progress: measure_ceiling(2, 12, 15.0, progress),
        "overhead": lambda progress: measure_overhead(12, 12, out / "overhead.jsonl", progress),
    }
    out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    console = Console(record=True, width=120)
    for name, measure in measures.items():
        with bar(name) as progress:
            results[name] = measure(progress)
        console.print(table_of(results[name], name))
        (out / "acceptance.json").write_text(json.dumps({each: asdict(result) for each, result in results.items()}, indent=2))
        (out / "acceptance.txt").write_text(console.export_text(clear=False))
    fail_on_a_miss(results)


def fail_on_a_miss(results: Mapping[str, Any]) -> None:
    """Name the targets that were missed, and end with exit code 1; what was measured without a target misses none."""
    missed = [f"{name}: {what}: the target is missed" for name, result in results.items() for what in getattr(result, "missed", ())]
    if missed:
        complain("\n".join(missed))
        raise typer.Exit(EXIT_INTERNAL)


def show(result: Any, as_json: bool, title: str) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(result)))
    else:
        Console().print(table_of(result, title))


def table_of(result: Any, title: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, show_header=False)
    for name, value in result.rows():
        table.add_row(name, value)
    return table
