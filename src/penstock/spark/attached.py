"""A query that somebody else started: watched as it is, restarted only through a function that is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.domain.trigger import Trigger
from penstock.spark.plans import leaves, source_of
from penstock.spark.positions import Positions
from penstock.spark.positions_of import positions_of
from penstock.spark.recipe import OutputTopic, OwnersRecipe
from penstock.spark.settings import QuerySettings, parse_spark_trigger

REMEDY = "start it with penstock.start(writer), or give penstock.attach(query, restart=...)"
KNOBS = ("trigger", "rate-limit", "partitions", "restart", "shedding")

RestartFunction = Callable[[QuerySettings], StreamingQuery]


class AttachedRecipe(OwnersRecipe):
    """The first `start` hands out the query as it runs; later ones call the owner's `restart`, if there is one."""

    def __init__(self, query: StreamingQuery, restart: RestartFunction | None) -> None:
        self._query: StreamingQuery | None = query
        self._restart = restart
        execution: Any = query._jsq.streamingQuery()
        self.trigger: Trigger = parse_spark_trigger(str(execution.trigger()))
        self._checkpoint = str(execution.resolvedCheckpointRoot())
        sources = [source_of(node) for node in leaves(execution.analyzedPlan())]
        self._positions = [positions_of(name, options) for name, options, _ in sources]

    @property
    def checkpoint(self) -> str:
        return self._checkpoint

    @property
    def positions(self) -> Sequence[Positions | None]:
        return self._positions

    @property
    def unable(self) -> Mapping[str, str]:
        if self._restart is not None:
            return {"partitions": "an attached query's partitions are its owner's", "shedding": "an attached query's plan cannot be opened"}
        return dict.fromkeys(KNOBS, REMEDY)

    @property
    def output(self) -> OutputTopic | None:
        return None

    def start(self, settings: QuerySettings) -> StreamingQuery:
        if self._query is not None:
            query, self._query = self._query, None
            return query
        if self._restart is None:
            raise RuntimeError(f"an attached query cannot be restarted; {REMEDY}")
        return self._restart(settings)
