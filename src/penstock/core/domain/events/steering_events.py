"""Commands of operators, holds, and instructions with their outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from penstock.core.domain.configuration import Change
from penstock.core.domain.events.event import Event
from penstock.core.domain.units import count_words, duration_words

EndOfHold = Literal["expired", "released", "failed"]


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
    how: EndOfHold
    who: str = ""

    def words(self) -> str:
        if self.how == "failed":
            return f"the hold of {self.knob} at {self.value} ends: the value could not be set"
        how = "has run out" if self.how == "expired" else f"was released{f' by {self.who}' if self.who else ''}"
        return f"the hold of {self.knob} at {self.value} {how}; the value stays until a decision changes it"


@dataclass(frozen=True, slots=True, kw_only=True)
class CannotDo(Event):
    """Reported once when a query is added: a knob that Penstock cannot change on it, and what would help."""

    query: str
    what: str
    remedy: str

    def words(self) -> str:
        return f"query {self.query}: cannot change {self.what}; {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionEvent(Event):
    """What happens to an instruction; `knob` names its targets, `decision_id` the decision that wanted it, None for an operator or the owner."""

    number: int
    knob: str
    decision_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionGiven(InstructionEvent):
    """`repeats`: as many executors are asked for as were requested already, for example because more are running."""

    change: Change
    reason: str
    repeats: bool = False

    def words(self) -> str:
        before, after = self.change.sides()
        return f"{self.knob}: {before} -> {after} ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionDone(InstructionEvent):
    took_s: float
    delayed_rows: float | None
    note: str = ""

    def words(self) -> str:
        cost = "unknown delay" if self.delayed_rows is None else f"{count_words(self.delayed_rows)} rows delayed"
        return f"{self.knob} done in {self.took_s:.1f} s, {cost}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionFailed(InstructionEvent):
    trouble: ClassVar[bool] = True
    took_s: float
    reason: str

    def words(self) -> str:
        return f"{self.knob} not done after {self.took_s:.1f} s: {self.reason}"
