"""Guards in one visible chain: those that all policies share, then the owner's."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.reading import QueryReading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.steering import Applied, Effects
from penstock.core.plan.owner import Allowed, moved, owner_allows


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarding:
    """What guards look at besides the assessment; the shared ones only guard where `on`."""

    autopilot: Autopilot
    on: bool
    rescale: Applied | None = None
    effects: Effects = field(default_factory=Effects)


Guard = Callable[[Assessment, Decision, Guarding], Decision]


def guards_on(autopilot: Autopilot, policy: Policy) -> bool:
    """Return whether the shared guards are on: as the owner says, else unless the policy is faithful to a paper."""
    return not policy.faithful if autopilot.guards == "auto" else autopilot.guards == "on"


def guarded(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Return the decision after all guards; it lists every guard that changed it."""
    decision = known_lag(seen, able(seen, decision))
    for guard in SHARED if guarding.on else ():
        decision = guard(seen, decision, guarding)
    return owner_allows(decision, Allowed(autopilot=guarding.autopilot, limits=seen.limits, at_s=seen.at_s))


def able(seen: Assessment, decision: Decision) -> Decision:
    """Keep the values of knobs that cannot be set on this job."""
    fixed = {"": seen.reading.unable, **{query.name: query.unable for query in seen.reading.queries}}
    for move in decision.change.moves:
        if move.knob in fixed.get(move.query, {}):
            why = Comparison(code="unable", says=f"{move.address} cannot be set: {fixed[move.query][move.knob]}")
            decision = replace(decision, configuration=decision.configuration.having(move.address, move.before), guards=(*decision.guards, why))
    return decision


def known_lag(seen: Assessment, decision: Decision) -> Decision:
    """Never shrink while it is not known how many rows wait: unknown is not zero. A restarted job may be far behind before its first commit.

    The policy is asked again at the next reading.
    """
    if decision.direction != "down" or all(has_known_lag(query) for query in seen.reading.active):
        return decision
    return replace(moved(decision, decision.current.executors, "lag_unknown", limit=float(decision.current.executors)), next_after_s=0.0)


def has_known_lag(query: QueryReading) -> bool:
    """Return whether the lag is known, and of micro-batches whether one was committed since the start of the query or there is nothing to commit."""
    if query.excess_lag_rows is None:
        return False
    committed = query.since_commit_s is not None and query.since_commit_s <= query.uptime_s
    return query.trigger.kind == "real_time" or committed or query.lag_rows == 0


def slower_down(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Never shrink below the most executors recommended within `down_stable_s`, and do not shrink at all within that time after a scale-up.

    A policy that weighs what its changes cost is not delayed.
    """
    if decision.direction != "down" or decision.weighs_changes:
        return decision
    since_s = seen.at_s - guarding.autopilot.scaled(guarding.autopilot.down_stable_s)
    rescale, current = guarding.rescale, decision.current.executors
    move = None if rescale is None or rescale.at_s <= since_s else rescale.change.executors
    risen = guarding.autopilot.mode != "shadow" and move is not None and move[1] > move[0]
    recommended = max((each.executors for each in seen.earlier if each.at_s > since_s), default=decision.executors)
    least = current if risen else min(current, max(decision.executors, recommended))
    return moved(decision, least, "slower_down", limit=float(least))


def keep_latency(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Raise the executors to the fewest predicted to keep the promised latency, if any; not if the decision changes queries, which the model has not seen."""
    promised_s, predicted = seen.promises.latency_p95_s, seen.latencies.get(decision.executors)
    if promised_s is None or predicted is None or predicted.value <= promised_s or decision.change.queries:
        return decision
    enough = (more for more in seen.choices if more > decision.executors and more in seen.latencies and seen.latencies[more].value <= promised_s)
    return moved(decision, next(enough, decision.executors), "latency", value=predicted.value, limit=promised_s)


def effective_only(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Cap the executors at the number beyond which a scale-up recently had no effect."""
    blocked = guarding.effects.blocked
    if blocked is None or seen.at_s >= blocked.until_s or decision.direction != "up":
        return decision
    blocked_at = blocked.configuration.executors
    return moved(decision, min(decision.executors, max(decision.current.executors, blocked_at)), "ineffective", limit=float(blocked_at))


FEW = 3
"""Batches after a start that say little: classes are loaded, Python workers started, code compiled."""


def warm_first(seen: Assessment, decision: Decision, guarding: Guarding) -> Decision:
    """Do not grow by utilisation before a few batches have run, unless the promised latency is at stake."""
    if decision.direction != "up" or decision.why.code != "utilization_above_target" or seen.plant == "continuous":
        return decision
    cold = any(query.batches_run < FEW and query.uptime_s < 2 * seen.cadence.cycle_s + COLD_S for query in seen.reading.active)
    return moved(decision, decision.current.executors, "cold", limit=float(FEW)) if cold and not is_at_stake(seen) else decision


COLD_S = 60.0
"""A query that has run for longer than this and two cycles is not cold, however few its batches are. A JVM warms up as slowly in a job whose days are short."""


def is_at_stake(seen: Assessment) -> bool:
    """Return whether rows wait or take longer than promised."""
    promised_s, reading = seen.promises.latency_p95_s, seen.reading
    late_s = max(reading.lag_s or 0.0, reading.latency.p95_s if reading.latency else 0.0)
    return promised_s is not None and late_s > promised_s


SHARED: tuple[Guard, ...] = (slower_down, warm_first, keep_latency, effective_only)
