"""Recoveries that the sizes of a shadow would have needed: from its own rescales, and from the failures that struck the job meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.domain.events.autopilot import Decided, Recovered
from penstock.core.domain.reading import Reading
from penstock.core.models.anomaly.disturbance import FAILURES
from penstock.core.plan.shadow import Shadow


def late_recoveries(shadow: Shadow, seen: Sequence[Reading], recovered: Sequence[Recovered], promised_s: float | None) -> int:
    """How many of them would have taken longer than promised, by the shadow's own predictions; those from failures that end together are one."""
    if promised_s is None:
        return 0
    rescales = sum(any(each.kind == "recovery" and each.value > promised_s for each in one.predictions) for one in shadow.decided)
    failures = {each.at_s for each in recovered if each.kind in FAILURES and recovery_s(shadow, seen, each) > promised_s}
    return rescales + len(failures)


def recovery_s(shadow: Shadow, seen: Sequence[Reading], recovered: Recovered) -> float:
    """Seconds that the size in shadow would have needed to recover from this failure: as foreseen.

    Where it is the size that ran, or nothing was foreseen for it, what the job needed.
    """
    before = [one for one in shadow.decided if one.at_s <= recovered.started_s] or shadow.decided[:1]
    size = before[-1].decision.executors
    ran = next((reading.executors_requested for reading in reversed(seen) if reading.at_s <= recovered.started_s), None)
    foreseen_s = None if size == ran else foreseen(before, size)
    return recovered.took_s if foreseen_s is None else foreseen_s


def foreseen(decided: Sequence[Decided], executors: int) -> float | None:
    """The last word on how many seconds this size needs to recover; None where it was never weighed."""
    weighed = (each.recovery_s for one in reversed(decided) for each in one.decision.candidates if each.executors == executors)
    return next((recovery_s for recovery_s in weighed if recovery_s is not None), None)
