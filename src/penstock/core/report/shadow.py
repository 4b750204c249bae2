"""The time that a policy decided in shadow: when that was, which configurations it wanted, and whether they would have kept the promises."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.disturbance import FAILURES
from penstock.core.domain.events.autopilot_events import Decided, Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.meaning import mode_in, policy_in
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.trust import STILL_BROKEN_S


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """A stretch of decisions of one policy in shadow, at least one; `until_s` is when another mode or policy began, infinite if none has."""

    decided: tuple[Decided, ...]
    until_s: float = math.inf

    @property
    def from_s(self) -> float:
        return self.decided[0].at_s

    @property
    def executors(self) -> list[tuple[float, int]]:
        """The executors that it wanted, each with the time of the decision."""
        return [(each.at_s, each.decision.executors) for each in self.decided]

    def holds(self, at_s: float) -> bool:
        return self.from_s <= at_s < self.until_s


def last_shadow(events: Iterable[Event]) -> Shadow | None:
    """Return the last stretch of shadow of one policy among events in the order of their time, whatever came after it; a restart alone does not end it."""
    decided: list[Decided] = []
    until_s = math.inf
    for event in events:
        if decided and ends(event, decided[-1]):
            until_s = min(until_s, event.at_s)
        if isinstance(event, Decided) and event.mode == "shadow":
            if math.isfinite(until_s):
                decided, until_s = [], math.inf
            decided.append(event)
    return Shadow(decided=tuple(decided), until_s=until_s) if decided else None


def ends(event: Event, last: Decided) -> bool:
    """Return whether another mode or another policy begins: what one has shown says nothing for the next. `auto` that asks another policy is still `auto`."""
    return mode_in(event) not in (None, "shadow") or policy_in(event) not in (None, policy_in(last))


def in_force(steps: Sequence[tuple[float, int]], seen: Sequence[Reading]) -> list[int]:
    """Return the value of the last step at each reading; there is one before the first."""
    values, place = [], 0
    for reading in seen:
        while place + 1 < len(steps) and steps[place + 1][0] <= reading.at_s:
            place += 1
        values.append(steps[place][1])
    return values


def would_break(shadow: Shadow, seen: Sequence[Reading], terms: Terms) -> int:
    """Return how often the configuration in shadow, by its own predictions, would have fallen short of load or promised latency for long enough to break it.

    Counted as for the job that ran: a promise that stays broken is counted again at intervals.
    """
    after_s, again_s = terms.autopilot.scaled(terms.autopilot.broken_after_s), terms.autopilot.scaled(STILL_BROKEN_S)
    places = in_force([(each.at_s, place) for place, each in enumerate(shadow.decided)], seen)
    broken, due_s = 0, None
    for reading, place in zip(seen, places, strict=True):
        if not would_fall_short(shadow.decided[place], reading, terms.promises.latency_p95_s):
            due_s = None
        elif due_s is None:
            due_s = reading.at_s + after_s
        elif reading.at_s >= due_s:
            broken, due_s = broken + 1, reading.at_s + again_s
    return broken


def would_fall_short(one: Decided, reading: Reading, promised_s: float | None) -> bool:
    arriving, capacity = reading.arrival_rows_per_s, one.capacity_rows_per_s
    latencies = [each.value for each in one.predictions if each.kind == "latency" and one.decision.wants(each.configuration)]
    late = promised_s is not None and any(value > promised_s for value in latencies)
    return late or (arriving is not None and capacity is not None and arriving > capacity)


def late_recoveries(shadow: Shadow, seen: Sequence[Reading], recovered: Sequence[Recovered], promised_s: float | None) -> int:
    """Return how many of them would have taken longer than promised, by the shadow's own predictions; those from failures that end together are one."""
    if promised_s is None:
        return 0
    rescales = sum(any(each.kind == "recovery" and each.value > promised_s for each in one.predictions) for one in shadow.decided)
    failures = {each.at_s for each in recovered if each.kind in FAILURES and recovery_s(shadow, seen, each) > promised_s}
    return rescales + len(failures)


def recovery_s(shadow: Shadow, seen: Sequence[Reading], recovered: Recovered) -> float:
    """Return the seconds that the configuration in shadow would have needed to recover from this failure: as predicted.

    Where it is the one that ran, or nothing was predicted for it, what the job needed.
    """
    before = [one for one in shadow.decided if one.at_s <= recovered.started_s] or shadow.decided[:1]
    wanted = before[-1].decision.configuration
    ran = next((reading.configuration for reading in reversed(seen) if reading.at_s <= recovered.started_s), None)
    predicted_s = None if ran is not None and wanted.holds_in(ran) else predicted(before, wanted)
    return recovered.took_s if predicted_s is None else predicted_s


def predicted(decided: Sequence[Decided], wanted: Configuration) -> float | None:
    """Return the newest prediction of the seconds that this configuration needs to recover; None where it was never weighed."""
    weighed = (each.recovery_s for one in reversed(decided) for each in one.decision.candidates if each.configuration.over(one.decision.current) == wanted)
    return next((recovery_s for recovery_s in weighed if recovery_s is not None), None)
