"""The lifecycle of a query, and what cannot be observed of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.events.event import Event
from penstock.core.domain.units import count_words


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryStarted(Event):
    query: str
    trigger: str

    def words(self) -> str:
        return f"query {self.query} started, trigger {self.trigger}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFailed(Event):
    trouble: ClassVar[bool] = True
    query: str
    cause: str
    traceback: str = ""

    def words(self) -> str:
        return f"query {self.query} failed: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRestarted(Event):
    query: str
    attempt: int
    downtime_s: float
    cause: str
    replayed_rows: float | None = None

    def words(self) -> str:
        replayed = "" if self.replayed_rows is None else f", {count_words(self.replayed_rows)} rows replayed"
        return f"query {self.query} restarted from its checkpoint (restart {self.attempt}), down {self.downtime_s:.1f} s{replayed}, because: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryGivenUp(Event):
    trouble: ClassVar[bool] = True
    query: str
    restarts: int
    cause: str
    reason: str

    def words(self) -> str:
        return f"query {self.query} is given up after {self.restarts} restarts ({self.reason}): {self.cause}; rates, lag and capacity of the job are without it"


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChanged(Event):
    """Batches cost more or less than before: `part` is "overhead", "row", "waiting" or "skew"."""

    query: str
    part: str
    before_s: float
    after_s: float

    def words(self) -> str:
        if self.part == "overhead":
            return f"the overhead of a batch of {self.query} went from {self.before_s:.2g} s to {self.after_s:.2g} s"
        times = f"{self.after_s / self.before_s:.2g} times"
        if self.part == "skew":
            how = "less" if self.after_s > self.before_s else "more"
            return f"rows of {self.query} are spread {how} evenly: its longest task takes {times} what it did, all tasks together about as long"
        if self.part == "waiting":
            return f"a row of {self.query} takes {times} as long, and no more CPU: its tasks wait for something outside, or others take their CPU"
        return f"a row of {self.query} costs {times} what it did"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTaken(Event):
    """Other programs take CPU time from the job, or do not any more."""

    share: float
    taken: bool

    def words(self) -> str:
        if self.taken:
            return f"others take {self.share:.0%} of the CPU time that the job wants: that is left out of the cost of its batches"
        return "others leave the CPU to the job again"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryUnwatched(Event):
    """The supervisor failed to check or restart a query, and retries."""

    trouble: ClassVar[bool] = True
    query: str
    cause: str

    def words(self) -> str:
        return f"the supervisor failed on query {self.query} and tries again: {self.cause}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEnded(Event):
    query: str
    reason: str

    def words(self) -> str:
        return f"query {self.query} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSkewed(Event):
    trouble: ClassVar[bool] = True
    query: str
    skew_s: float

    def words(self) -> str:
        return f"records of {self.query} arrive {self.skew_s:.1f} s in the future: clocks disagree, latency is not used"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyUnknown(Event):
    """Why the latency that Real-Time Mode measures at the sink cannot be measured."""

    trouble: ClassVar[bool] = True
    query: str
    reason: str

    def words(self) -> str:
        return f"the latency of {self.query} at its sink is unknown: {self.reason}"
