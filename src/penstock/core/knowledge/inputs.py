"""The inputs of a turn of the loop."""

from dataclasses import dataclass

from penstock.core.domain.command import Command
from penstock.core.domain.instruction import Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.fitting import FitDone


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All inputs of a turn; the time is one of them."""

    at_s: float
    reading: Reading | None = None
    outcomes: tuple[Outcome, ...] = ()
    commands: tuple[Command, ...] = ()
    fits: tuple[FitDone, ...] = ()
