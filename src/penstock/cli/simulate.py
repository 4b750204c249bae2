"""`penstock simulate`: how a policy would steer a job through a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from typer import Option

from penstock.cli.engine_options import ENGINES, EngineOptions
from penstock.cli.report import JsonOption, PlotOption, bar
from penstock.cli.simulate_options import ALL, faults_of, limits_of, load_of, needed, one_of, parameters_of, policies_of, promises_of, recorded_job
from penstock.cli.simulated import present_runs
from penstock.core.config import EVEN
from penstock.core.domain.autopilot import Autopilot, Guards
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.tables.measurements import read_profile
from penstock.wiring.setup import Setup, possible, with_downtimes
from penstock.wiring.simulation import simulate_all

if TYPE_CHECKING:
    from penstock.hindsight.whatif import Like

Number = float | None

Trace = Annotated[Path | None, Option(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")]
Recorded = Annotated[str | None, Option("--like", help="An engine like that of a recorded job; its own arrivals without --trace.", metavar="HISTORY.DB|JOB")]
Last = Annotated[str | None, Option(help="With --like: only the last so long of the history (24h).", metavar="DURATION")]
Graph = Annotated[Path | None, Option(help="Several queries that share the workers (docs/simulator.md).", metavar="GRAPH.TOML")]
Name = Annotated[str, Option(help="A policy by its name, or all of them side by side.", metavar="NAME|all")]
Kind = Annotated[str | None, Option(help="How the job works (continuous, or as the recorded job does).", metavar="|".join(ENGINES))]
Capacity = Annotated[Number, Option(help="Rows per second that one worker can process (5000).")]
Most = Annotated[int | None, Option(help="The most workers (12, or those of the recorded job).")]
Fewest = Annotated[int | None, Option(help="The fewest workers (1, or those of the recorded job).")]
First = Annotated[int | None, Option(help="Workers at the start; the most unless told.")]
Downtime = Annotated[Number, Option(help="Seconds down after a failure or rescale (30); micro-batches: until a worker is ready (5).")]
DowntimeIn = Annotated[Number, Option(help="The same where workers are taken away, if that differs.")]
Interval = Annotated[Number, Option(help="Continuous: seconds between two checkpoints (10).")]
Recovery = Annotated[Number, Option(help="Seconds within which the job is to recover.")]
Failures = Annotated[str, Option(help="When a worker fails, in the time of the trace.", metavar="T,T,...")]
Unnoticed = Annotated[Number, Option(help="Failures are noticed only after so many seconds.", metavar="S")]
Profile = Annotated[Path | None, Option(help="CSV with the columns scaleout, rate, latency_ms (valid).", metavar="PROFILE.CSV")]
Latency = Annotated[Number, Option(help="The latency that is promised.")]
Parameters = Annotated[list[str] | None, Option(help="A parameter of the policy; again for another.", metavar="NAME=NUMBER")]
Shared = Annotated[str, Option(help="The guards that all policies share.", metavar="|".join(get_args(Guards)))]
Noise = Annotated[Number, Option(help="Spread of CPU (0.02); micro-batches: of the time a batch takes (0).")]
Skew = Annotated[Number, Option(help="Coefficient of variation of workers' shares (0); micro-batches: longest task over the mean (1).")]
TriggerEvery = Annotated[Number, Option(help="Micro-batches: seconds between two starts (5).")]
Overhead = Annotated[Number, Option(help="Micro-batches: seconds of a batch without rows (0.5).")]
RowCost = Annotated[Number, Option(help="Micro-batches: microseconds of a row on one core, in place of --capacity-per-worker.")]
Partitions = Annotated[int | None, Option(help="Micro-batches: tasks of a batch (24).")]
Cores = Annotated[int | None, Option(help="Micro-batches: cores of a worker (1).")]
RateLimit = Annotated[Number, Option(help="The most rows per second that the job takes.")]
Seed = Annotated[int, Option(help="Another seed is another run of chance.")]

UNREAD_S = 60.0
"""Between two readings of `static`, which looks at none, where no failure is to be foretold: only promises are watched, and scores come from the record."""


def simulate(
    trace: Trace = None, like: Recorded = None, last: Last = None, graph: Graph = None, policy: Name = "auto",
    engine: Kind = None, capacity_per_worker: Capacity = None, max_scaleout: Most = None, min_scaleout: Fewest = None,
    start_scaleout: First = None, downtime: Downtime = None, downtime_in: DowntimeIn = None, interval: Interval = None,
    target_recovery: Recovery = None, failures: Failures = "", timeout_failures: Unnoticed = None, profile: Profile = None,
    promise_latency_ms: Latency = None, param: Parameters = None, guards: Shared = "auto", noise: Noise = None, skew: Skew = None,
    trigger: TriggerEvery = None, overhead: Overhead = None, row_cost_us: RowCost = None, partitions: Partitions = None,
    cores: Cores = None, rate_limit: RateLimit = None, seed: Seed = 0, as_json: JsonOption = False, plot: PlotOption = None,
) -> None:  # fmt: skip
    """Steer a simulated job through a trace: what that costs, and which promises it keeps."""
    one_of("guards", guards, get_args(Guards))
    needed(0, above=True, target_recovery=target_recovery, promise_latency_ms=promise_latency_ms)
    if like is not None and graph is not None:
        raise UserMistake("--graph: a graph is not like a recorded job; give one of --like and --graph")
    options = EngineOptions(
        engine=engine, capacity_per_worker=capacity_per_worker, downtime=downtime, downtime_in=downtime_in, timeout_failures=timeout_failures,
        interval=interval, trigger=trigger, overhead=overhead, row_cost_us=row_cost_us, partitions=partitions, cores=cores, rate_limit=rate_limit,
        noise=noise, skew=skew,
    )  # fmt: skip
    recorded = recorded_job(like, last, seed)
    name, load = load_of(trace, recorded)
    settings = like_engine(options, recorded, trace) if recorded else options.settings() if graph is None else read_graph(graph, options, load)
    limits, parameters = limits_of(min_scaleout, max_scaleout, start_scaleout, recorded), parameters_of(policy, param or [])
    faults = faults_of(failures, timeout_failures, load)
    own = Autopilot(mode="active", policy=policies_of(policy)[0], parameters=parameters, guards=cast(Guards, guards), rollback=False)
    autopilot = with_downtimes(own, settings, faults)
    promises, known = promises_of(promise_latency_ms, target_recovery, recorded), () if profile is None else tuple(read_profile(profile))
    config = replace(EVEN, reading_interval_s=UNREAD_S) if policy == "static" and not faults else EVEN
    terms = Terms(limits=limits, promises=promises, config=config, autopilot=autopilot, profile=known)
    setup = Setup(load=load, engine=settings, terms=terms, faults=faults, seed=seed)
    tried, left_out = possible(setup, policies_of(policy))
    with bar("simulated seconds") as progress:
        runs = simulate_all(setup, tried, lambda done_s, total_s: progress(round(done_s), round(total_s)))
    present_runs(name, runs, together=policy == ALL, left_out=left_out, like=recorded, as_json=as_json, plot=plot)


def like_engine(options: EngineOptions, recorded: Like, trace: Path | None) -> Simulable:
    """That of the recorded job with what was given in its place, for every query of several."""
    engine: Any = recorded.engine if trace is None else recorded.engine_of_any_load
    if not isinstance(engine, QueryGraph):
        return options.over(engine)
    return replace(engine, queries=tuple(replace(query, settings=options.over(query.settings)) for query in engine.queries))


def read_graph(path: Path, options: EngineOptions, load: Arrivals) -> QueryGraph[Any]:
    """Imported when somebody asks for it: a simulation of one query need not wait for what reads files of TOML."""
    from penstock.cli.simulate_graph import graph_of

    return graph_of(path, options, load)
