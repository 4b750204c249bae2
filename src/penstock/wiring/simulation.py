"""A simulated job under the controller that steers real ones: the same loop, the same policies, another plant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Decision
from penstock.core.domain.disturbance import FAILURES
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need, Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.policies.registry import POLICIES, PROFILED, policy_of
from penstock.core.report.run_report import RunReport
from penstock.profiling.procedure import Profiled
from penstock.runtime.controller import Controller
from penstock.runtime.fitter import InlineFitter
from penstock.simulator.exact_report import exact_report
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.in_memory import MemoryStore
from penstock.wiring.setup import Setup, engine_of, noticed_after_s, profiled

Progress = Callable[[float, float], None]
"""Told how many seconds of how many are simulated."""
TOLD_EVERY = 20
"""Turns: a bar that moves more often costs more than it tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One that struck: what was predicted of its recovery when it was noticed, and how long that took; None: nothing, and not by the end."""

    at_s: float
    predicted_s: float | None
    measured_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulated:
    """A run: how it went, and all that happened in it. `profiling_worker_seconds` were spent before it began.

    `queries` tells how each query of a graph went; a job of one query has none.
    """

    policy: str
    setup: Setup
    report: RunReport
    failures: tuple[Failure, ...]
    record: Record
    events: tuple[Event, ...]
    readings: tuple[Reading, ...] = ()
    profiling_worker_seconds: float | None = None
    queries: Mapping[str, RunReport] = field(default_factory=dict)


def simulate(setup: Setup, progress: Progress = lambda done_s, total_s: None) -> Simulated:
    """The whole load under the policy of the terms; a policy that needs a profile and has none gets one first, on a testbed of the same engine."""
    return simulate_all(setup, (setup.terms.autopilot.policy,), progress)[0]


def simulate_all(setup: Setup, policies: Sequence[str] = tuple(POLICIES), progress: Progress = lambda done_s, total_s: None) -> tuple[Simulated, ...]:
    """The same load under several policies, one after another; where a profile is needed it is made once. Parameters are those of the terms' own policy."""
    length_s = setup.load.last_s - setup.load.time_s[0]
    made: Profiled | None = None
    found: list[Simulated] = []
    for name in policies:
        own = setup.terms.autopilot
        autopilot = own if name == own.policy else replace(own, policy=name, parameters={})
        one = replace(setup, terms=replace(setup.terms, autopilot=autopilot))
        if name in PROFILED and not setup.terms.profile:
            made = made or profiled(setup)
            one = replace(one, terms=replace(one.terms, profile=made.rows))
        ran = run(one, onwards(progress, len(found) * length_s, len(policies) * length_s))
        found.append(replace(ran, profiling_worker_seconds=made.worker_seconds) if made and one.terms.profile == made.rows else ran)
    return tuple(found)


def onwards(progress: Progress, before_s: float, total_s: float) -> Callable[[float], None]:
    """Progress of one run among several."""
    return lambda done_s: progress(before_s + done_s, total_s)


def run(setup: Setup, progress: Callable[[float], None]) -> Simulated:
    """Turn the loop at every reading from the first to the last moment of the load; the first comes as soon as there is one."""
    terms, start_s, end_s = of_one_core(setup.terms), setup.load.time_s[0], setup.load.last_s
    policy = policy_of(terms)
    clock = SimulatedClock(start_s)
    engine = engine_of(setup, terms.limits.first, Load.of(setup.load, start_s), setup.faults)
    plant = SimulatedPlant(engine, clock, terms.config)
    memory = MemoryStore()
    controller = Controller(
        source=plant, actuator=plant, memory=memory, clock=clock, terms=terms, declared=Configuration(executors=terms.limits.first), fitter=InlineFitter(),
        policy=Foretelling(policy=policy) if setup.faults and not policy.needs >= FORETELLS else policy,
    )  # fmt: skip
    foretold: dict[float, Prediction] = {}
    wait_s = min(terms.config.reading_interval_s, terms.config.reading_window_s)
    while clock.now_s() < end_s:
        clock.wait(min(wait_s, end_s - clock.now_s()))
        wait_s = terms.config.reading_interval_s
        plant.advance()
        controller.step()
        for each in controller.knowledge.predictions:
            if each.kind == "recovery" and each.about in FAILURES:
                foretold.setdefault(each.made_s, each)
        if len(memory.readings) % TOLD_EVERY == 0 or clock.now_s() >= end_s:
            progress(clock.now_s() - start_s)
    controller.close()
    record = engine.record
    return Simulated(
        policy=terms.autopilot.policy,
        setup=setup,
        report=exact_report(record, terms.promises, start_s),
        failures=failures_of(setup.engine, record, sorted(foretold.values(), key=lambda each: each.made_s)),
        record=record,
        events=tuple(memory.events),
        readings=tuple(memory.readings),
        queries={name: exact_report(each, terms.promises, start_s) for name, each in engine.records.items()} if isinstance(setup.engine, QueryGraph) else {},
    )


def of_one_core(terms: Terms) -> Terms:
    """A simulated worker takes one core when it works all the time, whatever counted as a whole executor of the job that it is like."""
    return replace(terms, autopilot=replace(terms.autopilot, executor_cpu_cores=None))


def failures_of(engine: Simulable, record: Record, foretold: Sequence[Prediction]) -> tuple[Failure, ...]:
    """Each failure with the first prediction that was made of it, after it was noticed and before the next one was, both counted from when it struck."""
    late_s = [noticed_after_s(engine, each.kind) for each in record.struck]
    noticed_s = [each.at_s + waited_s for each, waited_s in zip(record.struck, late_s, strict=True)]
    return tuple(
        Failure(
            at_s=struck.at_s,
            predicted_s=next((waited_s + each.value for each in foretold if from_s <= each.made_s < until_s), None),
            measured_s=struck.recovery_s,
        )
        for struck, waited_s, from_s, until_s in zip(record.struck, late_s, noticed_s, [*noticed_s, math.inf][1:], strict=True)
    )


FORETELLS: frozenset[Need] = frozenset({"load", "capacity"})
"""What must be learnt for a recovery to be foretold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretelling:
    """Decides exactly as `policy` does, but has the load and the capacity learnt too, so that recoveries can be predicted."""

    policy: Policy

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def period_s(self) -> float:
        return self.policy.period_s

    @property
    def needs(self) -> frozenset[Need]:
        return self.policy.needs | FORETELLS

    @property
    def faithful(self) -> bool:
        return self.policy.faithful

    def decide(self, seen: Assessment) -> Decision:
        return self.policy.decide(seen)
