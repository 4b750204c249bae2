"""A policy by the rule of thumb, a plant with a load, and the loop between them: for tests of the plan, without models or threads."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from changes import scaled_to
from laws import filling

from penstock.core.domain.autopilot import Autopilot, Mode
from penstock.core.domain.command import Command
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.policy_memory import OwnMemory
from penstock.core.domain.reading import Quantiles
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Need, Policy
from penstock.core.knowledge.steering import Effects, Proposal, Proposals, Schedule, Trial, Trust
from penstock.core.knowledge.terms import Terms
from penstock.core.loop import Turn, turn
from penstock.runtime.fakes import FakeClock, FakePlant, blank_reading

LIMITS = Limits(min_executors=1, max_executors=8)
DECLARED = scaled_to(3)
PARTS: dict[str, type[Any]] = {"schedule": Schedule, "trust": Trust, "proposals": Proposals, "effects": Effects}


def assessed(at_s: float = 1000.0, current: int = 3, **known: Any) -> Assessment:
    """What a policy sees of a job of which nothing is known but what is given."""
    reading = blank_reading(at_s, executors_running=current, executors_requested=current)
    plain: dict[str, Any] = {"plant": "micro_batch", "reading": reading, "declared": DECLARED, "limits": LIMITS, "promises": Promises()}
    return Assessment(**{"at_s": at_s, "current": scaled_to(current), "cadence": filling(5.0), "uptime_s": 600.0, **plain, **known})


def wants(executors: int, current: int = 3, code: str = "smallest_that_holds", **more: Any) -> Decision:
    return Decision(policy="thumb", configuration=scaled_to(executors), current=scaled_to(current), why=Comparison(code=code), **more)


def knowing(mode: Mode = "active", *, executors: int = 3, decided: Decision | None = None, **known: Any) -> Knowledge:
    """Knowledge of a job that was declared with three executors.

    Fields of its schedule, trust, proposals and effects are given by their own names, its last decision as `decided`.
    """
    parts: dict[str, Any] = {}
    for part, kind in PARTS.items():
        parts[part] = kind(**{each.name: known.pop(each.name) for each in fields(kind) if each.name in known and each.name not in ("last", "next_number")})
    parts["schedule"] = replace(parts["schedule"], mode=mode, last=decided)
    return Knowledge(declared=DECLARED, desired=scaled_to(executors), **{**parts, **known})


def terms(mode: Mode = "active", *, latency_p95_s: float | None = None, recovery_s: float | None = None, **autopilot: Any) -> Terms:
    promises = Promises(latency_p95_s=latency_p95_s, recovery_s=recovery_s)
    return Terms(limits=LIMITS, promises=promises, autopilot=Autopilot(mode=mode, **autopilot))


def proposing(executors: int = 5, *, before: int = 3, **more: Any) -> Proposal:
    usual: dict[str, Any] = {"number": 7, "decision_id": 4, "at_s": 0.0, "expires_s": 600.0, "policy": "thumb"}
    return Proposal(configuration=scaled_to(executors), before=scaled_to(before), **{**usual, **more})


def trying(before: int, after: int, throughput: float, since_s: float, decision_id: int = 1) -> Trial:
    return Trial(decision_id=decision_id, before=scaled_to(before), after=scaled_to(after), throughput_before_rows_per_s=throughput, since_s=since_s)


def of(kind: type[Event], events: Iterable[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def late(p95_s: float) -> Quantiles:
    return Quantiles(p50_s=p95_s / 2, p95_s=p95_s, p99_s=2 * p95_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thumb:
    """An executor for every hundred rows/s that arrive, up to a thousand, beyond which it is at a loss; its memory counts its decisions."""

    name: str = "thumb"
    period_s: float = 30.0
    needs: frozenset[Need] = frozenset()
    faithful: bool = True

    def decide(self, seen: Assessment) -> Decision:
        rate = seen.reading.arrival_rows_per_s
        if rate is None or rate > 1000:
            raise ValueError("no thumb is as long")
        executors = min(max(round(rate / 100), seen.limits.min_executors), seen.limits.max_executors)
        before = seen.memory.numbers["decisions"] if isinstance(seen.memory, OwnMemory) else 0.0
        wanted, memory = replace(seen.current, executors=executors), OwnMemory(numbers={"decisions": before + 1})
        return Decision(policy=self.name, configuration=wanted, current=seen.current, why=Comparison(code="capacity_below_load"), memory=memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed(Thumb):
    """Wants one configuration, whatever is seen; `more` are fields of its decisions."""

    wanted: Configuration
    more: Mapping[str, Any] = field(default_factory=dict)
    knobs: frozenset[str] = frozenset({"executors"})

    def decide(self, seen: Assessment) -> Decision:
        why = Comparison(code="smallest_that_holds")
        return Decision(policy=self.name, configuration=self.wanted.over(seen.current), current=seen.current, why=why, **self.more)


@dataclass(kw_only=True)
class Play:
    """A plant and the loop, without threads: every outcome is an input of the next turn. `known` is what the readings say besides executors."""

    terms: Terms
    policy: Policy | None = field(default_factory=Thumb)
    known: Mapping[str, Any] = field(default_factory=lambda: {"arrival_rows_per_s": 300.0})
    knowledge: Knowledge = field(default_factory=lambda: Knowledge(declared=DECLARED, desired=DECLARED))
    blind: bool = False

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        desired = self.knowledge.desired
        self.plant = FakePlant(self.clock, executors=desired.executors, triggers={name: query.trigger for name, query in desired.queries.items()})
        self.outcomes: list[Outcome] = []
        self.inputs: list[Inputs] = []
        self.turns: list[Turn] = []

    def turn(self, *commands: Command, waited_s: float = 5.0) -> Turn:
        self.clock.wait(waited_s)
        outcomes = tuple(self.outcomes)
        self.outcomes.clear()
        reading = None if self.blind else replace(self.plant.read(), **self.known)
        self.inputs.append(Inputs(at_s=self.clock.now_s(), reading=reading, outcomes=outcomes, commands=commands))
        done = turn(self.knowledge, self.inputs[-1], self.terms, self.policy)
        self.knowledge = done.knowledge
        self.turns.append(done)
        for instruction in done.instructions:
            self.plant.perform(instruction, self.outcomes.append)
        return done

    @property
    def requested(self) -> list[int]:
        """The numbers of executors that were asked for."""
        return [each.change.executors[1] for each in self.plant.performed if each.change.executors is not None]

    def pass_s(self, seconds: float) -> list[Event]:
        return [event for _ in range(round(seconds / 5.0)) for event in self.turn().events]

    def arrive(self, rows_per_s: float) -> None:
        self.known = {**self.known, "arrival_rows_per_s": rows_per_s}
