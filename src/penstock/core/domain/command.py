"""Commands of operators."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of an operator: who gave it, and how long its value is held (None: the setting `hold_s`)."""

    at_s: float
    who: str
    hold_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetKnob(Command):
    """Set a knob of the table to a value as people write it; for all queries where none is named."""

    knob: str
    value: str
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approve(Command):
    """Approve a proposal; the open one if none is named."""

    proposal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject(Command):
    proposal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Command):
    """Pause the policy for `hold_s`; None: until it is resumed."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(Command):
    """Let the policy decide again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Command):
    """End all holds: the values stay until a decision or a command changes them."""
