"""`penstock simulate`: how a policy would steer a job through a trace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from penstock.cli import simulate_arguments as given
from penstock.cli.engine_options import EngineOptions
from penstock.cli.progress import bar
from penstock.cli.report import JsonOption, PlotOption
from penstock.cli.simulate_options import ALL, faults_of, limits_of, load_of, needed, one_of, parameters_of, policies_of, promises_of, recorded_job
from penstock.cli.simulated import present_runs
from penstock.core.config import EVEN
from penstock.core.domain.autopilot import Autopilot, Guards
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.terms import Terms
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.tables.measurements import read_profile
from penstock.wiring.profiled import possible
from penstock.wiring.setup import Setup, told_downtimes
from penstock.wiring.simulation import simulate_all

if TYPE_CHECKING:
    from penstock.hindsight.whatif import Like

UNREAD_S = 60.0
"""Between two readings of `static`, which looks at none, where no failure is to be foretold: only promises are watched, and scores come from the record."""


def simulate(
    trace: given.Trace = None, like: given.Recorded = None, last: given.Last = None, graph: given.Graph = None, policy: given.Name = "auto",
    engine: given.Kind = None, capacity_per_worker: given.Capacity = None, max_scaleout: given.Most = None, min_scaleout: given.Fewest = None,
    start_scaleout: given.First = None, downtime: given.Downtime = None, downtime_in: given.DowntimeIn = None, interval: given.Interval = None,
    target_recovery: given.Recovery = None, failures: given.Failures = "", timeout_failures: given.Unnoticed = None, profile: given.Profile = None,
    promise_latency_ms: given.Latency = None, param: given.Parameters = None, guards: given.Shared = "auto", noise: given.Noise = None, skew: given.Skew = None,
    trigger: given.TriggerEvery = None, overhead: given.Overhead = None, row_cost_us: given.RowCost = None, partitions: given.Partitions = None,
    cores: given.Cores = None, rate_limit: given.RateLimit = None, seed: given.Seed = 0, as_json: JsonOption = False, plot: PlotOption = None,
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
    autopilot = told_downtimes(own, settings, faults)
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
