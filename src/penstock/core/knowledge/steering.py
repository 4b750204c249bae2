"""What is remembered between two turns besides models and readings: the schedule, trust, proposals, effects of scaling, fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.configuration import Change, Configuration, difference
from penstock.core.domain.decision import Decision, Recommended, asked_policy
from penstock.core.domain.policy_memory import PolicyMemory
from penstock.core.domain.reading import Reading
from penstock.core.models.forecast.forecast import Forecast

LAST_ERRORS = 5
"""Errors of capacity and recovery that are kept, and that a roll-back looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanLoad:
    """The mean arrival rate since the last decision.

    >>> MeanLoad().with_rate(10.0).with_rate(20.0).mean_rows_per_s
    15.0
    """

    count: int = 0
    mean_rows_per_s: float = 0.0

    def with_rate(self, rows_per_s: float) -> MeanLoad:
        return MeanLoad(count=self.count + 1, mean_rows_per_s=self.mean_rows_per_s + (rows_per_s - self.mean_rows_per_s) / (self.count + 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When the policy decides, what it decided last, and what it remembers.

    `last` is the last decision, `last_id` its id. `rescaled_s` is what the policy's timers run from: in shadow its own changes, else those of the job.
    `loads` are means since the last decision by query. `shadow` is what the policy would have in shadow: its executors, and the knobs that differ from
    what is desired. `said_s` is when a decision was last recorded. After a failure the analyze phase rests until `analyze_from_s`.
    """

    mode: Mode = "observe"
    decided_s: float | None = None
    next_s: float | None = None
    said_s: float | None = None
    rescaled_s: float | None = None
    analyze_from_s: float | None = None
    last: Decision | None = None
    last_id: int | None = None
    next_id: int = 1
    earlier: tuple[Recommended, ...] = ()
    memory: PolicyMemory | None = None
    loads: Mapping[str, MeanLoad] = field(default_factory=dict)
    shadow: Change | None = None

    def with_arrivals(self, reading: Reading) -> Schedule:
        """Return the schedule with the arrival rates of one more reading; a reading in which one of them is unknown is ignored."""
        if reading.arrival_rows_per_s is None:
            return self
        rates = {query.name: query.arrival_rows_per_s for query in reading.active if query.arrival_rows_per_s is not None}
        known = rates or {"": reading.arrival_rows_per_s}
        return replace(self, loads={name: self.loads.get(name, MeanLoad()).with_rate(rate) for name, rate in known.items()})

    def afresh(self, at_s: float, configuration: Configuration) -> Schedule:
        """Return the schedule of a policy that resumes: it decides at once, from the load measured from now on.

        The present configuration counts as recommended, so that its first decision does not remove executors.
        """
        recommended = Recommended(at_s=at_s, configuration=configuration)
        return replace(self, next_s=None, analyze_from_s=None, loads={}, memory=None, earlier=(*self.earlier, recommended))

    def decider(self, asked: str) -> str:
        """Return the policy that decided last, by its whole name ("auto:daedalus"); the one that is asked if it has not decided yet."""
        return asked if self.last is None or asked_policy(self.last.policy) != asked else self.last.policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """The policy decides nothing; `until_s` None is "until it is resumed"."""

    who: str
    since_s: float
    until_s: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What counts for and against the policy.

    `own_scale_down_s` is when the policy itself last reduced the executors or moved another knob. `broken_since_s` is when the latency rose above its
    promise, `broken_said_s` when that was last reported, `broken_s` are the times at which promises broke soon after such a change. `errors` are the last
    relative errors of its predictions of capacity and recovery. `infeasible` are the targets reported as out of reach; `doubted` counts how often
    in a row a target was found otherwise than reported.
    """

    paused: Paused | None = None
    own_scale_down_s: float | None = None
    broken_since_s: float | None = None
    broken_said_s: float | None = None
    broken_s: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    failed_in_a_row: int = 0
    infeasible: tuple[str, ...] = ()
    doubted: Mapping[str, int] = field(default_factory=dict)

    def unblamed(self) -> Trust:
        """Return trust without what counts against the policy: for another policy, or after a roll-back."""
        return replace(self, own_scale_down_s=None, broken_s=(), errors=(), failed_in_a_row=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A configuration that waits for an operator's answer until `expires_s`; one that was rejected is not proposed again until then.

    `before` is the configuration that it changes. `guarded`: the shared guards were on, so its effect is watched.
    """

    number: int
    decision_id: int
    configuration: Configuration
    before: Configuration
    at_s: float
    expires_s: float
    policy: str
    guarded: bool = False

    @property
    def change(self) -> Change:
        return difference(self.before, self.configuration)

    def on(self, configuration: Configuration) -> Configuration:
        """Return a configuration with the values that this proposal moves knobs to; its other knobs may have changed since."""
        return self.change.on(configuration)

    def wants(self, change: Change) -> bool:
        """Return whether a change moves the knobs of this proposal, and no others, to the same values."""
        return {move.address: move.after for move in self.change.moves} == {move.address: move.after for move in change.moves}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposals:
    """The open proposal, and those that were rejected."""

    open: Proposal | None = None
    rejected: tuple[Proposal, ...] = ()
    next_number: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A scale-up in overload whose effect is watched."""

    decision_id: int | None
    before: Configuration
    after: Configuration
    throughput_before_rows_per_s: float
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """More executors than in this configuration had no effect."""

    configuration: Configuration
    until_s: float
    bottleneck: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    trial: Trial | None = None
    blocked: Blocked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A change that was instructed, known by the number of its instruction."""

    number: int
    decision_id: int | None
    change: Change
    at_s: float

    @property
    def cause(self) -> str:
        """The identity of the disturbance that it is."""
        return f"instruction {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """The slow fit that is awaited, None if none is."""

    number: int | None = None
    asked_s: float | None = None
    next_number: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The forecast in use and when it was made."""

    forecast: Forecast | None = None
    made_s: float | None = None
