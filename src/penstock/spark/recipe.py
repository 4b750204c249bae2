"""How a query comes to be, so that it can be started again with other settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.monitor.facts import ARRIVAL_PROBABILITIES
from penstock.spark.positions import Positions
from penstock.spark.progress import OBSERVED
from penstock.spark.settings import QuerySettings


class Recipe(Protocol):
    """Starts one query. A StreamingQuery cannot be rebuilt from itself: this is what Penstock keeps instead."""

    @property
    def checkpoint(self) -> str | None: ...

    @property
    def positions(self) -> Sequence[Positions | None]: ...

    @property
    def unable(self) -> Mapping[str, str]:
        """The knobs that cannot be turned for this query, each with what would change that."""
        ...

    @property
    def output(self) -> OutputTopic | None:
        """The topic it writes to, if that can be looked at."""
        ...

    @property
    def slots_needed(self) -> int:
        """The slots it takes all the time, in Real-Time Mode; 0 in micro-batches, whose tasks wait for each other, and where it is not known."""
        ...

    def check(self, settings: QuerySettings) -> None:
        """Raise a `UserMistake`, a line for each thing Spark would refuse later, if the query cannot be started so."""
        ...

    def ready(self, settings: QuerySettings) -> bool:
        """Whether what a start needs is there at this moment: in Real-Time Mode a slot for every task."""
        ...

    def start(self, settings: QuerySettings) -> StreamingQuery: ...


class OwnersRecipe:
    """The part of a recipe whose query is its owner's script's: Spark checks it at its start, and what it needs is not known before."""

    @property
    def slots_needed(self) -> int:
        return 0

    def check(self, settings: QuerySettings) -> None:
        pass

    def ready(self, settings: QuerySettings) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTopic:
    """Where a query writes to in Kafka: the options of the client (Java's names), and which field of a record tells when its input came."""

    topic: str
    client: Mapping[str, str]
    arrival_field: str


_shuffle_partitions = threading.Lock()


def started(session: SparkSession, writer: Any, partitions: int | None) -> StreamingQuery:
    """Start a writer's query with so many shuffle partitions: Spark takes them from the session at the start, and keeps them in the checkpoint."""
    if partitions is None:
        return writer.start()  # type: ignore[no-any-return]
    with _shuffle_partitions:
        before = session.conf.get("spark.sql.shuffle.partitions")
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))
        try:
            return writer.start()  # type: ignore[no-any-return]
        finally:
            session.conf.set("spark.sql.shuffle.partitions", str(before))


def observed(frame: Any, index: int, arrival_column: str | None) -> Any:
    """The source's DataFrame with its arrival times observed: Spark reports their quantiles with every batch, the rows pass unchanged."""
    if arrival_column is None:
        return frame
    micros = F.unix_micros(F.col(arrival_column).cast("timestamp"))
    quantiles = F.percentile_approx(micros, list(ARRIVAL_PROBABILITIES), 500)
    return frame.observe(f"{OBSERVED}{index}", F.count(F.lit(1)).alias("rows"), quantiles.alias("arrivals"))
