"""What to simulate a job with, found in its own history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from penstock.core.domain.fault import Fault
from penstock.core.domain.trigger import Plant
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import GraphQuery, QueryGraph, Simulable
from penstock.simulator.sharing import Scheduler

Settings = MicroBatchSettings | ContinuousSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Settings of a query, found in its readings; `notes` say in words what was not to be found.

    `likely` are the same with rows as dear, and as cheap, as the measurements allow in four of five cases; empty where nobody knows how wrong they may be.
    """

    settings: Settings
    likely: tuple[Settings, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedQuery:
    """One query of a job, and what arrived for it; `likely` are its settings with rows as dear, and as cheap, as they may be, if anybody knows.

    `notes` say in words what its readings did not tell.
    """

    settings: Settings
    arrivals: Arrivals
    likely: tuple[Settings, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.settings.query

    def each(self, change: Callable[[Settings], Settings]) -> CalibratedQuery:
        """With all of its settings changed alike."""
        return replace(self, settings=change(self.settings), likely=tuple(map(change, self.likely)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What to simulate a job with; `notes` say in words what its history did not tell, and what was taken for it.

    Its queries share their executors, by `scheduler`; the busiest comes first. The recorded run counts from `start_s`, when that had caught up with its
    start, on `executors`, until `end_s`; `faults` are those that struck it then. `left_out` are the names of queries that are not simulated.
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
        """Those of the busiest query."""
        return self.queries[0].settings

    @property
    def arrivals(self) -> Arrivals:
        """What arrived for all queries together."""
        return Arrivals.summed([query.arrivals for query in self.queries])

    def engine(self, from_s: float = 0.0) -> Simulable:
        """The job, with arrivals whose times count from then on."""
        return self._engine([query.settings for query in self.queries], from_s)

    def likely(self, from_s: float = 0.0) -> tuple[Simulable, ...]:
        """The same with rows of all queries as dear, and as cheap, as they may be; none where nobody knows of any of them."""
        ends = max((len(query.likely) for query in self.queries), default=0)
        return tuple(self._engine([query.likely[end] if query.likely else query.settings for query in self.queries], from_s) for end in range(ends))

    def _engine(self, settings: Sequence[Any], from_s: float) -> Simulable:
        if len(self.queries) == 1:
            return cast(Settings, settings[0])
        arrivals = (query.arrivals.moved(-from_s) for query in self.queries)
        queries = tuple(GraphQuery(settings=one, arrivals=came) for one, came in zip(settings, arrivals, strict=True))
        return QueryGraph(queries=queries, scheduler=self.scheduler)

    def counts(self, at_s: float) -> bool:
        """Whether what was recorded then is simulated."""
        return self.start_s <= at_s <= self.end_s
