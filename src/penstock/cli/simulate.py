"""`penstock simulate`: how a policy would scale a job through a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from typer import Option

from penstock.cli.engine_options import ENGINES, EngineOptions
from penstock.cli.report import JsonOption, PlotOption, bar, needed, one_of
from penstock.cli.simulate_options import SeedOption, chosen_of, faults_of, limits_of, load_of, policies_of, promises_of, recorded_job
from penstock.cli.simulated import present_runs
from penstock.core.config import EVEN
from penstock.core.domain.autopilot import Autopilot, Guards
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.policies.registry import labelled
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.tables.measurements import read_profile
from penstock.wiring.setup import Setup, possible, with_downtimes
from penstock.wiring.simulation import simulate_all

if TYPE_CHECKING:
    from penstock.hindsight.whatif import Like

Number = float | None

Trace = Annotated[Path | None, Option(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")]
Recorded = Annotated[
    str | None, Option("--like", help="Calibrate the engine by a recorded job; without --trace its own arrivals are used.", metavar="HISTORY.DB|JOB")
]
Last = Annotated[str | None, Option(help="With --like: use only the last part of the history (24h).", metavar="DURATION")]
Graph = Annotated[Path | None, Option(help="Simulate several queries that share the executors (docs/simulator.md).", metavar="GRAPH.TOML")]
Name = Annotated[str, Option(help="The policy, several side by side (hpa(80),hpa(85),auto), or all.", metavar="NAME,...|all")]
Kind = Annotated[str | None, Option(help="The engine (default: continuous, or that of the recorded job).", metavar="|".join(ENGINES))]
Capacity = Annotated[Number, Option(help="The capacity of one executor in rows per second (5000).")]
Most = Annotated[int | None, Option(help="The maximum number of executors (12, or that of the recorded job).")]
Fewest = Annotated[int | None, Option(help="The minimum number of executors (1, or that of the recorded job).")]
First = Annotated[int | None, Option(help="The number of executors at the start (default: the maximum).")]
Downtime = Annotated[Number, Option(help="Downtime in seconds of a failure or rescale (30); micro-batches: until an executor is ready (5).")]
DowntimeIn = Annotated[Number, Option(help="The same for a scale-down, if it differs.")]
Interval = Annotated[Number, Option(help="Continuous: seconds between two checkpoints (10).")]
Recovery = Annotated[Number, Option(help="The promised recovery time in seconds.")]
Failures = Annotated[str, Option(help="The times in the trace at which an executor fails.", metavar="T,T,...")]
Unnoticed = Annotated[Number, Option(help="The time in seconds until a failure is detected.", metavar="S")]
Profile = Annotated[Path | None, Option(help="A profile: CSV with the columns scaleout, rate, latency_ms and, if known, valid.", metavar="PROFILE.CSV")]
Latency = Annotated[Number, Option(help="The promised p95 latency in milliseconds.")]
Parameters = Annotated[list[str] | None, Option(help="A parameter of the policy; may be repeated.", metavar="NAME=NUMBER")]
Shared = Annotated[str, Option(help="Whether the guards that all policies share are active.", metavar="|".join(get_args(Guards)))]
Noise = Annotated[Number, Option(help="Noise of the CPU (0.02); micro-batches: of the duration of a batch (0).")]
Skew = Annotated[Number, Option(help="Coefficient of variation of the executors' shares (0); micro-batches: longest task over the mean (1).")]
TriggerEvery = Annotated[Number, Option(help="Micro-batches: the trigger interval in seconds (5).")]
Overhead = Annotated[Number, Option(help="Micro-batches: the duration of an empty batch in seconds (0.5).")]
RowCost = Annotated[Number, Option(help="Micro-batches: microseconds per row on one core, instead of --capacity-per-worker.")]
Partitions = Annotated[int | None, Option(help="Micro-batches: the number of tasks of a batch (24).")]
Cores = Annotated[int | None, Option(help="Micro-batches: the cores of an executor (1).")]
RateLimit = Annotated[Number, Option(help="The maximum rate that the job reads, in rows per second.")]

UNREAD_S = 60.0
"""The reading interval of `static` without failures: it uses no readings, and scores come from the exact record."""


def simulate(
    trace: Trace = None, like: Recorded = None, last: Last = None, graph: Graph = None, policy: Name = "auto",
    engine: Kind = None, capacity_per_worker: Capacity = None, max_scaleout: Most = None, min_scaleout: Fewest = None,
    start_scaleout: First = None, downtime: Downtime = None, downtime_in: DowntimeIn = None, interval: Interval = None,
    target_recovery: Recovery = None, failures: Failures = "", timeout_failures: Unnoticed = None, profile: Profile = None,
    promise_latency_ms: Latency = None, param: Parameters = None, guards: Shared = "auto", noise: Noise = None, skew: Skew = None,
    trigger: TriggerEvery = None, overhead: Overhead = None, row_cost_us: RowCost = None, partitions: Partitions = None,
    cores: Cores = None, rate_limit: RateLimit = None, seed: SeedOption = 0, as_json: JsonOption = False, plot: PlotOption = None,
) -> None:  # fmt: skip
    """Simulate how a policy scales a job through a trace. Prints its cost and the promises it keeps."""
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
    limits, policies = limits_of(min_scaleout, max_scaleout, start_scaleout, recorded), policies_of(policy)
    faults = faults_of(failures, timeout_failures, load)
    own = Autopilot(mode="active", guards=cast(Guards, guards), rollback=False)
    if param:
        chosen = chosen_of(policies, param)
        own, policies = chosen.on(own), (chosen.name,)
    autopilot = with_downtimes(own, settings, faults)
    promises, known = promises_of(promise_latency_ms, target_recovery, recorded), () if profile is None else tuple(read_profile(profile))
    config = replace(EVEN, longest_batch_s=0.0 if recorded is None else recorded.longest_batch_s)
    if {labelled(label).name for label in policies} == {"static"} and not faults:
        config = replace(config, reading_interval_s=UNREAD_S)
    terms = Terms(limits=limits, promises=promises, config=config, autopilot=autopilot, profile=known)
    setup = Setup(load=load, engine=settings, terms=terms, faults=faults, seed=seed)
    tried, left_out = possible(setup, policies)
    with bar("simulated seconds") as progress:
        runs = simulate_all(setup, tried, lambda done_s, total_s: progress(round(done_s), round(total_s)))
    present_runs(name, runs, together=len(policies) > 1, left_out=left_out, like=recorded, as_json=as_json, plot=plot)


def like_engine(options: EngineOptions, recorded: Like, trace: Path | None) -> Simulable:
    """Return the engine of the recorded job with the given options in place of its own, for each of its queries."""
    engine: Any = recorded.engine if trace is None else recorded.engine_of_any_load
    if not isinstance(engine, QueryGraph):
        return options.over(engine)
    return replace(engine, queries=tuple(replace(query, settings=options.over(query.settings)) for query in engine.queries))


def read_graph(path: Path, options: EngineOptions, load: Arrivals) -> QueryGraph[Any]:
    """Import the reader of TOML files only when it is needed."""
    from penstock.cli.simulate_graph import graph_of

    return graph_of(path, options, load)
