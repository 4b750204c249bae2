"""`penstock bench`: compare policies on the same loads, plants, seeds and failures."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.report import JsonOption, bar, known, needed
from penstock.cli.terminal import Whole
from penstock.core.errors import UserMistake

QUICK_RUNS, PAPER_RUNS = 1, 5
Quick = Annotated[bool, typer.Option("--quick", help="A first table: two loads of two hours on simulated micro-batches. Takes under three minutes.")]
Paper = Annotated[str | None, typer.Option(help="Repeat the comparison of a paper in the simulator: six hours, five runs of each.", metavar="daedalus|phoebe")]
Mine = Annotated[Path | None, typer.Option(help="Compare on your own trace: CSV with the columns t (s), rate (rows/s). Needs --job.", metavar="TRACE.CSV")]
Job = Annotated[str | None, typer.Option(help="With --mine: the job whose recorded history says how the engine behaves.", metavar="JOB.TOML|HISTORY.DB|JOB")]
Random = Annotated[
    int | None, typer.Option("--random", help="Compare on so many random jobs and loads of two hours, and say how far auto is from its targets.")
]
Seed = Annotated[int, typer.Option(help="With --random: the seed of the first job; each next one has the next.")]
Runs = Annotated[int | None, typer.Option(help=f"Repetitions, each with a seed of its own ({QUICK_RUNS}; of a paper {PAPER_RUNS}).")]
Out = Annotated[Path, typer.Option(help="The folder for the report (HTML, Markdown, JSON) and the finished runs.", metavar="FOLDER")]


def bench(
    quick: Quick = False, paper: Paper = None, mine: Mine = None, job: Job = None, random: Random = None, seed: Seed = 0, runs: Runs = None,
    out: Out = Path("out/bench"), as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Compare policies: what each costs and what it keeps, beside a static deployment and an oracle that knows the future.

    Finished runs are stored in the folder and not made again by the same code; Ctrl-C loses those under way.
    """
    from penstock.bench.results import compare

    needed(1, runs=runs, random=random)
    needed(0, seed=seed)
    if random is not None and runs is not None:
        raise UserMistake("--runs: each job of --random is run once; ask for more jobs")
    comparison, asked = asked_for(quick, paper, mine, job, random, seed, runs)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserMistake(f"--out: {out} cannot be written: {error.strerror}") from None
    with bar("runs") as progress:
        results = compare(comparison, out / "runs.jsonl", " ".join(["penstock bench", *asked, *([f"--runs {runs}"] if runs else [])]), progress)
    written = write_report(results, out)
    if as_json:
        typer.echo(json.dumps(json_of(results)))
    else:
        show(results)
        typer.echo("".join(f"{path}\n" for path in written), nl=False)
    for name, why in results.failed.items():
        print(f"penstock: {name}: {why}", file=sys.stderr)
    if results.failed:
        raise typer.Exit(1)


def asked_for(
    quick: bool, paper: str | None, mine: Path | None, job: str | None, random: int | None, seed: int, runs: int | None
) -> tuple[Any, list[str]]:  # fmt: skip
    """Return the comparison, and the options that ask for it."""
    from penstock.bench import comparisons
    from penstock.bench.random_jobs import random_jobs

    if sum((quick, *(each is not None for each in (paper, mine, random)))) != 1:
        raise UserMistake("bench: one of --quick, --paper NAME, --mine TRACE.CSV and --random COUNT says what to compare")
    if (job is None) != (mine is None):
        raise UserMistake("bench: --mine TRACE.CSV and --job go together: the job says how the engine behaves")
    if mine is not None and job is not None:
        return own(mine, job, runs or QUICK_RUNS), [f"--mine {mine}", f"--job {job}"]
    if paper is not None:
        return comparisons.paper(paper, runs or PAPER_RUNS), [f"--paper {paper}"]
    if random is not None:
        return random_jobs(random, seed), [f"--random {random}", f"--seed {seed}"]
    return comparisons.quick(runs or QUICK_RUNS), ["--quick"]


