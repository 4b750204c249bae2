"""Whether and when a failed query is started again."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A query that died: why, and whether it had committed anything since its last start."""

    at_s: float
    cause: str
    committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    wait_s: float
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    reason: str


def after_failure(failures: Sequence[Failure], config: Config) -> Restart | GiveUp:
    """Return the answer to the last of these failures: restart at once, then with waits that double, until the budget is spent.

    >>> now = Failure(at_s=100.0, cause="boom", committed=True)
    >>> after_failure([now], Config())
    Restart(wait_s=0.0, attempt=1)
    >>> after_failure([now, now, now], Config())
    Restart(wait_s=2.0, attempt=3)
    >>> stuck = Failure(at_s=100.0, cause="boom", committed=False)
    >>> after_failure([stuck, stuck, stuck], Config())
    GiveUp(reason='it failed 3 times in a row with the same error and without a commit')
    """
    last = failures[-1]
    hopeless = 0
    for failure in reversed(failures):
        if failure.committed or not same_cause(failure.cause, last.cause):
            break
        hopeless += 1
    if hopeless >= config.restart_same_error:
        return GiveUp(reason=f"it failed {hopeless} times in a row with the same error and without a commit")
    recent = [failure for failure in failures if last.at_s - failure.at_s < config.restart_window_s]
    if len(recent) > config.restart_budget:
        return GiveUp(reason=f"its budget of {config.restart_budget} restarts in {config.restart_window_s:g} s is spent")
    doublings = len(recent) - 2
    wait_s = 0.0 if doublings < 0 else min(config.restart_backoff_s * 2.0**doublings, config.restart_backoff_max_s)
    return Restart(wait_s=wait_s, attempt=len(recent))


def same_cause(one: str, other: str) -> bool:
    """Return whether two failures have one cause: numbers of tasks, stages and times in it may differ.

    >>> same_cause("Task 2 in stage 10.0 failed 4 times: no table", "Task 0 in stage 31.0 failed 4 times: no table")
    True
    """
    return re.sub(r"\d+", "#", one) == re.sub(r"\d+", "#", other)
