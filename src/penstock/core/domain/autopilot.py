"""What the owner allows the autopilot to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from penstock.core.domain.hours import Hours
from penstock.core.settings import setting, timer

Mode = Literal["observe", "shadow", "ask", "active"]
Only = Literal["both", "up", "down"]
Guards = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A known event: at least `min_executors` during it and from `lead_s` before; weekly by `hours`, or once from/until (seconds since 1970)."""

    name: str
    min_executors: int
    hours: tuple[Hours, ...] = ()
    from_s: float | None = None
    until_s: float | None = None
    lead_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Autopilot:
    """The `[autopilot]` table of a job file; None is "not set".

    `time_scale` is below 1 where the job's days are shorter than real ones (a demonstration, a compressed trace): all timers shrink by it.
    `guards`: "auto" turns the shared ones on unless the policy is to be faithful to a paper. `executor_cpu_cores` is what counts as one whole
    executor where utilisation is CPU. `downtime_s` is that of a stop until one is measured, `downtimes_s` the same by kind of disturbance where that is
    known (of a simulated engine it is), `detection_s` the time until a frozen executor counts as lost. `rollback` is False where policies are
    compared without roll-backs.
    """

    mode: Mode = "observe"
    policy: str = "auto"
    parameters: Mapping[str, float | bool] = field(default_factory=dict)
    only: Only = "both"
    max_step: int | None = None
    quota_executors: int | None = None
    hours: tuple[Hours, ...] = ()
    exclude: tuple[Hours, ...] = ()
    calendar: tuple[Floor, ...] = ()
    guards: Guards = "auto"
    downtime_s: float | None = None
    downtimes_s: Mapping[str, float] = field(default_factory=dict)
    detection_s: float = 0.0
    executor_cpu_cores: float | None = None
    fallback_executors: int | None = None
    rollback: bool = True
    time_scale: float = setting(1.0, "all timers of the autopilot are multiplied by this", lowest=0.001, highest=1)
    ask_expiry_s: float = timer(600.0, "an unanswered proposal is dropped after this time")
    ask_quiet_s: float = timer(600.0, "a rejected proposal is not made again for this time")
    down_stable_s: float = timer(300.0, "executors are reduced only to the most that was recommended within this time")
    broken_after_s: float = timer(60.0, "a latency above its promise for this time is a broken promise")
    shadow_s: float = timer(21600.0, "time in shadow before `penstock readiness` calls a policy ready", highest=30 * 86400)
    settled_s: float = timer(120.0, "a scale-up in overload is judged when it has stood for this time")
    least_gain: float = setting(0.1, "a scale-up is effective from this share of the throughput that proportional growth would add", lowest=0, highest=1)
    blocked_s: float = timer(1800.0, "after an ineffective scale-up more executors are blocked for this time")
    rollback_broken: int = setting(3, "broken promises within an hour of a scale-down or moved knob of the policy that are a roll-back", lowest=1, highest=1000)
    rollback_error: float = setting(1.0, "a mean relative error of the last predictions above this is a roll-back", lowest=0.01, highest=100)
    rollback_s: float = timer(3600.0, "after a roll-back the policy pauses for this time")
    blind_s: float = timer(120.0, "without a reading for this time the policy is rolled back")

    def scaled(self, seconds: float) -> float:
        """Return a duration multiplied by `time_scale`.

        >>> Autopilot(time_scale=0.1).scaled(60.0)
        6.0
        """
        return self.time_scale * seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A policy by its name, with its parameters."""

    name: str
    parameters: Mapping[str, float | bool] = field(default_factory=dict)

    def on(self, autopilot: Autopilot) -> Autopilot:
        """Return the autopilot with this policy in force."""
        return replace(autopilot, mode="active", policy=self.name, parameters=self.parameters)
