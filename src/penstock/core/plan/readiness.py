"""Whether a policy that decides in shadow has earned more trust: how it compares with what was run, and why not if not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from penstock.core.domain.autopilot_event import Decided, Graded, PromiseBroken
from penstock.core.domain.decision import Comparison
from penstock.core.domain.event import Event
from penstock.core.domain.prediction import PredictionKind
from penstock.core.domain.reading import Reading
from penstock.core.plan.promises import STILL_BROKEN_S
from penstock.core.terms import Terms

HOUR_S = 3600.0
SHADOW_S = 6 * HOUR_S
"""Time in shadow that trust takes."""

FEWEST_GRADES = 20
MOST_ERROR: dict[PredictionKind, float] = {"capacity": 0.25, "latency": 0.25, "recovery": 0.35}
SILENT_S = 600.0
"""Readings further apart were not of a running job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """What one way to run the job took: executor-seconds, changes of size, and promises broken (or that would have been)."""

    executor_s: float
    ups: int
    downs: int
    broken: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unready:
    """One reason against it; `about` is the kind of prediction, empty where it is about none."""

    why: Comparison
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """The shadow of a job since it began, beside what was run; `errors` are mean relative ones with their number, by kind of prediction."""

    shadow_s: float
    shadow: Steered
    run: Steered
    errors: dict[PredictionKind, tuple[float, int]]
    reasons: tuple[Unready, ...]

    @property
    def ready(self) -> bool:
        return not self.reasons


def readiness(readings: Sequence[Reading], events: Sequence[Event], terms: Terms) -> Readiness:
    """Judge the last stretch of shadow in a job's history.

    A kind of prediction that comes due by itself needs enough grades; capacities and recoveries, which only an overload or a failure shows, are judged
    by those there are.
    """
    decided = last_shadow([event for event in events if isinstance(event, Decided)])
    since_s = decided[0].at_s if decided else float("inf")
    seen = [reading for reading in readings if reading.at_s >= since_s]
    graded = [event for event in events if isinstance(event, Graded) and event.at_s >= since_s]
    shadow_s = sum(spans(seen))
    sizes = [(each.at_s, each.decision.executors) for each in decided]
    shadow = Steered(
        executor_s=sum(size * span_s for size, span_s in zip(in_force(sizes, seen), spans(seen), strict=False)),
        ups=sum(each.decision.direction == "up" for each in decided),
        downs=sum(each.decision.direction == "down" for each in decided),
        broken=would_break(decided, seen, terms),
    )
    requested = [reading.executors_requested for reading in seen]
    run = Steered(
        executor_s=sum(reading.executors_running * span_s for reading, span_s in zip(seen, spans(seen), strict=False)),
        ups=sum(later > earlier for earlier, later in pairwise(requested)),
        downs=sum(later < earlier for earlier, later in pairwise(requested)),
        broken=sum(isinstance(event, PromiseBroken) and event.at_s >= since_s for event in events),
    )
    errors = {kind: mean_error(mine) for kind in MOST_ERROR if (mine := [each for each in graded if each.kind == kind])}
    timely = {each.kind for one in decided for each in one.predictions if each.due_s is not None}
    reasons = (*too_short(shadow_s, terms), *unproven(errors, timely), *worse(shadow.broken, run.broken))
    return Readiness(shadow_s=shadow_s, shadow=shadow, run=run, errors=errors, reasons=reasons)


def last_shadow(decided: Sequence[Decided]) -> list[Decided]:
    """The decisions in shadow since the last one in another mode."""
    others = [place for place, each in enumerate(decided) if each.mode != "shadow"]
    return list(decided[others[-1] + 1 if others else 0 :])


def spans(seen: Sequence[Reading]) -> list[float]:
    """Seconds from each reading to the next; none where the job did not run between them."""
    return [later.at_s - earlier.at_s if later.at_s - earlier.at_s <= SILENT_S else 0.0 for earlier, later in pairwise(seen)]


def in_force(steps: Sequence[tuple[float, int]], seen: Sequence[Reading]) -> list[int]:
    """The value of the last step at each reading; there is one before the first."""
    values, place = [], 0
    for reading in seen:
        while place + 1 < len(steps) and steps[place + 1][0] <= reading.at_s:
            place += 1
        values.append(steps[place][1])
    return values


def would_break(decided: Sequence[Decided], seen: Sequence[Reading], terms: Terms) -> int:
    """How often the size in shadow, by its own predictions, would have fallen short of the load or of the promised latency for long enough to break it.

    Counted as for the job that ran: what stays broken is broken again every so often.
    """
    after_s, again_s = terms.autopilot.scaled(terms.autopilot.broken_after_s), terms.autopilot.scaled(STILL_BROKEN_S)
    places = in_force([(each.at_s, place) for place, each in enumerate(decided)], seen)
    broken, due_s = 0, None
    for reading, place in zip(seen, places, strict=True):
        if not falls_short(decided[place], reading, terms.promises.latency_p95_s):
            due_s = None
        elif due_s is None:
            due_s = reading.at_s + after_s
        elif reading.at_s >= due_s:
            broken, due_s = broken + 1, reading.at_s + again_s
    return broken


def falls_short(one: Decided, reading: Reading, promised_s: float | None) -> bool:
    arriving, capacity = reading.arrival_rows_per_s, one.capacity_rows_per_s
    late = promised_s is not None and any(each.kind == "latency" and each.value > promised_s for each in one.predictions)
    return late or (arriving is not None and capacity is not None and arriving > capacity)


def mean_error(graded: Sequence[Graded]) -> tuple[float, int]:
    return sum(each.error for each in graded) / len(graded), len(graded)


def too_short(shadow_s: float, terms: Terms) -> tuple[Unready, ...]:
    needed_s = terms.autopilot.scaled(SHADOW_S)
    return (Unready(why=Comparison(code="shadow_too_short", value=shadow_s / HOUR_S, limit=needed_s / HOUR_S)),) if shadow_s < needed_s else ()


def unproven(errors: dict[PredictionKind, tuple[float, int]], timely: set[PredictionKind]) -> tuple[Unready, ...]:
    found = []
    for kind, allowed in MOST_ERROR.items():
        error, count = errors.get(kind, (0.0, 0))
        if kind in timely and count < FEWEST_GRADES:
            found.append(Unready(about=kind, why=Comparison(code="too_few_grades", value=float(count), limit=float(FEWEST_GRADES))))
        elif error > allowed:
            found.append(Unready(about=kind, why=Comparison(code="error_too_large", value=error, limit=allowed)))
    return tuple(found)


def worse(shadow: int, run: int) -> tuple[Unready, ...]:
    return (Unready(why=Comparison(code="more_breaks", value=float(shadow), limit=float(run))),) if shadow > run else ()
