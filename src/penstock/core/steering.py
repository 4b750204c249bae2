"""What the autopilot keeps in mind between two turns, besides what it learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.decision import Decision, Recommended, asked_policy
from penstock.core.domain.prediction import Prediction
from penstock.core.models.forecast.forecast import Forecast

LAST_ERRORS = 5
"""Errors of capacity and recovery that are kept, and that a roll-back looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A size that waits for an operator's word until `expires_s`; one that was rejected is not proposed again until then.

    `before` is the size it was to change, None in histories from before it was kept. `guarded`: it was made with the shared guards on, so that its effect
    is watched.
    """

    number: int
    executors: int
    at_s: float
    expires_s: float
    policy: str
    guarded: bool = False
    before: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Nothing is decided; `until_s` None is "until somebody resumes"."""

    who: str
    since_s: float
    until_s: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A scale-up in overload, whose effect is watched."""

    before: int
    after: int
    throughput_before_rows_per_s: float
    since_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """More executors than these brought nothing."""

    executors: int
    until_s: float
    bottleneck: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescale:
    """The rescale under way, or the last one; `number` is that of its instruction."""

    number: int
    before: int
    after: int
    at_s: float


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
class Steering:
    """Timers, the last decision, the proposal that waits for an answer, and the predictions that wait to be graded.

    `own_scale_down_s` is when the policy itself last reduced the executors. `broken_since_s` is when the latency rose above its promise, `broken_said_s`
    when that was last said, and `broken_s` are the times at which promises broke soon after a scale-down of its own. `graded` are the last relative errors
    of capacity and recovery. `infeasible` are the targets that were said to be out of reach, and `doubted` counts how often in a row a target was found
    otherwise than was last said. `said_s` is when a decision was last written down. After a failure the analyze phase rests until `analyze_from_s`.
    """

    mode: Mode = "observe"
    decided_s: float | None = None
    next_s: float | None = None
    rescaled_s: float | None = None
    rescale: Rescale | None = None
    own_scale_down_s: float | None = None
    load: MeanLoad = MeanLoad()
    forecast: Forecast | None = None
    forecast_s: float | None = None
    last: Decision | None = None
    earlier: tuple[Recommended, ...] = ()
    memo: Mapping[str, float] = field(default_factory=dict)
    shadow_executors: int | None = None
    proposal: Proposal | None = None
    rejections: tuple[Proposal, ...] = ()
    paused: Paused | None = None
    trial: Trial | None = None
    blocked: Blocked | None = None
    broken_since_s: float | None = None
    broken_said_s: float | None = None
    broken_s: tuple[float, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    graded: tuple[float, ...] = ()
    infeasible: tuple[str, ...] = ()
    doubted: Mapping[str, int] = field(default_factory=dict)
    next_proposal: int = 1
    said_s: float | None = None
    failed_in_a_row: int = 0
    analyze_from_s: float | None = None
    fit_number: int | None = None
    fit_asked_s: float | None = None
    next_fit: int = 1

    def unblamed(self) -> Steering:
        """Without what spoke against the policy: it is another one, or begins anew."""
        return replace(self, own_scale_down_s=None, broken_s=(), graded=(), failed_in_a_row=0)

    def afresh(self, at_s: float, executors: int) -> Steering:
        """For a policy that was not asked for a while: it decides at once, by what comes from now on.

        The size of now counts as recommended, so that the first thing it does is not to give executors away.
        """
        return replace(self, next_s=None, analyze_from_s=None, load=MeanLoad(), memo={}, earlier=(*self.earlier, Recommended(at_s=at_s, executors=executors)))

    def decider(self, asked: str) -> str:
        """The policy that decided last, by its whole name ("auto:daedalus"); the one that is asked as long as none did, or only another one."""
        return asked if self.last is None or asked_policy(self.last.policy) != asked else self.last.policy
