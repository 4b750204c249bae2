"""Faults that are injected into a simulated job, or into a copy of a real one."""

from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["kill", "freeze", "restart"]
"""`kill`: an executor dies, which is noticed at once. `freeze`: an executor stops working, which is noticed when its heartbeats have been missing for the
time-out. `restart`: a query fails and is started again from its checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`at_s` is when it strikes in the time of the run. A frozen executor goes on after `duration_s`; None: it stays frozen until it is noticed or undone.

    `query` is the query that a restart strikes; None: all of them.
    """

    at_s: float = 0.0
    kind: FaultKind = "kill"
    query: str | None = None
    duration_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """A fault that was injected: when, and into which executor."""

    fault: Fault
    at_s: float
    executor_id: str | None = None
