"""What a person at another terminal does during a demonstration, through the job's socket: warm the job up, begin its load, give commands."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.core.analyze.learn import batches_measured
from penstock.core.domain.cadence import cadence_of
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.reading import Reading
from penstock.core.errors import NotReachable, PenstockError
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.estimate import Estimate
from penstock.core.shapes.timeline import curve_of
from penstock.remote import RemoteJob
from penstock.runtime.home import JobFolder
from penstock.stores.codec import decode
from penstock.trace.state import recipe_of

POLL_S = 0.5
TOTAL_S, CLOSING_S = 300.0, 35.0
"""A demonstration is over so long after its command began; the start of Python, the stop, the comparison and the pictures have this much of it."""


class Ended(Exception):
    """The job is over: nothing more is said to it."""


class Operator(threading.Thread):
    """Does what a script says while the job runs; `over` is set when the script is done, and `mishaps` are the refusals."""

    def __init__(self, spec: JobSpec, script: Callable[["Operator"], None]) -> None:
        super().__init__(name="operator", daemon=True)
        self.spec = spec
        self.over = threading.Event()
        self.mishaps: list[str] = []
        self.said: list[str] = []
        self._remote = RemoteJob(JobFolder(spec.name).socket)
        self._script = script
        self._stopping = threading.Event()
        self._began_s = time.monotonic()

    def stop(self) -> None:
        self._stopping.set()
        self.join(timeout=5)

    def run(self) -> None:
        try:
            self._script(self)
        except Ended:
            return
        self.over.set()

    def wait(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise Ended

    def ask(self, verb: str, **arguments: Any) -> None:
        try:
            self._remote.ask(verb, **arguments)
        except PenstockError as error:
            self.mishaps.append(str(error))

    def spent_s(self) -> float:
        """Return the seconds since the command began."""
        return time.monotonic() - self._began_s

    def until(self, happened: Callable[[Reading], bool], by_s: float = TOTAL_S) -> bool:
        """Look at the job until something has happened, for at most so long after the command began, and return whether it has."""
        while self.spent_s() < by_s:
            reading = self._reading()
            if reading is not None and happened(reading):
                return True
            self.wait(POLL_S)
        return False

    def until_lives(self) -> None:
        while not self._remote.lives():
            self.wait(POLL_S)

    def _reading(self) -> Reading | None:
        try:
            found = self._remote.ask("status")["reading"]
        except NotReachable:
            return None
        return decode(Reading, json.dumps(found)) if found else None


COLD = 4
"""The first batches load classes and start Python workers: they are not measured."""
BURST, BURST_S = 6.0, 4.0
"""More than a trigger's worth of rows, so that batches differ in size: this many times the first rate, for so many seconds."""
MEASURED = 6
"""Batches from the burst on that are measured."""
SPARE = 0.8
"""The share of the capacity of all executors that the peak of the load may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """The peak of a load in rows/s, the capacity of all executors on this machine where it could be measured, and how many times the load is sent."""

    peak_rows_per_s: float
    capacity_rows_per_s: float | None
    executors: int

    @property
    def times(self) -> float:
        """
        >>> [Fitted(peak_rows_per_s=1000.0, capacity_rows_per_s=each, executors=4).times for each in (2000.0, 500.0)]
        [1.0, 0.4]
        """
        return 1.0 if self.capacity_rows_per_s is None else min(1.0, round(SPARE * self.capacity_rows_per_s / self.peak_rows_per_s, 2))

    def words(self) -> str:
        if self.capacity_rows_per_s is None:
            return "The warm-up was too short to measure this machine: the load is as declared."
        carries = f"{self.executors} executors carry about {self.capacity_rows_per_s:,.0f} rows/s on this machine"
        return f"{carries}: the load is " + ("as declared." if self.times == 1 else f"{self.times:g} times the declared one.")


def begin_load(operator: Operator, lasts_s: float) -> None:
    """Warm the job up at the first rate of its trace, fit the load to the machine, and let it run for `lasts_s` from then on.

    The start and the warm-up have what is left of the time of a demonstration.
    """
    spec = operator.spec
    rates = curve_of(recipe_of({**spec.sources[0].options, "folder": spec.folder})).rate_at(np.arange(lasts_s + 1.0))
    first, batches, warm_by_s = float(rates[0]), list[BatchMeasured](), TOTAL_S - CLOSING_S - lasts_s
    operator.until_lives()
    operator.ask("pause", reason="the job warms up")
    operator.ask("rate", value=f"{first:g}")
    if operator.until(lambda reading: _newest(reading) >= COLD, warm_by_s - BURST_S):
        operator.ask("rate", value=f"{BURST * first:g}")
        operator.wait(BURST_S)
        operator.ask("rate", value=f"{first:g}")
        operator.until(Collected(batches, MEASURED), warm_by_s)
    fitted = fit(spec, batches, float(rates.max()))
    operator.said.append(fitted.words())
    operator.ask("rate", value=f"restart:{fitted.times:g}")
    operator.ask("resume")
    operator.wait(lasts_s)


class Collected:
    """Collects the batches of readings, each once, and says when there are enough of them and nothing waits any more."""

    def __init__(self, batches: list[BatchMeasured], enough: int) -> None:
        self._batches = batches
        self._enough = enough
        self._known: int | None = None

    def __call__(self, reading: Reading) -> bool:
        (query,) = reading.queries
        if query.batch_id is not None and query.batch_id != self._known:
            self._batches += batches_measured(query, reading, self._known)
            self._known = query.batch_id
        return len(self._batches) >= self._enough and reading.excess_lag_rows == 0


def fit(spec: JobSpec, batches: Sequence[BatchMeasured], peak_rows_per_s: float) -> Fitted:
    """Fit a load to what the batches show of this machine, others on it included."""
    cost = BatchCost(partitions=int(spec.sources[0].options["partitions"])).learn([replace(each, taken=0.0) for each in batches])
    capacity = cost.capacity(spec.limits.max_executors, cadence_of(spec.queries[0].trigger, spec.promises))
    known = capacity.value if isinstance(capacity, Estimate) and 0 < capacity.value < float("inf") else None
    return Fitted(peak_rows_per_s=peak_rows_per_s, capacity_rows_per_s=known, executors=spec.limits.max_executors)


def _newest(reading: Reading) -> int:
    return max((query.batch_id or 0 for query in reading.queries), default=0)


def commands(*given: tuple[float, str, dict[str, Any]]) -> Callable[[Operator, float], None]:
    """Return a script that gives commands at their times, in seconds since the job's start, and ends after `lasts_s`."""

    def script(operator: Operator, lasts_s: float) -> None:
        for at_s, verb, arguments in given:
            operator.until(lambda reading, at_s=at_s: reading.uptime_s >= at_s)  # type: ignore[misc]
            operator.ask(verb, **arguments)
        operator.until(lambda reading: reading.uptime_s >= lasts_s)

    return script
