"""A job to simulate: its engine, its downtimes, and the profile that some policies need."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.fault import Fault, FaultKind
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.policies.registry import PROFILED, labelled
from penstock.profiling.procedure import Profiled, ProfilePlan, profile
from penstock.simulator.continuous import ContinuousEngine
from penstock.simulator.engine import Engine
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.graph import QueryGraph, Simulable, configured
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedTestbed

SHORTEST_RUN_S = 60.0
"""A shorter load says nothing about a policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A job to simulate: its load, its engine, its terms and its faults. All times are those of the load."""

    load: Arrivals
    engine: Simulable
    terms: Terms
    faults: tuple[Fault, ...] = ()
    seed: int = 0

    @property
    def is_continuous(self) -> bool:
        return QueryGraph[Any].of(self.engine).is_continuous


def with_downtimes(autopilot: Autopilot, engine: Simulable, faults: Sequence[Fault] = ()) -> Autopilot:
    """Return the autopilot with the downtimes of this engine by kind; a failure costs detection and a restart or, in micro-batches, a retry of tasks."""
    settings = QueryGraph[Any].of(engine).queries[0].settings
    detection_s = settings.timeout_s if any(fault.kind == "freeze" for fault in faults) else 0.0
    known_s = {"rescale_up": settings.up_s, "rescale_down": settings.down_s}
    if isinstance(settings, MicroBatchSettings):
        known_s |= {"executor_loss": settings.retry_s, "query_restart": settings.failed_s}
        return replace(autopilot, downtime_s=settings.up_s, downtimes_s=known_s, detection_s=detection_s)
    return replace(autopilot, downtime_s=settings.up_s, downtimes_s={**known_s, "query_restart": detection_s + settings.downtime_s})


def noticed_after_s(engine: Simulable, fault: FaultKind) -> float:
    """Return the seconds from a fault until a reading counts it: in micro-batches a frozen executor is lost only after the timeout."""
    settings = QueryGraph[Any].of(engine).queries[0].settings
    return settings.timeout_s if fault == "freeze" and isinstance(settings, MicroBatchSettings) else 0.0


def declared_of(setup: Setup) -> Configuration:
    each = [query.settings for query in QueryGraph[Any].of(setup.engine).queries]
    declared = {one.query: QueryConfiguration(trigger=one.trigger, rate_limit_rows_per_s=one.rate_limit_rows_per_s) for one in each}
    return Configuration(executors=first_executors(setup.terms), queries=declared)


def first_executors(terms: Terms) -> int:
    """Return the executors that the job begins with: a static deployment has its own number from the start."""
    limits, own = terms.limits, int(terms.autopilot.parameters.get("executors", 0)) if terms.autopilot.policy == "static" else 0
    if own and limits.nearest(own) != own:
        raise UserMistake(f"static({own}): a number of executors from {limits.min_executors} to {limits.max_executors} is allowed here")
    return own or limits.first


def engine_of(setup: Setup, configuration: Configuration, load: Load, faults: Sequence[Fault] = ()) -> Engine:
    engine: Any = configured(setup.engine, configuration)
    if setup.is_continuous:
        return ContinuousEngine(engine, load, executors=configuration.executors, seed=setup.seed, faults=faults)
    promised_s = setup.terms.promises.latency_p95_s
    return MicroBatchEngine(engine, load, executors=configuration.executors, seed=setup.seed, faults=faults, promised_s=promised_s)


PROFILED_EXECUTOR_COUNTS = 8
"""Phoebe sec. III-C."""
PROFILED_STEP = 1 / 8
"""The first rate of a profile and its step, relative to the largest of the load: 20K of 166K to 195K rows/s (Phoebe sec. IV-A)."""
PROFILED_RATES = 200
"""A profile goes on until no copy keeps up; no engine here is so many steps too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    policy: str
    why: str


def possible(setup: Setup, policies: Sequence[str]) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Split policies into those that can be simulated and those that lack a profile; raise `UserMistake` if none can."""
    why = None if setup.terms.profile else no_profile(setup)
    left_out = () if why is None else tuple(LeftOut(policy=label, why=why) for label in policies if labelled(label).name in PROFILED)
    if left_out and len(left_out) == len(policies):
        raise UserMistake(left_out[0].why)
    out = {each.policy for each in left_out}
    return tuple(name for name in policies if name not in out), left_out


def no_profile(setup: Setup) -> str | None:
    """Return why the job cannot be profiled; None if it can."""
    if max(setup.load.rate_rows_per_s) <= 0:
        return "nothing arrives: there is no rate to profile the job at"
    return None


def profiled(setup: Setup) -> Profiled:
    """Profile the engine with Phoebe's procedure.

    Queries with arrivals of their own are profiled with one rate for all, of which each gets its share of the whole load.
    """
    setup = with_one_load(setup)
    limits, clock, most_rows_per_s = setup.terms.limits, SimulatedClock(0.0), max(setup.load.rate_rows_per_s)
    why = no_profile(setup)
    if why is not None:
        raise UserMistake(why)
    testbed = SimulatedTestbed(partial(engine_of, setup), clock, setup.terms.config)
    step = PROFILED_STEP * most_rows_per_s
    executor_counts = executors_between(limits.min_executors, limits.max_executors)
    return profile(testbed, clock, ProfilePlan(executor_counts=executor_counts, first_rate=step, step_rate=step, most_rates=PROFILED_RATES))


def with_one_load(setup: Setup) -> Setup:
    graph: Any = setup.engine
    if not isinstance(graph, QueryGraph) or not any(query.arrivals for query in graph.queries):
        return setup
    span_s = setup.load.time_s[0], setup.load.last_s
    return replace(setup, engine=graph.of_one_load(setup.load), load=graph.arrivals(setup.load).between(*span_s))


def executors_between(least: int, most: int) -> tuple[int, ...]:
    """Return a few numbers of executors, evenly spaced as far as whole numbers allow, with both ends.

    >>> executors_between(1, 12), executors_between(2, 4)
    ((1, 3, 4, 6, 7, 9, 10, 12), (2, 3, 4))
    """
    steps = min(PROFILED_EXECUTOR_COUNTS - 1, most - least) or 1
    return tuple(sorted({round(least + (most - least) * place / steps) for place in range(steps + 1)}))
