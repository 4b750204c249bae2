"""What the controller wants from the world: each port two or three methods, implemented by Spark, the simulator and fakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.fitting import FitAsked, FitDone
from penstock.core.knowledge import Knowledge


class Clock(Protocol):
    """Time: seconds since 1970 that never jump back, so that differences are durations."""

    def now_s(self) -> float: ...

    def wait(self, seconds: float) -> None: ...


class Source(Protocol):
    """Where readings come from."""

    def read(self) -> Reading: ...


class Actuator(Protocol):
    """What instructions go to. `perform` returns at once; `report` is called with the outcome, from any thread."""

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None: ...


class Fitter(Protocol):
    """Where slow fits are done. `ask` returns at once; `report` is called with the result, from any thread, also when there is none.

    `close` gives up what is under way; who asks after it is told so.
    """

    def ask(self, asked: FitAsked, report: Callable[[FitDone], None]) -> None: ...

    def close(self) -> None: ...


class Testbed(Protocol):
    """Where copies of a job run beside each other on the same rows, one of each size; `set_rate` is the rate of all of them."""

    def launch(self, executors: int) -> Source: ...

    def set_rate(self, rows_per_s: float) -> None: ...

    def stop(self, executors: int) -> None: ...


class EventSink(Protocol):
    """Where events go: history, terminal, log."""

    def emit(self, events: Sequence[Event]) -> None: ...


class KnowledgeStore(Protocol):
    """Where the controller's knowledge outlives it."""

    def load(self) -> Knowledge | None: ...

    def save(self, knowledge: Knowledge) -> None: ...


class BesideCheckpoint(Protocol):
    """A small folder beside the job's checkpoint, wherever that is: what must travel with the job to another machine."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, content: bytes) -> None: ...

    def upload(self, local: Path, name: str) -> None: ...

    def download(self, name: str, local: Path) -> bool: ...
