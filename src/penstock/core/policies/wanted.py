"""What a policy wanted of late: fewer executors are taken only when nothing larger was wanted for a while."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Comparison

WANTED_AT = " wanted at "
"""In a memo, between the name of a policy and the time at which it wanted a size: under `auto` several remember, each for its own time."""


def wanted_within(seen: Assessment, policy: str, wanted: int, window_s: float) -> dict[str, float]:
    """The sizes that the policy wanted within the window, for the memo: those remembered, and that of now; at the first of all the present size counts too.

    `seen.earlier` does not do: what was recommended then is the largest of what was wanted before it, and would stay so for ever.
    """
    if window_s <= 0.0:
        return {}
    own = f"{policy}{WANTED_AT}"
    remembered = {key: size for key, size in seen.memo.items() if key.startswith(own)}
    within = {key: size for key, size in remembered.items() if float(key.removeprefix(own)) > seen.at_s - window_s}
    now = f"{own}{seen.at_s!r}"
    at_least = within.get(now, wanted) if remembered else seen.current
    return {**within, now: max(wanted, at_least)}


def without_wanted(memo: Mapping[str, float], policy: str) -> dict[str, float]:
    """What others keep in mind."""
    return {key: value for key, value in memo.items() if not key.startswith(f"{policy}{WANTED_AT}")}


def stabilised(current: int, wanted: int, within: Mapping[str, float]) -> int:
    """Up at once; down to the largest size wanted within the window.

    >>> stabilised(4, 6, {}), stabilised(4, 2, {"ds2 wanted at 0.0": 3.0}), stabilised(4, 2, {"ds2 wanted at 0.0": 5.0})
    (6, 3, 4)
    """
    return wanted if wanted >= current else min(current, max([wanted, *map(int, within.values())]))


def moved_by(current: int, *, wanted: int, stable: int, size: int, utilization: float, target: float) -> Comparison | None:
    """Why the size that was wanted became the one chosen: utilisation, the window, or the limits; None where the present size was wanted.

    >>> moved_by(4, wanted=6, stable=6, size=5, utilization=0.9, target=0.6)
    Comparison(code='utilization_above_target', value=0.9, limit=0.6)
    >>> moved_by(4, wanted=6, stable=6, size=4, utilization=0.9, target=0.6)
    Comparison(code='limits', value=6, limit=4)
    """
    if current < size <= wanted:
        return Comparison(code="utilization_above_target", value=utilization, limit=target)
    if wanted <= size < current:
        return Comparison(code="utilization_below_target", value=utilization, limit=target)
    if stable != size:
        return Comparison(code="limits", value=stable, limit=size)
    return None if wanted == current else Comparison(code="stabilised", value=stable, limit=wanted)
