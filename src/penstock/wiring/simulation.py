"""A simulated job under the controller that steers real ones: the same loop, the same policies, another plant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Decision
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Need, Policy, predicted_by
from penstock.core.knowledge.terms import Terms
from penstock.core.policies.registry import POLICIES, PROFILED, labelled, policy_of
from penstock.core.report.run_report import RunReport
from penstock.profiling.procedure import Profiled
from penstock.runtime.controller import Controller
from penstock.runtime.fitter import InlineFitter
from penstock.simulator.engine import Engine
from penstock.simulator.exact_report import exact_report
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.in_memory import MemoryStore
from penstock.wiring.setup import Setup, declared_of, engine_of, noticed_after_s, profiled

Progress = Callable[[float, float], None]
"""Called with the seconds simulated so far and in all."""
PROGRESS_EVERY_TURNS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failure with its predicted and its measured recovery time; None if nothing was predicted, or the job had not recovered by the end."""

    at_s: float
    predicted_s: float | None
    measured_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Simulated:
    """A simulated run. `profiling_executor_s` were spent before it began; `queries` has the report of each query of a graph."""

    policy: str
    setup: Setup
    report: RunReport
    failures: tuple[Failure, ...]
    record: Record
    events: tuple[Event, ...]
    readings: tuple[Reading, ...] = ()
    profiling_executor_s: float | None = None
    queries: Mapping[str, RunReport] = field(default_factory=dict)


def simulate(setup: Setup, progress: Progress = lambda done_s, total_s: None) -> Simulated:
    """Run the whole load under the policy of the terms; a policy that needs a profile and has none gets one first, on a testbed of the same engine."""
    return simulate_all(setup, (setup.terms.autopilot.policy,), progress)[0]


def simulate_all(setup: Setup, policies: Sequence[str] = tuple(POLICIES), progress: Progress = lambda done_s, total_s: None) -> tuple[Simulated, ...]:
    """Run the same load under several policies, one after another; a profile is made once. Policies come as labels, or by the name that the terms have."""
    length_s = setup.load.last_s - setup.load.time_s[0]
    made: Profiled | None = None
    found: list[Simulated] = []
    for label in policies:
        own = setup.terms.autopilot
        autopilot = own if label == own.policy else labelled(label).on(own)
        one = replace(setup, terms=replace(setup.terms, autopilot=autopilot))
        if autopilot.policy in PROFILED and not setup.terms.profile:
            made = made or profiled(setup)
            one = replace(one, terms=replace(one.terms, profile=made.rows))
        ran = run(one, onwards(progress, len(found) * length_s, len(policies) * length_s))
        spent_s = made.executor_s if made and one.terms.profile == made.rows else None
        found.append(replace(ran, policy=label, profiling_executor_s=spent_s))
    return tuple(found)


def onwards(progress: Progress, before_s: float, total_s: float) -> Callable[[float], None]:
    """Return the progress function of one run among several."""
    return lambda done_s: progress(before_s + done_s, total_s)


def run(setup: Setup, progress: Callable[[float], None]) -> Simulated:
    """Turn the loop at every reading interval, from the first to the last moment of the load; the first reading comes as soon as its window allows."""
    terms, start_s, end_s = of_one_core(setup.terms), setup.load.time_s[0], setup.load.last_s
    policy = policy_of(terms)
    clock = SimulatedClock(start_s)
    declared = declared_of(setup)
    engine = engine_of(setup, declared, Load.of(setup.load, start_s), setup.faults)
    plant = SimulatedPlant(engine, clock, terms.config, terms.promises)
    memory = MemoryStore()
    controller = Controller(
        source=plant, actuator=plant, memory=memory, clock=clock, terms=terms, declared=declared, fitter=InlineFitter(),
        policy=RecoveryPredicting(policy=policy) if setup.faults and policy.needs.isdisjoint(OWN_MODELS) else policy,
    )  # fmt: skip
    predicted, causes = dict[str, Prediction](), dict[int, str]()
    wait_s = min(terms.config.reading_interval_s, terms.config.reading_window_s)
    while clock.now_s() < end_s:
        clock.wait(min(wait_s, end_s - clock.now_s()))
        wait_s = terms.config.reading_interval_s
        plant.advance()
        noticed = controller.knowledge.learnt.failure_number
        controller.step()
        if (number := controller.knowledge.learnt.failure_number) > noticed:
            causes |= dict.fromkeys(newly_noticed(setup.engine, engine, causes, clock.now_s()), f"failure {number}")
        predicted |= {each.cause: each for each in controller.knowledge.predictions if each.kind == "recovery" and each.cause}
        if len(memory.readings) % PROGRESS_EVERY_TURNS == 0 or clock.now_s() >= end_s:
            progress(clock.now_s() - start_s)
    controller.close()
    record = engine.record
    return Simulated(
        policy=terms.autopilot.policy,
        setup=setup,
        report=exact_report(record, terms.promises, start_s),
        failures=failures_of(setup.engine, record, causes, predicted),
        record=record,
        events=tuple(memory.events),
        readings=tuple(memory.readings),
        queries={name: exact_report(each, terms.promises, start_s) for name, each in engine.records.items()} if isinstance(setup.engine, QueryGraph) else {},
    )


def of_one_core(terms: Terms) -> Terms:
    """Return the terms of a simulated job, in which an executor that is always busy takes one core."""
    return replace(terms, autopilot=replace(terms.autopilot, executor_cpu_cores=None))


def newly_noticed(settings: Simulable, engine: Engine, causes: Mapping[int, str], now_s: float) -> list[int]:
    """Return the places of the faults that readings count by now and that have no cause yet."""
    struck = next(iter(engine.records.values())).struck
    return [place for place, each in enumerate(struck) if place not in causes and each.at_s + noticed_after_s(settings, each.kind) <= now_s]


def failures_of(settings: Simulable, record: Record, causes: Mapping[int, str], predicted: Mapping[str, Prediction]) -> tuple[Failure, ...]:
    """Return each failure with the prediction of its cause; times count from the failure."""
    made = [predicted.get(causes.get(place, "")) for place in range(len(record.struck))]
    return tuple(
        Failure(at_s=struck.at_s, predicted_s=None if each is None else noticed_after_s(settings, struck.kind) + each.value, measured_s=struck.recovery_s)
        for struck, each in zip(record.struck, made, strict=True)
    )


OWN_MODELS: frozenset[Need] = frozenset({"capacity", "profile"})
"""A policy that asks for one of these has a model of its own, by which a recovery is predicted."""
RECOVERY_NEEDS: frozenset[Need] = frozenset({"load", "capacity"})
"""What must be learnt before a recovery can be predicted for one without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPredicting:
    """Decide exactly as `policy` does, but also learn the load and the capacity, so that recoveries can be predicted."""

    policy: Policy

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def period_s(self) -> float:
        return self.policy.period_s

    @property
    def needs(self) -> frozenset[Need]:
        return self.policy.needs | RECOVERY_NEEDS

    @property
    def faithful(self) -> bool:
        return self.policy.faithful

    def decide(self, seen: Assessment) -> Decision:
        return self.policy.decide(seen)

    def predict(self, seen: Assessment, configuration: Configuration, decider: str) -> tuple[Prediction, ...]:
        return predicted_by(self.policy, seen, configuration, decider)
