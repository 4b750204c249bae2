"""What a simulated plant needs of an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.monitor.facts import Observation
from penstock.simulator.ground_truth import Record
from penstock.simulator.load import Load


class Engine(Protocol):
    """A job that lives only while it is advanced: in whole seconds from `record.start_s` on, with no chance but that of its seed."""

    @property
    def record(self) -> Record:
        """What truly happened so far, to all queries together."""
        ...

    @property
    def records(self) -> dict[str, Record]:
        """The same for each query by its name."""
        ...

    def advance(self, until_s: float) -> None:
        """Live on until then; the outcomes of what ends meanwhile are reported."""
        ...

    def observation(self) -> Observation:
        """Everything as it is now; batches and outputs since the last look."""
        ...

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        """Begin what is asked now; `report` is called here if it is done or refused at once, else by the `advance` that ends it."""
        ...

    def follow(self, load: Load) -> None:
        """From now on rows arrive as this load says; of the past it must say what the one before said."""
        ...