def own(trace: Path, job: str, runs: int) -> Any:
    """Return the comparison on a user's trace, with the engine, limits and promises of the job."""
    from penstock.bench import comparisons
    from penstock.cli.simulate_options import limits_of, load_of, promises_of, recorded_job
    from penstock.runtime.home import JobFolder
    from penstock.runtime.jobfile import load_job

    history, spec = job, None
    if job.endswith(".toml"):
        spec = load_job(Path(job)).spec
        folder = JobFolder(spec.name)
        if not folder.history.is_file():
            raise UserMistake(f"--job: {spec.name} has no history on this machine: run it for a while (penstock run {job}), or give a HISTORY.DB")
        history = str(folder.history)
    recorded = recorded_job(history, None, 0)
    assert recorded is not None
    name, load = load_of(trace, recorded)
    limits = limits_of(None, None, None, recorded) if spec is None else spec.limits
    promises = promises_of(None, None, recorded) if spec is None else spec.promises
    return comparisons.mine(name, load, recorded.engine_of_any_load, limits, promises, runs)


def show(results: Any) -> None:
    """Print all tables; of many jobs, the summary alone."""
    from penstock.bench.summary import auto_targets, summary_of
    from penstock.dashboard.comparison_table import summary_table, tables_of

    if results.comparison.summarised:
        show_table(summary_table(results), "over all jobs")
        for target in auto_targets(summary_of(results)):
            Console().print(Text(target.words()))
        return
    for found in results.workloads:
        for cells in tables_of(found):
            show_table(cells, f"{found.workload.name}: {cells.title[0].lower()}{cells.title[1:]}" if cells.title else found.workload.name)
    for line in results.comparison.why:
        Console().print(Text(line))


def show_table(cells: Any, title: str) -> None:
    table = Table(title=title, title_justify="left", box=None)
    for place, heading in enumerate(cells.headings):
        table.add_column(heading, justify="right" if place else "left")
    for row in cells.rows:
        table.add_row(*map(Text, row))
    Console().print(Whole(table, (5, 6)))
    Console().print()


def write_report(results: Any, out: Path) -> list[Path]:
    """Write the three forms of the report."""
    from penstock.dashboard.comparison_page import comparison_page
    from penstock.dashboard.comparison_table import markdown_of

    texts = {"html": comparison_page(results), "md": markdown_of(results), "json": json.dumps(json_of(results), indent=2)}
    paths = [out / f"{results.comparison.name}.{ending}" for ending in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def json_of(results: Any) -> dict[str, Any]:
    from penstock.bench.summary import auto_targets, summary_of

    many = results.comparison.summarised
    summary = {"rows": list(map(asdict, summary_of(results))), "targets": list(map(asdict, auto_targets(summary_of(results))))} if many else None
    made: dict[str, Any] = known(
        {
            "summary": summary,
            "comparison": results.comparison.name,
            "says": results.comparison.says,
            "command": results.command,
            "repetitions": results.repetitions,
            "workloads": {each.workload.name: workload_json(each) for each in results.workloads},
            "why": list(results.comparison.why),
            "failed": dict(results.failed),
        }
    )
    return made


def workload_json(found: Any) -> dict[str, Any]:
    """Return the rows, what the paper says beside them, and of each repetition the recoveries and the capacities that were believed."""
    from penstock.dashboard.beside_paper import beside_paper

    runs = {
        label: [{"recoveries": list(map(asdict, each.recoveries)), "capacities": list(map(asdict, each.capacities))} for each in reports]
        for label, reports in found.reports.items()
    }
    beside = [dict(zip(("policy", "measure", "ours", "paper"), each, strict=True)) for each in beside_paper(found)]
    return {"rows": list(map(asdict, found.rows)), "beside_paper": beside, "runs": runs}
