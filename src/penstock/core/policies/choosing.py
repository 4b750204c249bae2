"""What policies share: keep the configuration for a reason, take the fewest executors that hold, stabilise over a window."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.decision import Candidate, Comparison, Decision
from penstock.core.domain.policy_memory import PolicyMemory, Wanted
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment

Refuse = Callable[[int, float], Comparison | None]
"""Return the reason against a number of executors with this capacity in rows/s; None if there is none."""
UNKNOWN = Comparison(code="unknown_capacity")


def keep(seen: Assessment, policy: str, code: str, value: float | None = None, limit: float | None = None, *, memory: PolicyMemory | None = None) -> Decision:
    """Return the decision to keep the configuration; the memory of the policy stays unless `memory` is given."""
    why = Comparison(code=code, value=value, limit=limit)
    return Decision(policy=policy, configuration=seen.current, current=seen.current, why=why, memory=seen.memory if memory is None else memory)


def decided(
    seen: Assessment, policy: str, executors: int, why: Comparison, candidates: list[Candidate] | None = None, *, memory: PolicyMemory | None = None
) -> Decision:
    """Return the decision for a number of executors, with all candidates that were weighed."""
    return Decision(
        policy=policy,
        configuration=seen.current if executors == seen.executors else replace(seen.current, executors=executors),
        current=seen.current,
        why=why,
        candidates=tuple(candidates or ()),
        memory=seen.memory if memory is None else memory,
    )


def candidate(
    executors: int, refused: Comparison | None = None, *, capacity_rows_per_s: float | None = None, recovery_s: float | None = None,
    latency_s: float | None = None,
) -> Candidate:  # fmt: skip
    """Return a candidate that differs from the present configuration in its executors alone."""
    return Candidate(
        configuration=Configuration(executors=executors), refused=refused, capacity_rows_per_s=capacity_rows_per_s, recovery_s=recovery_s, latency_s=latency_s
    )


def unready(seen: Assessment) -> str:
    """Return why a policy that goes by utilisation cannot decide: where tasks run all the time that is CPU, which may be unknown."""
    silent = seen.plant == "continuous" and all(executor.cpu_cores is None for executor in seen.reading.executors)
    return "cpu_unknown" if silent and seen.reading.executors else "not_ready"


def smallest(seen: Assessment, policy: str, refuse: Refuse) -> Decision:
    """Return the fewest executors that are not refused; the most if all are. Without a load or any capacity they stay as they are."""
    if seen.load_rows_per_s is None or all(seen.capacity(executors) is None for executors in seen.choices):
        return keep(seen, policy, "not_ready")

    def weigh(executors: int) -> Candidate:
        capacity = seen.capacity(executors)
        refused = UNKNOWN if capacity is None else refuse(executors, capacity)
        return candidate(executors, refused, capacity_rows_per_s=capacity)

    return fewest(seen, policy, weigh)


def fewest(seen: Assessment, policy: str, weigh: Callable[[int], Candidate]) -> Decision:
    """Return the fewest executors whose candidate is not refused; the most if all are, and those of now if neither these nor the most are known."""
    weighed: list[Candidate] = []
    for executors in seen.choices:
        weighed.append(weigh(executors))
        if weighed[-1].refused is None:
            return decided(seen, policy, executors, Comparison(code="smallest_that_holds"), weighed)
    unknown = {each.configuration.executors for each in weighed if each.refused == UNKNOWN}
    if unknown >= {seen.executors, weighed[-1].configuration.executors}:
        return decided(seen, policy, seen.executors, Comparison(code="not_ready"), weighed)
    return decided(seen, policy, seen.limits.max_executors, Comparison(code="none_passes"), weighed)


def tasks_at_once(reading: Reading) -> dict[str, int]:
    """Return the tasks of the largest stage by query, as the stages of a query follow each other; only of queries whose batches the reading shows."""
    return {query.name: ceil(max(stage.tasks for stage in query.stages)) for query in reading.active if query.stages}


def executors_filled(seen: Assessment) -> int | None:
    """Return how many executors the tasks of all queries can fill at once; None where tasks run all the time, or those of a query are not known."""
    tasks = tasks_at_once(seen.reading)
    if seen.plant == "continuous" or not tasks or len(tasks) < len(seen.reading.active):
        return None
    return max(1, ceil(sum(tasks.values()) / seen.slots_each))


def wanted_within(earlier: tuple[Wanted, ...], at_s: float, executors: int, current: int, window_s: float) -> tuple[Wanted, ...]:
    """Return what the policy wanted within the window, this one included; at the first decision the present number counts too.

    Earlier recommendations cannot replace it: each is a maximum already, and would never fall.
    """
    if window_s <= 0.0:
        return ()
    within = [each for each in earlier if each.at_s > at_s - window_s and each.at_s != at_s]
    now = next((each.executors for each in earlier if each.at_s == at_s), executors) if earlier else current
    return (*within, Wanted(at_s=at_s, executors=max(executors, now)))


def stabilised(current: int, wanted: int, within: tuple[Wanted, ...]) -> int:
    """Return what is wanted upwards, and downwards the largest that was wanted within the window.

    >>> three, five = Wanted(at_s=0.0, executors=3), Wanted(at_s=0.0, executors=5)
    >>> stabilised(4, 6, ()), stabilised(4, 2, (three,)), stabilised(4, 2, (five,))
    (6, 3, 4)
    """
    return wanted if wanted >= current else min(current, max([wanted, *(each.executors for each in within)]))


def moved_by(current: int, *, wanted: int, stable: int, chosen: int, utilization: float, target: float) -> Comparison | None:
    """Return why the number that was wanted became the one chosen: utilisation, the window, or the limits; None where the present one was wanted.

    >>> moved_by(4, wanted=6, stable=6, chosen=5, utilization=0.9, target=0.6)
    Comparison(code='utilization_above_target', value=0.9, limit=0.6, says='')
    >>> moved_by(4, wanted=6, stable=6, chosen=4, utilization=0.9, target=0.6)
    Comparison(code='limits', value=6, limit=4, says='')
    """
    if current < chosen <= wanted:
        return Comparison(code="utilization_above_target", value=utilization, limit=target)
    if wanted <= chosen < current:
        return Comparison(code="utilization_below_target", value=utilization, limit=target)
    if stable != chosen:
        return Comparison(code="limits", value=stable, limit=chosen)
    return None if wanted == current else Comparison(code="stabilised", value=stable, limit=wanted)
