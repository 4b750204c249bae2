"""`penstock selftest`: measure Penstock itself."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from penstock.cli import EXIT_INTERNAL, complain
from penstock.cli.report import JsonOption, bar
from penstock.cli.terminal import pairs_of
from penstock.core.errors import PenstockError

app = typer.Typer(no_args_is_help=True, help="Measure Penstock itself.")
TRACES = Path("../shared/data/workloads")
ORIGINS = 40
Measure = Callable[[Callable[[float, int], None]], Any]


@app.command()
def overhead(
    starts: Annotated[int, typer.Option(min=2, help="How often the executors are started; each start takes about five minutes.")] = 8,
    pairs: Annotated[int, typer.Option(min=5, help="The number of interleaved pairs of turns after each start; a turn is three batches.")] = 8,
    keep: Annotated[
        Path | None, typer.Option(help="Store each start here when it is measured. Starts measured by the same code are not repeated.", metavar="FILE")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what observation costs a saturated query. The same CPU-bound query runs plain and under Penstock. Exit code 1 if a target is missed."""
    from penstock.selftest.overhead_run import measure_overhead

    show("overhead", "turns", lambda progress: measure_overhead(starts, pairs, keep, progress), as_json)


@app.command()
def source(
    executors: Annotated[int, typer.Option(min=1, help="The number of executors.")] = 2,
    partitions: Annotated[int, typer.Option(min=1, help="The partitions of the source.")] = 12,
    seconds: Annotated[float, typer.Option(min=2, help="How long to measure.")] = 15.0,
    as_json: JsonOption = False,
) -> None:
    """Measure the maximum rate of the trace source."""
    from penstock.selftest.ceiling import measure_ceiling

    show("trace source", "trace source", lambda progress: measure_ceiling(executors, partitions, seconds, progress), as_json)


@app.command()
def modes(
    rate: Annotated[float, typer.Option(min=1, help="The rate in rows per second.")] = 1000.0,
    turns: Annotated[int, typer.Option(min=1, help="The number of turns of each mode.")] = 2,
    seconds: Annotated[float, typer.Option(min=5, help="How long each turn is measured.")] = 30.0,
    as_json: JsonOption = False,
) -> None:
    """Compare micro-batches with Real-Time Mode. Measures the latency at the sink, the pause between batches and the recovery after SIGKILL of an executor."""
    from penstock.selftest.modes import measure_modes

    show("modes", "turns", lambda progress: measure_modes(rate, turns, seconds, progress), as_json)


