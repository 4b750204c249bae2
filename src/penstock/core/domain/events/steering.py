"""What operators ask for, what was instructed, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.core.domain.events.event import Event
from penstock.core.domain.units import count_words, duration_words


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTaken(Event):
    who: str
    knob: str
    value: str
    held_until_s: float

    def words(self) -> str:
        return f"{self.who} set {self.knob} to {self.value}, held for {duration_words(round(self.held_until_s - self.at_s))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRefused(Event):
    who: str
    knob: str
    value: str
    reason: str

    def words(self) -> str:
        return f"{self.who} asked for {self.knob} {self.value}; refused: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldEnded(Event):
    knob: str
    value: str
    expired: bool
    who: str = ""

    def words(self) -> str:
        how = "has run out" if self.expired else f"was released{f' by {self.who}' if self.who else ''}"
        return f"the hold of {self.knob} at {self.value} {how}; the value stays until somebody decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotDo(Event):
    """Said once at the start of an attached query: what Penstock cannot do for it, and what would change that."""

    query: str
    what: str
    remedy: str

    def words(self) -> str:
        return f"query {self.query}: cannot change {self.what}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionGiven(Event):
    number: int
    knob: str
    before: str
    after: str
    reason: str

    def words(self) -> str:
        return f"{self.knob}: {self.before} -> {self.after} ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionDone(Event):
    number: int
    knob: str
    took_s: float
    delayed_rows: float | None
    note: str = ""

    def words(self) -> str:
        cost = "unknown delay" if self.delayed_rows is None else f"{count_words(self.delayed_rows)} rows delayed"
        return f"{self.knob} done in {self.took_s:.1f} s, {cost}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFailed(Event):
    trouble: ClassVar[bool] = True
    number: int
    knob: str
    took_s: float
    reason: str

    def words(self) -> str:
        return f"{self.knob} not done after {self.took_s:.1f} s: {self.reason}"
