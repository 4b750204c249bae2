"""The ports of the controller: Protocols with a few methods, implemented by Spark, the simulator and fakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.knowledge import Knowledge


class Clock(Protocol):
    """Seconds since 1970 that never jump back, so that differences are durations."""

    def now_s(self) -> float: ...

    def wait(self, seconds: float) -> None: ...


class Source(Protocol):
    """Where readings come from."""

    def read(self) -> Reading: ...


class Actuator(Protocol):
    """Carries out instructions. `perform` returns at once; `report` is called with the outcome, from any thread."""

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None: ...


class Fitter(Protocol):
    """Runs slow fits. `ask` returns at once; `report` is called from any thread with the result, also if the fit failed.

    `close` gives up the fits under way; a fit that is asked for after it fails.
    """

    def ask(self, asked: FitAsked, report: Callable[[FitDone], None]) -> None: ...

    def close(self) -> None: ...


class Testbed(Protocol):
    """Runs copies of a job side by side on the same rows, one for each number of executors; `set_rate` is the rate of all of them."""

    def launch(self, executors: int) -> Source: ...

    def set_rate(self, rows_per_s: float) -> None: ...

    def stop(self, executors: int) -> None: ...


class EventSink(Protocol):
    """Takes events: history, terminal, log."""

    def emit(self, events: Sequence[Event]) -> None: ...


class KnowledgeStore(Protocol):
    """Stores the controller's knowledge beyond its life."""

    def load(self) -> Knowledge | None: ...

    def save(self, knowledge: Knowledge) -> None: ...


class BesideCheckpoint(Protocol):
    """A small folder beside the job's checkpoint, on its file system: for what must move with the job to another machine."""

    def read(self, name: str) -> bytes | None: ...

    def write(self, name: str, content: bytes) -> None: ...

    def upload(self, local: Path, name: str) -> None: ...

    def download(self, name: str, local: Path) -> bool: ...
