"""A job to simulate that is like one in a history."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.cli.jobs import remembered_job
from penstock.core.config import Config
from penstock.core.domain.event import Event, RunStarted
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.calibrate import Calibrated, calibrated
from penstock.simulator.own_error import OwnError, own_error
from penstock.stores.reader import HistoryReader

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 0.2, 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """A recorded job: what it is simulated with, how far the simulator is off on the recorded run, and what the job ran under."""

    name: str
    found: Calibrated
    error: OwnError
    started: RunStarted | None

    @property
    def load(self) -> Arrivals:
        """What arrived, counted from where the recorded run had caught up with its start."""
        time_s, rate = np.asarray(self.found.arrivals.time_s), np.asarray(self.found.arrivals.rate_rows_per_s)
        later = time_s > self.found.start_s
        first = self.found.arrivals.rate(self.found.start_s)
        return Arrivals.through(np.append(0.0, time_s[later] - self.found.start_s), np.append(first, rate[later]))

    @property
    def max_executors(self) -> int:
        """The most that it was allowed, or had."""
        most = None if self.started is None else self.started.max_executors
        return max(self.found.executors, most or 1)

    def as_object(self) -> dict[str, Any]:
        return {"like": self.name, "own_error": asdict(self.error), "notes": list(self.found.notes)}

    def as_rows(self) -> list[tuple[str, str]]:
        def off(share: float | None) -> str:
            return "unknown" if share is None else f"{share:+.1%}"

        error = f"executors {off(self.error.executors)}, p95 {off(self.error.latency_p95)}, throughput {off(self.error.throughput)}"
        return [("simulator on the recorded run", error), *(("note", note) for note in self.found.notes)]


def like(history: str, seed: int) -> Like:
    """Calibrate the simulator by a history file, or by the history of a job of that name."""
    path = Path(history) if Path(history).is_file() else remembered_job(history).history
    with HistoryReader.open(path) as reader:
        readings, events = list(reader.readings()), [row.event for row in reader.events()]
    try:
        return calibrated_by(history, readings, events, seed)
    except UserMistake as mistake:
        raise UserMistake(f"{path}: {mistake}") from None


def calibrated_by(name: str, readings: list[Reading], events: list[Event], seed: int) -> Like:
    config = config_of(readings)
    found = calibrated(readings, events, config)
    started = [event for event in events if isinstance(event, RunStarted)]
    return Like(name=name, found=found, error=own_error(found, readings, config, seed=seed), started=started[-1] if started else None)


def config_of(readings: list[Reading]) -> Config:
    """With the usual time between two readings; a history does not tell its settings."""
    apart_s = np.diff([reading.at_s for reading in readings])
    apart_s = apart_s[apart_s > 0]
    usual_s = float(np.median(apart_s)) if len(apart_s) else Config().reading_interval_s
    return Config(reading_interval_s=min(max(usual_s, SHORTEST_INTERVAL_S), LONGEST_INTERVAL_S))
