"""`penstock simulate`: how a policy would steer a job through a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from penstock.cli.bench import bar
from penstock.cli.report import JsonOption, PlotOption
from penstock.cli.simulate_options import (
    ALL,
    continuous,
    faults_of,
    limits_of,
    load_of,
    micro_batch,
    needed,
    one_of,
    parameters_of,
    policies_of,
    promises_of,
    recorded_job,
)  # fmt: skip
from penstock.cli.simulated import present_runs
from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot, Guards
from penstock.core.terms import Terms
from penstock.tables.profile import read_profile
from penstock.wiring.simulation import Setup, simulate_all

ENGINES = ("continuous", "micro-batch")
READING_S = 15.0
"""Time between two readings, and what each averages: CPU and throughput must be of the same time, or capacity is judged wrongly while the load moves."""


def simulate(
    trace: Annotated[Path | None, typer.Option(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")] = None,
    like: Annotated[str | None, typer.Option(help="An engine like that of a recorded job; its own arrivals without --trace.", metavar="HISTORY.DB|JOB")] = None,
    policy: Annotated[str, typer.Option(help="A policy by its name, or all of them side by side.", metavar="NAME|all")] = "auto",
    engine: Annotated[str, typer.Option(help="How the job works.", metavar="|".join(ENGINES))] = ENGINES[0],
    capacity_per_worker: Annotated[float, typer.Option(help="Rows per second that one worker can process.")] = 5000.0,
    max_scaleout: Annotated[int | None, typer.Option(help="The most workers (12, or those of the recorded job).")] = None,
    min_scaleout: Annotated[int, typer.Option(help="The fewest workers.")] = 1,
    start_scaleout: Annotated[int | None, typer.Option(help="Workers at the start; the most unless told.")] = None,
    downtime: Annotated[float | None, typer.Option(help="Seconds down after a failure or rescale (30); micro-batches: until a worker is ready (5).")] = None,
    downtime_in: Annotated[float | None, typer.Option(help="The same where workers are taken away, if that differs.")] = None,
    interval: Annotated[float, typer.Option(help="Continuous: seconds between two checkpoints.")] = 10.0,
    target_recovery: Annotated[float | None, typer.Option(help="Seconds within which the job is to recover.")] = None,
    failures: Annotated[str, typer.Option(help="When a worker fails, in the time of the trace.", metavar="T,T,...")] = "",
    timeout_failures: Annotated[float | None, typer.Option(help="Failures are noticed only after so many seconds.", metavar="S")] = None,
    profile: Annotated[Path | None, typer.Option(help="CSV with the columns scaleout, rate, latency_ms (valid).", metavar="PROFILE.CSV")] = None,
    promise_latency_ms: Annotated[float | None, typer.Option(help="The latency that is promised.")] = None,
    param: Annotated[list[str] | None, typer.Option(help="A parameter of the policy; again for another.", metavar="NAME=NUMBER")] = None,
    guards: Annotated[str, typer.Option(help="The guards that all policies share.", metavar="|".join(get_args(Guards)))] = "auto",
    noise: Annotated[float | None, typer.Option(help="Spread of CPU (0.02); micro-batches: of the time a batch takes (0).")] = None,
    skew: Annotated[float | None, typer.Option(help="Coefficient of variation of workers' shares (0); micro-batches: longest task over the mean (1).")] = None,
    trigger: Annotated[float, typer.Option(help="Micro-batches: seconds between two starts.")] = 5.0,
    overhead: Annotated[float, typer.Option(help="Micro-batches: seconds of a batch without rows.")] = 0.5,
    row_cost_us: Annotated[float | None, typer.Option(help="Micro-batches: microseconds of a row on one core, in place of --capacity-per-worker.")] = None,
    partitions: Annotated[int, typer.Option(help="Micro-batches: tasks of a batch.")] = 24,
    cores: Annotated[int, typer.Option(help="Micro-batches: cores of a worker.")] = 1,
    rate_limit: Annotated[float | None, typer.Option(help="The most rows per second that the job takes.")] = None,
    seed: Annotated[int, typer.Option(help="Another seed is another run of chance.")] = 0,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:  # fmt: skip
    """Steer a simulated job through a trace: what that costs, and which promises it keeps."""
    one_of("engine", engine, ENGINES)
    one_of("guards", guards, get_args(Guards))
    needed(0, above=True, capacity_per_worker=capacity_per_worker, target_recovery=target_recovery, promise_latency_ms=promise_latency_ms)
    needed(0, above=True, row_cost_us=row_cost_us, rate_limit=rate_limit)
    needed(0, downtime=downtime, downtime_in=downtime_in, timeout_failures=timeout_failures, noise=noise, trigger=trigger, overhead=overhead)
    needed(1, partitions=partitions, cores=cores)
    needed(0 if engine == "continuous" else 1, skew=skew)
    shared: dict[str, Any] = {
        "capacity_per_worker": capacity_per_worker, "downtime": downtime, "downtime_in": downtime_in, "timeout": timeout_failures,
        "noise": noise, "skew": skew, "rate_limit": rate_limit,
    }  # fmt: skip
    batches: dict[str, Any] = {"row_cost_us": row_cost_us, "trigger": trigger, "overhead": overhead, "partitions": partitions, "cores": cores}
    recorded = recorded_job(like, seed)
    if recorded is not None:
        settings = recorded.found.settings
    else:
        settings = continuous(interval=interval, **shared) if engine == "continuous" else micro_batch(**batches, **shared)
    limits, parameters = limits_of(min_scaleout, max_scaleout, start_scaleout, recorded), parameters_of(policy, param or [])
    name, load = load_of(trace, recorded)
    terms = Terms(
        limits=limits,
        promises=promises_of(promise_latency_ms, target_recovery, recorded),
        config=Config(reading_interval_s=READING_S, reading_window_s=READING_S),
        autopilot=Autopilot(
            mode="active", policy=policies_of(policy)[0], parameters=parameters, guards=cast(Guards, guards), downtime_s=settings.up_s, rollback=False
        ),
        profile=() if profile is None else tuple(read_profile(profile)),
    )
    setup = Setup(load=load, engine=settings, terms=terms, faults=faults_of(failures, timeout_failures, load), seed=seed)
    with bar("simulated seconds") as progress:
        runs = simulate_all(setup, policies_of(policy), lambda done_s, total_s: progress(round(done_s), round(total_s)))
    present_runs(name, runs, together=policy == ALL, like=recorded, as_json=as_json, plot=plot)
