"""The ports of the controller: Protocols with a few methods, implemented by Spark, the simulator and fakes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.event import Event
from penstock.core.domain.fault import Fault, Injected
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.knowledge import Knowledge


class Clock(Protocol):
    """Seconds since 1970 that never jump back within a process, so that differences are durations; a restart may begin earlier."""

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


class Faults(Protocol):
    """Strikes one copy of a job. `inject` strikes at once, whatever the fault's `at_s`; a fault that the plant does not have is a `UserMistake`.

    `undo` lets a frozen executor go on if it is still there; what cannot be undone is left, and to undo twice is to undo once.
    """

    def inject(self, fault: Fault) -> Injected: ...

    def undo(self, injected: Injected) -> None: ...


class Copy(Source, Protocol):
    """A copy of a job: `read` returns its latest reading. It follows the load of its testbed until `set_rate` is called.

    Copies of one testbed share a clock, so that several can be read and given a rate in lockstep. `stop` removes all that the copy has made; to stop twice is
    to stop once, and a stopped copy is `NotReachable`.
    """

    def set_rate(self, rows_per_s: float) -> None: ...

    def stop(self) -> None: ...

    @property
    def faults(self) -> Faults: ...


class Testbed(Protocol):
    """Runs copies of a job, one or several at a time. `launch` returns when the copy runs with all values of the configuration."""

    def launch(self, configuration: Configuration) -> Copy: ...


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
