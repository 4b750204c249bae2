"""The K of MAPE-K: what the controller knows between two turns, as frozen values that survive it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.job import Limits
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.learnt import Learnt
from penstock.core.steering import MeanLoad, Steering

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """How the job should be. `None` for partitions: as the checkpoint has it."""

    executors: int
    triggers: Mapping[str, Trigger] = field(default_factory=dict)
    rate_limits_rows_per_s: Mapping[str, float | None] = field(default_factory=dict)
    partitions: Mapping[str, int | None] = field(default_factory=dict)

    def of(self, knob: str) -> object:
        """The value of a knob.

        >>> Desired(executors=2, rate_limits_rows_per_s={"counts": 500.0}).of("rate-limit:counts")
        500.0
        """
        kind, _, query = knob.partition(":")
        if kind == "executors":
            return self.executors
        by_query: Mapping[str, Mapping[str, object]] = {"trigger": self.triggers, "rate-limit": self.rate_limits_rows_per_s, "partitions": self.partitions}
        return by_query.get(kind, {}).get(query)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """An operator's value for one knob, and until when it is held."""

    knob: str
    value: str
    who: str
    until_s: float

    @property
    def query(self) -> str:
        """The query whose knob it is; empty for a knob of the whole job."""
        return self.knob.partition(":")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An instruction under way."""

    instruction: Instruction
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """`declared` is what the job file said when `desired` was formed: a changed file wins over what was remembered.

    `stuck_executors` is how many ran when a rescale failed. Surplus up to that number is left alone; only executors beyond it are dismissed automatically.
    `began_s` is when this run of the controller began, None where nobody said: until its first reading (`last`) it is blind since then.
    """

    declared: Desired
    desired: Desired
    holds: tuple[Hold, ...] = ()
    pending: tuple[Pending, ...] = ()
    next_number: int = 1
    missing_since_s: float | None = None
    missing_reported: bool = False
    stuck_executors: int = 0
    last: Reading | None = None
    began_s: float | None = None
    learnt: Learnt = field(default_factory=Learnt)
    steering: Steering = field(default_factory=Steering)

    @property
    def is_rescaling(self) -> bool:
        """Whether a change of executors is under way."""
        return any(pending.instruction.knob == "executors" for pending in self.pending)

    def steered_executors(self, mode: Mode) -> int:
        """The size that the policy steers: what is desired, or its own in shadow."""
        shadow = self.steering.shadow_executors if mode == "shadow" else None
        return self.desired.executors if shadow is None else shadow


def begin(declared: Desired, remembered: Knowledge | None, limits: Limits, at_s: float | None = None) -> Knowledge:
    """The knowledge a controller starts with: what an earlier one left, but for knobs whose declaration, or whose limits, have changed since.

    The load of the earlier run is left out: nothing is decided before this run has seen its own. So are recoveries under way, and how long a promise was
    broken: the time for which the job was gone is neither.
    """
    if remembered is None:
        return Knowledge(declared=declared, desired=declared, began_s=at_s)
    desired = still_desired(declared, remembered)
    desired = replace(desired, executors=min(max(desired.executors, limits.min_executors), limits.max_executors))
    held = still_held(desired, remembered)
    learnt, steering = remembered.learnt, remembered.steering
    told = learnt.rescale_number if steering.rescale is None else max(learnt.rescale_number, steering.rescale.number)
    return Knowledge(
        declared=declared,
        desired=desired,
        # Partitions that were changed are not desired any more: without state the query starts without them, and a hold would tell of a number it has not.
        holds=tuple(hold for hold in held if desired.of(hold.knob) is not None or not hold.knob.startswith("partitions:")),
        next_number=remembered.next_number,
        began_s=at_s,
        learnt=replace(learnt, health=learnt.health.undisturbed(), rescale_number=told),
        steering=replace(steering, load=MeanLoad(), fit_number=None, fit_asked_s=None, infeasible=(), doubted={}, broken_since_s=None),
    )


def with_executors(knowledge: Knowledge, executors: int) -> Knowledge:
    """Knowledge in which so many executors are desired; what was said about missing ones is forgotten."""
    desired = replace(knowledge.desired, executors=executors)
    return replace(knowledge, desired=desired, missing_since_s=None, missing_reported=False, stuck_executors=0)


def join(knowledge: Knowledge, query: str, trigger: Trigger, rate_limit_rows_per_s: float | None, remembered: Knowledge | None) -> Knowledge:
    """Knowledge of a job that one more query joins: as its owner declares it, unless an earlier controller left another wish for it."""
    declared = replace(knowledge.declared, triggers={query: trigger}, rate_limits_rows_per_s={query: rate_limit_rows_per_s}, partitions={query: None})
    known = knowledge if query in knowledge.declared.triggers else remembered
    desired = together(knowledge.desired, declared if known is None else still_desired(declared, known))
    others = tuple(hold for hold in knowledge.holds if hold.query != query)
    its_own = () if known is None else tuple(hold for hold in still_held(desired, known) if hold.query == query)
    return replace(knowledge, declared=together(knowledge.declared, declared), desired=desired, holds=(*others, *its_own))


def still_desired(declared: Desired, remembered: Knowledge) -> Desired:
    """What is declared, but what was desired wherever the declaration is the one of then."""
    before, then = remembered.declared, remembered.desired

    def kept(now: Mapping[str, T], was: Mapping[str, T], wanted: Mapping[str, T]) -> dict[str, T]:
        return {name: wanted[name] if name in wanted and was.get(name) == value else value for name, value in now.items()}

    return Desired(
        executors=then.executors if before.executors == declared.executors else declared.executors,
        triggers=kept(declared.triggers, before.triggers, then.triggers),
        rate_limits_rows_per_s=kept(declared.rate_limits_rows_per_s, before.rate_limits_rows_per_s, then.rate_limits_rows_per_s),
        partitions=kept(declared.partitions, before.partitions, then.partitions),
    )


def still_held(desired: Desired, remembered: Knowledge) -> tuple[Hold, ...]:
    """The holds whose value is still the desired one."""
    there = {"", *desired.triggers}
    return tuple(hold for hold in remembered.holds if hold.query in there and desired.of(hold.knob) == remembered.desired.of(hold.knob))


def together(job: Desired, query: Desired) -> Desired:
    """What is desired of a job, with what is desired of one of its queries."""
    return Desired(
        executors=job.executors,
        triggers={**job.triggers, **query.triggers},
        rate_limits_rows_per_s={**job.rate_limits_rows_per_s, **query.rate_limits_rows_per_s},
        partitions={**job.partitions, **query.partitions},
    )
