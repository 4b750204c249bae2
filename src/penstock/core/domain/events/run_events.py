"""A run of a job and the turns of its loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.events.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    job: str
    master: str
    mode: str
    spark_version: str
    resumed: bool
    max_executors: int | None = None
    latency_p95_s: float | None = None
    recovery_s: float | None = None

    def words(self) -> str:
        again = " again, with the knowledge of its last run" if self.resumed else ""
        return f"job {self.job} runs{again} on {self.master}, Spark {self.spark_version}, mode {self.mode}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(Event):
    job: str
    reason: str

    def words(self) -> str:
        return f"job {self.job} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToDo(Event):
    """A turn that changes nothing; consecutive ones are stored as one row."""

    reason: str = "as desired"

    def words(self) -> str:
        return f"nothing to do: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed(Event):
    trouble: ClassVar[bool] = True
    error: str

    def words(self) -> str:
        return f"a turn of the loop failed and was skipped: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingFailed(Event):
    trouble: ClassVar[bool] = True
    error: str

    def words(self) -> str:
        return f"no reading came, and the turn went on without one: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWorkFailed(Event):
    """Work that the controller does beside its turns failed; the turn itself is not affected."""

    trouble: ClassVar[bool] = True
    what: str
    error: str

    def words(self) -> str:
        return f"{self.what} failed, the loop goes on: {self.error}"
