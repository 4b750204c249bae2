"""Fakes of the ports, without Spark, a disk or real time. They pass the same contract suites as the real adapters."""

import os
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.core.domain.instruction import MISSING, Instruction, Outcome
from penstock.core.domain.reading import QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.simulator.plant import SimulatedClock

EPOCH_S = 1_700_000_000.0


class FakeClock(SimulatedClock):
    """A simulated clock that starts in 2023."""

    def __init__(self, now_s: float = EPOCH_S) -> None:
        super().__init__(now_s)


def blank_reading(at_s: float, **known: Any) -> Reading:
    """Return a reading in which only the given values are known.

    >>> blank_reading(5.0, executors_running=2).lag_rows is None
    True
    """
    unknown = dict.fromkeys(
        ("since_disturbance_s", "arrival_rows_per_s", "throughput_rows_per_s", "lag_rows", "lag_s", "excess_lag_rows", "latency", "busyness")
    )
    return Reading(**{"at_s": at_s, "uptime_s": 0.0, "executors_running": 0, "executors_requested": 0, "failures": 0, **unknown, **known})


class FakePlant:
    """A source and an actuator in one, which carries out instructions at once.

    `refusal` makes instructions fail with that reason, `broken` makes readings raise, and while `slow` is set outcomes wait for `finish`.
    """

    def __init__(self, clock: FakeClock, *, executors: int, triggers: Mapping[str, Trigger] | None = None) -> None:
        self._clock = clock
        self._unreported: list[tuple[Instruction, Callable[[Outcome], None]]] = []
        self.executors = executors
        self.arriving = True
        self.running = executors
        self.queries = {
            name: QueryReading(name=name, state="running", trigger=trigger, rate_limit_rows_per_s=None, partitions=4, lag_rows=0.0, excess_lag_rows=0.0)
            for name, trigger in (triggers or {}).items()
        }
        self.performed: list[Instruction] = []
        self.refusal: str | None = None
        self.broken: Exception | None = None
        self.slow = False

    def read(self) -> Reading:
        if self.broken is not None:
            raise self.broken
        queries = tuple(self.queries.values())
        return blank_reading(self._clock.now_s(), executors_running=self.running, executors_requested=self.executors, queries=queries)

    def perform(self, instruction: Instruction, report: Callable[[Outcome], None]) -> None:
        self.performed.append(instruction)
        self._unreported.append((instruction, report))
        if not self.slow:
            self.finish()

    def finish(self) -> None:
        """Carry out what is pending, and report it."""
        unreported, self._unreported = self._unreported, []
        for instruction, report in unreported:
            reason = self.refusal or self._become(instruction)
            report(Outcome(number=instruction.number, done=not reason, took_s=0.0, reason=reason))

    def _become(self, instruction: Instruction) -> str:
        """Become as asked; return why not, if that cannot be."""
        change = instruction.change
        unknown = [name for name in change.queries if name not in self.queries]
        if unknown:
            return f"there is no query {unknown[0]!r}"
        for name in change.queries:
            self.queries[name] = replace(self.queries[name], **change.of(name))
        if change.executors is None:
            return ""
        self.executors = change.executors[1]
        self.running = self.executors if self.arriving else min(self.running, self.executors)
        return "" if self.running == self.executors else MISSING


class FolderBeside:
    """A local folder in place of the one beside a checkpoint; `broken` makes every method raise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broken: OSError | None = None

    def read(self, name: str) -> bytes | None:
        path = self._at(name)
        return path.read_bytes() if path.exists() else None

    def write(self, name: str, content: bytes) -> None:
        path = self._at(name)
        fresh = path.with_name(f".{name}.{uuid.uuid4().hex}")
        fresh.write_bytes(content)
        os.replace(fresh, path)

    def upload(self, local: Path, name: str) -> None:
        self.write(name, local.read_bytes())

    def download(self, name: str, local: Path) -> bool:
        path = self._at(name)
        if not path.exists():
            return False
        shutil.copyfile(path, local)
        return True

    def _at(self, name: str) -> Path:
        if self.broken is not None:
            raise self.broken
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name
