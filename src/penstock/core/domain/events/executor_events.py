"""Executors that come, go missing, or cannot be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.events.event import Event
from penstock.core.domain.units import duration_words


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorsMissing(Event):
    """Executors that have not come; `number` is the instruction that waited for them, None if they were lost later."""

    trouble: ClassVar[bool] = True
    requested: int
    running: int
    waited_s: float
    number: int | None = None
    decision_id: int | None = None

    def words(self) -> str:
        return f"{self.requested} executors were asked for, {self.running} run after {duration_words(round(self.waited_s))}: going on with those"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorsComplete(Event):
    running: int

    def words(self) -> str:
        return f"all {self.running} executors run"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorLost(Event):
    trouble: ClassVar[bool] = True
    executor_id: str
    reason: str

    def words(self) -> str:
        return f"executor {self.executor_id} was lost: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuUnknown(Event):
    """The CPU of executors cannot be read, and why."""

    trouble: ClassVar[bool] = True
    problem: str

    def words(self) -> str:
        return f"the CPU of executors is unknown: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuKnown(Event):
    def words(self) -> str:
        return "the CPU of executors is known again"
