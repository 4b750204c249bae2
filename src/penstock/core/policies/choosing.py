"""What most policies do alike: keep the size for a reason, or take the smallest that nothing speaks against."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Candidate, Comparison, Decision

Refuse = Callable[[int, float], Comparison | None]
"""What speaks against a size of that capacity in rows/s; None if nothing does."""


def keep(
    seen: Assessment, policy: str, code: str, value: float | None = None, limit: float | None = None, *, memo: Mapping[str, float] | None = None
) -> Decision:
    """The size stays as it is, and so does what the policy keeps in mind unless it is given anew."""
    return Decision(
        policy=policy,
        executors=seen.current,
        current=seen.current,
        why=Comparison(code=code, value=value, limit=limit),
        memo=seen.memo if memo is None else memo,
    )


def unready(seen: Assessment) -> str:
    """Why a policy that goes by utilisation cannot decide: where tasks run all the time that is CPU, which perhaps nobody tells."""
    silent = seen.plant == "continuous" and all(executor.cpu_cores is None for executor in seen.reading.executors)
    return "cpu_unknown" if silent and seen.reading.executors else "not_ready"


def compare(code: str, value: float | None, limit: float | None, *, holds: bool) -> Comparison | None:
    """The two numbers that speak against a size; None if what is asked of it holds.

    >>> compare("capacity_below_load", 900.0, 1200.0, holds=900.0 > 1200.0)
    Comparison(code='capacity_below_load', value=900.0, limit=1200.0)
    >>> compare("capacity_below_load", 1500.0, 1200.0, holds=1500.0 > 1200.0)
    """
    return None if holds else Comparison(code=code, value=value, limit=limit)


def smallest(seen: Assessment, policy: str, refuse: Refuse) -> Decision:
    """The first size, from the smallest allowed on, that is not refused; the largest if all are. Without a load or any capacity the size stays."""
    if seen.load_rows_per_s is None or all(seen.capacity(size) is None for size in seen.sizes):
        return keep(seen, policy, "not_ready")
    weighed: list[Candidate] = []
    for size in seen.sizes:
        capacity = seen.capacity(size)
        refused = Comparison(code="unknown_capacity") if capacity is None else refuse(size, capacity)
        weighed.append(Candidate(executors=size, refused=refused, capacity_rows_per_s=capacity))
        if refused is None:
            return chosen(seen, policy, size, Comparison(code="smallest_that_holds"), weighed)
    return chosen(seen, policy, seen.limits.max_executors, Comparison(code="none_passes"), weighed)


def chosen(seen: Assessment, policy: str, executors: int, why: Comparison, candidates: list[Candidate]) -> Decision:
    """The decision for a size, with all that were weighed on the way to it."""
    return Decision(policy=policy, executors=executors, current=seen.current, why=why, candidates=tuple(candidates), memo=seen.memo)


def allowed(seen: Assessment, executors: int) -> int:
    """The size itself, or the limit that it lies beyond."""
    return min(max(executors, seen.limits.min_executors), seen.limits.max_executors)
