"""Several queries that share the executors of one simulated engine, some of which read what others write."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.load import Load, Rows, Topic
from penstock.simulator.sharing import Scheduler

SettingsOf = TypeVar("SettingsOf", MicroBatchSettings, ContinuousSettings)

OF_THE_ENGINE: dict[type, tuple[str, ...]] = {
    MicroBatchSettings: ("cores_per_executor", "up_s", "up_spread", "down_s", "gap_wait_s", "replace_s", "retry_s", "timeout_s", "warm_up_factor", "warm_up_s"),
    ContinuousSettings: ("downtime_s", "timeout_s", "up_s", "down_s", "replays", "grows_live", "idle", "noise", "skew"),
}
"""The settings that all queries of a graph have in common, as they share their executors."""
LEAST_SHARE = 1e-9
"""The share of a load for a query that reads nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphQuery(Generic[SettingsOf]):
    """A query that reads a `share` of the load, or its own `arrivals`, or the output of the query named `reads`; it writes `selectivity` rows for each row."""

    settings: SettingsOf
    reads: str | None = None
    share: float = 1.0
    arrivals: Arrivals | None = None
    selectivity: float = 1.0

    @property
    def name(self) -> str:
        return self.settings.query

    def instances(self, count: int) -> tuple[GraphQuery[SettingsOf], ...]:
        """Return `count` instances of this query, each with its part of the rows; an instance reads the instance of its number.

        >>> clicks = GraphQuery(settings=MicroBatchSettings(query="clicks"), share=0.6)
        >>> [(each.name, round(each.share, 3)) for each in clicks.instances(3)]
        [('clicks-1', 0.2), ('clicks-2', 0.2), ('clicks-3', 0.2)]
        """
        if count == 1:
            return (self,)
        arrivals = None if self.arrivals is None else Arrivals.through(self.arrivals.time_s, np.divide(self.arrivals.rate_rows_per_s, count))
        return tuple(
            replace(
                self,
                settings=replace(self.settings, query=f"{self.name}-{number}"),
                reads=None if self.reads is None else f"{self.reads}-{number}",
                share=self.share / count,
                arrivals=arrivals,
            )
            for number in range(1, count + 1)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryGraph(Generic[SettingsOf]):
    """Queries that share executors by `scheduler`; each comes after the query that it reads."""

    queries: tuple[GraphQuery[SettingsOf], ...]
    scheduler: Scheduler = "fair"

    def __post_init__(self) -> None:
        names: list[str] = []
        for query in self.queries:
            if query.name in names:
                raise UserMistake(f'there are two queries "{query.name}": each needs a name of its own')
            if query.reads is not None and query.reads not in names:
                raise UserMistake(f'query "{query.name}" reads "{query.reads}": no query before it has that name')
            if not (0 < query.share < math.inf and 0 <= query.selectivity < math.inf):
                raise UserMistake(f'query "{query.name}": a share above 0 and a selectivity of at least 0 are needed')
            names.append(query.name)
        if not names:
            raise UserMistake("a graph needs at least one query")
        self._check_shared_settings()

    def _check_shared_settings(self) -> None:
        first = self.queries[0].settings
        for query in self.queries:
            other = next((name for name in OF_THE_ENGINE[type(first)] if getattr(query.settings, name) != getattr(first, name)), None)
            if other is not None:
                raise UserMistake(f'query "{query.name}": {other} belongs to the executors that all queries share, and must be that of "{first.query}"')
        if self.scheduler == "fifo" and isinstance(first, ContinuousSettings):
            raise UserMistake('scheduler: found "fifo", tasks that run all the time share executors only by "fair"')

    @classmethod
    def of(cls, settings: SettingsOf | QueryGraph[SettingsOf]) -> QueryGraph[SettingsOf]:
        """Return a graph of these settings, or the graph itself."""
        return settings if isinstance(settings, QueryGraph) else QueryGraph(queries=(GraphQuery(settings=settings),))

    @property
    def is_continuous(self) -> bool:
        return isinstance(self.queries[0].settings, ContinuousSettings)

    def sources(self, load: Load) -> dict[str, Load]:
        """Return the load of each query that reads from outside, by its name."""
        return {
            query.name: load.times(query.share) if query.arrivals is None else Load.of(query.arrivals, load.start_s)
            for query in self.queries
            if query.reads is None
        }

    def topics(self) -> dict[str, Topic]:
        """Return a topic for each query that others read, by the name of that query."""
        return {query.reads: Topic() for query in self.queries if query.reads is not None}

    def arrivals(self, load: Arrivals) -> Arrivals:
        """Return what arrives from outside for all queries together."""
        return Arrivals.summed([load.times(query.share) if query.arrivals is None else query.arrivals for query in self.queries if query.reads is None])

    def of_one_load(self, load: Arrivals) -> QueryGraph[SettingsOf]:
        """Return the same queries on one load: each reads as large a share of it as it has of all rows of `load`.

        >>> own = GraphQuery(settings=MicroBatchSettings(query="own"), arrivals=Arrivals.constant(30.0))
        >>> graph = QueryGraph(queries=(own, GraphQuery(settings=MicroBatchSettings(query="half"), share=0.5)))
        >>> [each.share for each in graph.of_one_load(Arrivals.through((0.0, 100.0), (20.0, 20.0))).queries]
        [0.75, 0.25]
        """
        span_s = load.time_s[0], load.last_s
        sources = [query for query in self.queries if query.reads is None]
        rows = {query.name: query.share * load.rows(*span_s) if query.arrivals is None else query.arrivals.rows(*span_s) for query in sources}
        total = sum(rows.values())
        shares = {name: max(count / total, LEAST_SHARE) if total > 0 else 1 / len(sources) for name, count in rows.items()}
        return replace(self, queries=tuple(replace(each, arrivals=None, share=shares[each.name]) if each.name in shares else each for each in self.queries))

    def read_by(self, query: GraphQuery[SettingsOf], sources: dict[str, Load], topics: dict[str, Topic]) -> Rows:
        return sources[query.name] if query.reads is None else topics[query.reads]


Simulable = ContinuousSettings | MicroBatchSettings | QueryGraph[ContinuousSettings] | QueryGraph[MicroBatchSettings]
"""One query, or several that share their executors."""


def configured(job: Simulable, configuration: Configuration) -> Simulable:
    """Return the job with its queries as they are configured; a query that is not named stays as it is.

    >>> from penstock.core.domain.trigger import Trigger
    >>> wanted = QueryConfiguration(trigger=Trigger(interval_s=2.0), partitions=6)
    >>> job = configured(MicroBatchSettings(query="q"), Configuration(executors=3, queries={"q": wanted}))
    >>> isinstance(job, MicroBatchSettings) and (job.trigger.interval_s, job.partitions)
    (2.0, 6)
    """
    graph: Any = QueryGraph.of(job)
    unknown = [name for name in configuration.queries if name not in [query.name for query in graph.queries]]
    if unknown:
        raise UserMistake(f'there is no query "{unknown[0]}"')
    queries = tuple(
        replace(each, settings=with_knobs(each.settings, configuration.queries[each.name])) if each.name in configuration.queries else each
        for each in graph.queries
    )
    return replace(graph, queries=queries) if isinstance(job, QueryGraph) else queries[0].settings  # type: ignore[no-any-return]


def with_knobs(settings: SettingsOf, knobs: QueryConfiguration) -> SettingsOf:
    if knobs.kept_share < 1.0:
        raise UserMistake(f'query "{settings.query}": found a kept share of {knobs.kept_share:g}, shedding is not simulated')
    if isinstance(settings, MicroBatchSettings):
        partitions = settings.partitions if knobs.partitions is None else knobs.partitions
        return replace(settings, trigger=knobs.trigger, rate_limit_rows_per_s=knobs.rate_limit_rows_per_s, partitions=partitions)
    if knobs.trigger.kind != "real_time" or knobs.partitions is not None:
        raise UserMistake(f'query "{settings.query}": a continuous job takes a real-time trigger, and has no partitions of state; found {knobs}')
    return replace(settings, interval_s=knobs.trigger.interval_s, rate_limit_rows_per_s=knobs.rate_limit_rows_per_s)
