"""Guards that production people expect, in one visible chain: those that all policies share, then the owner's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.core.assessment import Assessment
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Decision
from penstock.core.plan.owner import Allowed, moved, owner_allows
from penstock.core.policies.policy import Policy
from penstock.core.steering import Steering


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """What guards look at besides the assessment; the shared ones only guard where `on`."""

    autopilot: Autopilot
    steering: Steering
    on: bool


Guard = Callable[[Assessment, Decision, Guarding], Decision]


def guards_on(autopilot: Autopilot, policy: Policy) -> bool:
    """Whether the shared guards are on: as the owner says, else unless the policy is to be faithful to a paper."""
    return not policy.faithful if autopilot.guards == "auto" else autopilot.guards == "on"


def guarded(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """The decision that is left of a policy's own; every guard that changed it is in it."""
    for guard in SHARED if guarding.on else ():
        decision = guard(seen, decision, guarding)
    return owner_allows(decision, Allowed(autopilot=guarding.autopilot, limits=seen.limits, at_s=seen.at_s))


def slower_down(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Never shrink below the largest size recommended within `down_stable_s`, and do not shrink at all within that time after a scale-up."""
    if decision.direction != "down":
        return decision
    since_s = seen.at_s - guarding.autopilot.scaled(guarding.autopilot.down_stable_s)
    rescale = guarding.steering.rescale
    risen = guarding.autopilot.mode != "shadow" and rescale is not None and rescale.after > rescale.before and rescale.at_s > since_s
    recommended = max((each.executors for each in seen.earlier if each.at_s > since_s), default=decision.executors)
    least = decision.current if risen else min(decision.current, max(decision.executors, recommended))
    return moved(decision, least, "slower_down", limit=float(least))


def keep_latency(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Up to the first size that is predicted to keep the promised latency, if there is one."""
    promised_s, predicted = seen.promises.latency_p95_s, seen.latencies.get(decision.executors)
    if promised_s is None or predicted is None or predicted.value <= promised_s:
        return decision
    enough = (size for size in seen.sizes if size > decision.executors and size in seen.latencies and seen.latencies[size].value <= promised_s)
    return moved(decision, next(enough, decision.executors), "latency", value=predicted.value, limit=promised_s)


def effective_only(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """No more executors than a size beyond which more have just brought nothing."""
    blocked = guarding.steering.blocked
    if blocked is None or seen.at_s >= blocked.until_s or decision.direction != "up":
        return decision
    most = max(decision.current, blocked.executors)
    return moved(decision, min(decision.executors, most), "ineffective", limit=float(blocked.executors))


SHARED: tuple[Guard, ...] = (slower_down, keep_latency, effective_only)
