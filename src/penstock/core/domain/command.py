"""What an operator says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """An operator's wish: who said it, and for how long its value is held (None: the setting `hold_s`)."""

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
    """Let a proposal happen; the open one when none is named."""

    proposal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject(Command):
    proposal: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(Command):
    """The policy decides nothing for `hold_s`; None is "until it is resumed"."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(Command):
    """Let the policy decide again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Command):
    """Give up all holds: what was set stays until somebody decides otherwise."""
