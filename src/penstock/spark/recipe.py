"""How a query is started, so that it can be started again with other settings."""

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
from penstock.spark.query_settings import QuerySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputTopic:
    """The topic a query writes to: the options of the client (Java's names), and the field of a record with the arrival time of its input."""

    topic: str
    client: Mapping[str, str]
    arrival_field: str


class Recipe(Protocol):
    """Starts one query; a StreamingQuery cannot be restarted by itself.

    The defaults are those of a script's query: Spark checks it at its start, and what it needs is unknown before.
    """

    @property
    def checkpoint(self) -> str | None: ...

    @property
    def positions(self) -> Sequence[Positions | None]: ...

    @property
    def unable(self) -> Mapping[str, str]:
        """The knobs that this query does not have, each with what would change that."""

    @property
    def output(self) -> OutputTopic | None:
        """The topic it writes to, if that can be sampled."""

    @property
    def slots_needed(self) -> int:
        """The slots it holds all the time in Real-Time Mode; 0 in micro-batches, whose tasks can wait for each other, and if unknown."""
        return 0

    def check(self, settings: QuerySettings) -> None:
        """Raise a `UserMistake`, a line for each thing Spark would refuse, if the query cannot be started with these settings."""
        return

    def ready(self, settings: QuerySettings) -> bool:
        """Return whether a start can succeed now: in Real-Time Mode it needs a slot for every task."""
        return True

    def start(self, settings: QuerySettings) -> StreamingQuery: ...


_shuffle_partitions = threading.Lock()


def started(session: SparkSession, writer: Any, partitions: int | None) -> StreamingQuery:
    """Start a writer's query with a number of shuffle partitions: Spark takes it from the session at the start, and keeps it in the checkpoint."""
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
    """Return the source's DataFrame with its arrival times observed: Spark reports their quantiles with every batch; rows pass unchanged."""
    if arrival_column is None:
        return frame
    micros = F.unix_micros(F.col(arrival_column).cast("timestamp"))
    quantiles = F.percentile_approx(micros, list(ARRIVAL_PROBABILITIES), 500)
    return frame.observe(f"{OBSERVED}{index}", F.count(F.lit(1)).alias("rows"), quantiles.alias("arrivals"))
