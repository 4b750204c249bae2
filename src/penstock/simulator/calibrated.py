"""The result of a calibration: the settings, arrivals and faults to simulate a recorded job with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, cast

from penstock.core.domain.fault import Fault
from penstock.core.domain.trigger import Plant
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph, Simulable
from penstock.simulator.sharing import Scheduler

Settings = MicroBatchSettings | ContinuousSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Settings of a query that were found in its readings; `notes` say what the readings do not show, and what is assumed instead.

    `likely` are the settings at both ends of the 80 % interval of the cost of a row; empty where that is unknown.
    """

    settings: Settings
    likely: tuple[Settings, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedQuery(Found):
    """One query of a job, and what arrived for it."""

    arrivals: Arrivals

    @property
    def name(self) -> str:
        return self.settings.query

    def each(self, change: Callable[[Any], Settings]) -> Self:
        """Return the query with all of its settings changed alike."""
        return replace(self, settings=change(self.settings), likely=tuple(map(change, self.likely)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A calibrated job. Its queries share their executors by `scheduler`; the busiest query comes first.

    The recorded run is simulated from `start_s`, when the busiest query had caught up after its start, until `end_s`, and starts with `executors`.
    `faults` happened in that time. `left_out` are the names of queries that are not simulated. `notes` say what the history does not show.
    """

    kind: Plant
    queries: tuple[CalibratedQuery, ...]
    start_s: float
    end_s: float
    executors: int
    scheduler: Scheduler = "fair"
    faults: tuple[Fault, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings of the busiest query."""
        return self.queries[0].settings

    @property
    def arrivals(self) -> Arrivals:
        """What arrived for all queries together."""
        return Arrivals.summed([query.arrivals for query in self.queries])

    def engine(self, from_s: float = 0.0) -> Simulable:
        """Return the job, with arrivals whose times count from `from_s`."""
        return self._engine([query.settings for query in self.queries], from_s)

    def likely(self, from_s: float = 0.0) -> tuple[Simulable, ...]:
        """Return the job at both ends of the interval of the cost of a row; empty where that is unknown for all queries."""
        ends = max((len(query.likely) for query in self.queries), default=0)
        return tuple(self._engine([query.likely[end] if query.likely else query.settings for query in self.queries], from_s) for end in range(ends))

    def _engine(self, settings: Sequence[Any], from_s: float) -> Simulable:
        if len(self.queries) == 1:
            return cast(Settings, settings[0])
        arrivals = (query.arrivals.moved(-from_s) for query in self.queries)
        queries = tuple(GraphQuery(settings=one, arrivals=came) for one, came in zip(settings, arrivals, strict=True))
        return QueryGraph(queries=queries, scheduler=self.scheduler)

    def counts(self, at_s: float) -> bool:
        """Return whether this time of the recorded run is simulated."""
        return self.start_s <= at_s <= self.end_s
