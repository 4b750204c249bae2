"""A history that needs no disk."""

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.loop import Recorded


class MemoryStore:
    """A history that lasts as long as the process, and does not keep turns for a replay, nor pending instructions."""

    def __init__(self) -> None:
        self._knowledge: Knowledge | None = None
        self.readings: list[Reading] = []
        self.events: list[Event] = []
        self.instructions: list[tuple[Instruction, float]] = []
        self.outcomes: list[tuple[Outcome, float]] = []

    def load(self) -> Knowledge | None:
        return self._knowledge

    def save(self, knowledge: Knowledge) -> None:
        self._knowledge = replace(knowledge, pending=())

    def append(
        self, at_s: float, *, reading: Reading | None = None, events: Sequence[Event] = (), instructions: Sequence[tuple[Instruction, float]] = (),
        outcomes: Sequence[tuple[Outcome, float]] = (), knowledge: Knowledge | None = None, recorded: Recorded | None = None,
    ) -> tuple[Event, ...]:  # fmt: skip
        if reading is not None:
            self.readings.append(reading)
        self.events.extend(events)
        self.instructions.extend(instructions)
        self.outcomes.extend(outcomes)
        if knowledge is not None:
            self.save(knowledge)
        return ()
