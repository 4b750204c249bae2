"""How a query comes to be, so that it can be started again with other settings."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.positions import Positions
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

    def start(self, settings: QuerySettings) -> StreamingQuery: ...


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
    from pyspark.sql import functions as F  # noqa: N812

    from penstock.spark.progress import OBSERVED, PROBABILITIES

    if arrival_column is None:
        return frame
    micros = F.unix_micros(F.col(arrival_column).cast("timestamp"))
    quantiles = F.percentile_approx(micros, list(PROBABILITIES), 500)
    return frame.observe(f"{OBSERVED}{index}", F.count(F.lit(1)).alias("rows"), quantiles.alias("arrivals"))
