"""Whether a policy in shadow is ready for more trust: how it compares with what ran, and the reasons against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.core.domain.decision import Comparison, asked_policy
from penstock.core.domain.events.autopilot_events import Graded, PromiseBroken, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.prediction import FEWEST_GRADES, GOOD_ERROR, PredictionKind
from penstock.core.domain.reading import Reading
from penstock.core.domain.reasons import UNREADY
from penstock.core.knowledge.terms import Terms
from penstock.core.report.run_report import held_s, run_report
from penstock.core.report.shadow import Shadow, in_force, last_shadow, late_recoveries, would_break

HOUR_S = 3600.0
NOTHING = Promises()

JUDGED: tuple[PredictionKind, ...] = ("capacity", "latency", "recovery", "recovery_bound")
"""What a configuration is chosen by; forecasts are graded too, but an unforeseeable load does not count against the policy."""
UNDECIDED = frozenset({*UNREADY, "between_decisions", "policy_paused"})
"""Reasons to keep the configuration that are no choice of the policy's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """The cost of one way to run the job: executor-seconds, rescales, and promises broken (in shadow: that would have been)."""

    executor_s: float
    ups: int
    downs: int
    broken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Shares of the time in which the shadow wanted the configuration that ran, fewer executors, more, or as many with other values of other knobs."""

    same: float
    fewer: float
    more: float
    other: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unready:
    """A reason why a policy is not ready; `about` is the kind of prediction, empty if it concerns none."""

    why: Comparison
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The last shadow of a job beside what was run meanwhile; `errors` are mean relative ones with their number, by kind of prediction.

    `agreement` is None before there was time to compare.
    """

    policy: str
    from_s: float
    until_s: float
    shadow_s: float
    shadow: Steered
    run: Steered
    agreement: Agreement | None
    errors: Mapping[PredictionKind, tuple[float, int]]
    reasons: tuple[Unready, ...]

    @property
    def ready(self) -> bool:
        return not self.reasons


def readiness(readings: Sequence[Reading], events: Sequence[Event], terms: Terms) -> Readiness | None:
    """Judge the last stretch of shadow in a job's history; None if there is none.

    A kind of prediction that comes due by itself needs enough grades. Capacities and recoveries, which only an overload or a failure shows, need none, but
    as in `penstock grade` fewer than enough say little, for or against. Where no kind was right so far nothing is proven, and a policy that never chose is
    judged by nothing else.
    """
    shadow = last_shadow(events)
    if shadow is None:
        return None
    seen = [reading for reading in readings if shadow.holds(reading.at_s)]
    during = [event for event in events if shadow.holds(event.at_s)]
    ids, policy = {each.id for each in shadow.decided}, asked_policy(shadow.decided[-1].policy)
    own = (event for event in during if isinstance(event, Graded))
    graded = [event for event in own if (asked_policy(event.policy) == policy if event.decision_id is None else event.decision_id in ids)]
    shadow_s = float(held_s(seen).sum())
    recovered = [event for event in during if isinstance(event, Recovered)]
    wanted, ran = in_shadow(shadow, seen, recovered, terms), as_run(seen, sum(isinstance(event, PromiseBroken) for event in during))
    errors = {kind: mean_error(mine) for kind in JUDGED if (mine := [each for each in graded if each.kind == kind])}
    timely = {each.kind for one in shadow.decided for each in one.predictions if each.due_s is not None}
    return Readiness(
        policy=shadow.decided[-1].policy,
        from_s=shadow.from_s,
        until_s=min(shadow.until_s, seen[-1].at_s if seen else shadow.decided[-1].at_s),
        shadow_s=shadow_s,
        shadow=wanted,
        run=ran,
        agreement=agreement(shadow, seen),
        errors=errors,
        reasons=(*too_short(shadow_s, terms), *(undecided(shadow) or unproven(errors, timely)), *worse(wanted.broken, ran.broken)),
    )


def in_shadow(shadow: Shadow, seen: Sequence[Reading], recovered: Sequence[Recovered], terms: Terms) -> Steered:
    return Steered(
        executor_s=sum(executors * span_s for executors, span_s in zip(in_force(shadow.executors, seen), held_s(seen).tolist(), strict=True)),
        ups=sum(each.decision.direction == "up" for each in shadow.decided),
        downs=sum(each.decision.direction == "down" for each in shadow.decided),
        broken=would_break(shadow, seen, terms) + late_recoveries(shadow, seen, recovered, terms.promises.recovery_s),
    )


def as_run(seen: Sequence[Reading], broken: int) -> Steered:
    requested = [reading.executors_requested for reading in seen]
    return Steered(
        executor_s=run_report(seen, NOTHING).executor_s,
        ups=sum(later > earlier for earlier, later in pairwise(requested)),
        downs=sum(later < earlier for earlier, later in pairwise(requested)),
        broken=broken,
    )


def agreement(shadow: Shadow, seen: Sequence[Reading]) -> Agreement | None:
    """Return how the configurations in shadow compare with those that ran, over time."""
    spans_s = held_s(seen)
    if (all_s := float(spans_s.sum())) <= 0:
        return None
    places = in_force([(each.at_s, place) for place, each in enumerate(shadow.decided)], seen)
    wanted = [shadow.decided[place].decision.configuration for place in places]
    sides = np.array([np.sign(each.executors - reading.executors_requested) for each, reading in zip(wanted, seen, strict=True)])
    same = np.array([each.holds_in(reading.configuration) for each, reading in zip(wanted, seen, strict=True)])
    shares = (float(spans_s[which].sum()) / all_s for which in (same, sides < 0, sides > 0, (sides == 0) & ~same))
    return Agreement(**dict(zip(("same", "fewer", "more", "other"), shares, strict=True)))


def mean_error(graded: Sequence[Graded]) -> tuple[float, int]:
    return sum(each.error for each in graded) / len(graded), len(graded)


def too_short(shadow_s: float, terms: Terms) -> tuple[Unready, ...]:
    needed_s = terms.autopilot.scaled(terms.autopilot.shadow_s)
    return (Unready(why=Comparison(code="shadow_too_short", value=shadow_s / HOUR_S, limit=needed_s / HOUR_S)),) if shadow_s < needed_s else ()


def undecided(shadow: Shadow) -> tuple[Unready, ...]:
    never = all(each.decision.why.code in UNDECIDED for each in shadow.decided)
    return (Unready(why=Comparison(code="never_decided")),) if never else ()


def unproven(errors: Mapping[PredictionKind, tuple[float, int]], timely: set[PredictionKind]) -> tuple[Unready, ...]:
    found = []
    for kind in JUDGED:
        error, count = errors.get(kind, (0.0, 0))
        if count < FEWEST_GRADES:
            if kind in timely:
                found.append(Unready(about=kind, why=Comparison(code="too_few_grades", value=float(count), limit=float(FEWEST_GRADES))))
        elif error > GOOD_ERROR[kind]:
            found.append(Unready(about=kind, why=Comparison(code="error_too_large", value=100 * error, limit=100 * GOOD_ERROR[kind])))
    proven = any(error <= GOOD_ERROR[kind] for kind, (error, _) in errors.items())
    return tuple(found) if found or proven else (Unready(why=Comparison(code="nothing_proven")),)


def worse(shadow: int, run: int) -> tuple[Unready, ...]:
    return (Unready(why=Comparison(code="more_breaks", value=float(shadow), limit=float(run))),) if shadow > run else ()
