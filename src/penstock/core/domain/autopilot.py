"""What the owner lets the autopilot do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.core.domain.hours import Hours
from penstock.core.settings import setting, timer

Mode = Literal["observe", "shadow", "ask", "active"]
Only = Literal["both", "up", "down"]
Guards = Literal["auto", "on", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """A known event: at least so many executors then, and from `lead_s` before; weekly by `hours`, or once from/until (seconds since 1970)."""

    name: str
    min_executors: int
    hours: tuple[Hours, ...] = ()
    from_s: float | None = None
    until_s: float | None = None
    lead_s: float = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Autopilot:
    """The `[autopilot]` table of a job file; None is "not said".

    `time_scale` is below 1 where the job's days are shorter than real ones (a demonstration, a compressed trace): all timers shrink by it.
    `guards`: "auto" turns the shared ones on unless the policy is to be faithful to a paper. `executor_cpu_cores` is what counts as one whole
    executor where utilisation is CPU. `downtime_s` is what a stop takes until one was seen, `downtimes_s` the same by kind of disturbance where that is
    known (of a simulated engine it is), `detection_s` what passes before an executor that froze counts as lost. `rollback` is False where policies are
    compared as they are, for better or worse.
    """

    mode: Mode = "observe"
    policy: str = "auto"
    parameters: Mapping[str, float] = field(default_factory=dict)
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
    ask_expiry_s: float = timer(600.0, "a proposal nobody answered is dropped")
    ask_quiet_s: float = timer(600.0, "a size that was rejected is not proposed again for so long")
    down_stable_s: float = timer(300.0, "fewer executors only down to the most that was recommended within so long")
    broken_after_s: float = timer(60.0, "a latency above its promise for so long is a broken promise")
    rollback_broken: int = setting(3, "so many broken promises within an hour of an own scale-down are a roll-back", lowest=1, highest=1000)
    rollback_s: float = timer(3600.0, "after a roll-back the policy pauses for so long")
    blind_s: float = timer(120.0, "without a reading for so long the size is rolled back")

    def scaled(self, seconds: float) -> float:
        """A time of the real day in this job's time.

        >>> Autopilot(time_scale=0.1).scaled(60.0)
        6.0
        """
        return self.time_scale * seconds