@app.command()
def feeder(
    rate: Annotated[float, typer.Option(min=1, help="The rate asked of the feeder in rows per second.")] = 60_000.0,
    seconds: Annotated[float, typer.Option(min=3, help="How long to measure.")] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """Measure the rate and CPU of a feeder, alone and beside a job."""
    from penstock.selftest.feeder_speed import measure_feeder

    show("feeder", "feeder", lambda progress: measure_feeder(rate, seconds, progress), as_json)


@app.command()
def models(
    traces: Annotated[
        Path | None,
        typer.Option(help=f"A folder of CSV files (t, rate) to forecast besides generated loads (default: {TRACES}, if it exists).", metavar="FOLDER"),
    ] = None,
    origins: Annotated[int, typer.Option(min=1, help="The number of forecasts of each trace.")] = ORIGINS,
    keep: Annotated[
        Path | None, typer.Option(help="Store each measurement here. Those made by the same code on the same data are not repeated.", metavar="FILE")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the errors of all models against a known truth. Covers capacity, recovery, latency and forecasts. Exit code 1 if a target is missed."""
    from penstock.selftest.models_accuracy import measure_models

    show("models", "measurements", lambda progress: measure_models(traces or (TRACES if TRACES.is_dir() else None), origins, keep, progress), as_json)


@app.command()
def capacity(
    jobs: Annotated[int, typer.Option(min=10, help="The number of random jobs whose capacity is compared with the truth.")] = 500,
    failures: Annotated[int, typer.Option(min=10, help="The number of random failures whose recovery is compared with the prediction.")] = 200,
    runs: Annotated[int, typer.Option(min=0, help="The number of runs on real Spark beside busy loops; each takes about four minutes.")] = 3,
    keep: Annotated[Path | None, typer.Option(help="Store what is measured in this file. An interrupted run goes on from there.", metavar="FILE")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the believed capacity and recovery with the truth, of simulated jobs and on real Spark. Exit code 1 if a target is missed."""
    from penstock.selftest.believed_capacity import measure_believed

    show("capacity", "jobs", lambda progress: measure_believed(jobs, failures, runs, keep, progress), as_json)


@app.command()
def demonstration(
    keep: Annotated[Path | None, typer.Option(help="Store each run here. Those of the same code are not repeated.", metavar="FILE")] = None,
    as_json: JsonOption = False,
) -> None:
    """Run the demonstration quiet, and beside busy loops in its first 90 seconds. Takes about ten minutes. Exit code 1 if a target is missed."""
    from penstock.selftest.demonstration import measure_demonstration

    show("demonstration", "runs", lambda progress: measure_demonstration(keep, progress), as_json)


@app.command()
def honesty(
    minutes: Annotated[
        float, typer.Option(min=4, help="The length of the run on Spark after a minute of start; without --calibrate-from a run to calibrate comes first.")
    ] = 8.0,
    calibrate_from: Annotated[
        str | None, typer.Option(help="Calibrate the simulator by a history that this command has kept.", metavar="HISTORY.DB|JOB")
    ] = None,
    keep: Annotated[Path, typer.Option(help="The folder for the histories of the runs on Spark.", metavar="FOLDER")] = Path("out/honesty"),
    as_json: JsonOption = False,
) -> None:
    """Compare the simulator with real embedded Spark. Both run the same trace under the same policy. Exit code 1 if a target is missed."""
    from penstock.cli.histories import history_named
    from penstock.selftest.honesty import measure_honesty

    source = None if calibrate_from is None else history_named(calibrate_from)
    show("honesty of the simulator", "seconds on Spark", lambda progress: measure_honesty(minutes, source, keep, progress), as_json)


@app.command()
def speed(as_json: JsonOption = False) -> None:
    """Time six simulated hours, and a turn with 1,000 executors. Exit code 1 if a target is missed."""
    from penstock.selftest.speed import measure_speed

    show("speed", "measurements", measure_speed, as_json)


@app.command()
def acceptance(out: Annotated[Path, typer.Option(help="The folder for acceptance.json and acceptance.txt.")] = Path("out")) -> None:
    """Measure every target, and write one JSON file and one table. Exit code 1 if a target is missed or cannot be measured."""
    from penstock.selftest.believed_capacity import measure_believed
    from penstock.selftest.ceiling import measure_ceiling
    from penstock.selftest.demonstration import measure_demonstration
    from penstock.selftest.feeder_speed import measure_feeder
    from penstock.selftest.honesty import measure_honesty
    from penstock.selftest.models_accuracy import measure_models
    from penstock.selftest.modes import measure_modes
    from penstock.selftest.overhead_run import measure_overhead
    from penstock.selftest.speed import measure_speed

    measures: dict[str, Measure] = {
        "models": lambda progress: measure_models(TRACES if TRACES.is_dir() else None, ORIGINS, out / "models.jsonl", progress),
        "capacity": lambda progress: measure_believed(500, 200, 3, out / "capacity.jsonl", progress),
        "speed": measure_speed,
        "demonstration": lambda progress: measure_demonstration(out / "demonstration.jsonl", progress),
        "honesty": lambda progress: measure_honesty(8.0, None, out / "honesty", progress),
        "modes": lambda progress: measure_modes(1000.0, 2, 30.0, progress),
        "feeder": lambda progress: measure_feeder(60_000.0, 20.0, progress),
        "source": lambda progress: measure_ceiling(2, 12, 15.0, progress),
        "overhead": lambda progress: measure_overhead(6, 8, out / "overhead.jsonl", progress),
    }
    out.mkdir(parents=True, exist_ok=True)
    measure_all(measures, out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """What could not be measured on this machine now, for example because of CPU steal; the other measures go on."""

    why: str
    missed: tuple[str, ...] = ("not measured",)

    def rows(self) -> list[tuple[str, str]]:
        return [("not measured", self.why)]


def measure_all(measures: Mapping[str, Measure], out: Path) -> None:
    results: dict[str, Any] = {}
    console = Console(record=True, width=120)
    for name, measure in measures.items():
        with bar(name) as progress:
            try:
                results[name] = measure(progress)
            except (PenstockError, RuntimeError) as error:
                results[name] = Unmeasured(why=str(error))
        console.print(pairs_of(results[name].rows(), name))
        (out / "acceptance.json").write_text(json.dumps({each: asdict(result) for each, result in results.items()}, indent=2))
        (out / "acceptance.txt").write_text(console.export_text(clear=False))
    fail_on_a_miss(results)


def fail_on_a_miss(results: Mapping[str, Any]) -> None:
    """Print the targets that were missed, and exit with code 1 if there are any."""
    missed = [f"{name}: {what}: the target is missed" for name, result in results.items() for what in getattr(result, "missed", ())]
    if missed:
        complain("\n".join(missed))
        raise typer.Exit(EXIT_INTERNAL)


def show(title: str, counted: str, measure: Measure, as_json: bool) -> None:
    """Measure with a progress bar, print the result, and exit with code 1 if a target is missed."""
    with bar(counted) as progress:
        result = measure(progress)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
    else:
        Console().print(pairs_of(result.rows(), title))
    fail_on_a_miss({title: result})
