"""Penstock: an autopilot for Apache Spark Structured Streaming.

In a script, one line in place of `writer.start()`:

    query = penstock.start(writer)

Importing this package is light: executors do it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.spark.handle import QueryHandle

__version__ = "0.1.0"
__all__ = ["__version__", "attach", "register", "start"]


def start(
    writer: Any, *, job: str | None = None, name: str | None = None, arrival_column: str | None = None,
    min_executors: int = 1, max_executors: int | None = None, latency_p95_s: float | None = None, recovery_s: float | None = None,
    metrics: str | None = "127.0.0.1:0", autopilot: Mapping[str, Any] | None = None, **settings: float,
) -> QueryHandle:  # fmt: skip
    """Start a streaming query under Penstock, in place of `writer.start()`.

    `job` names it for `penstock status` and the other commands (default: the application's name); `arrival_column` is the column of the source
    that says when a row arrived (default: `timestamp` for Kafka, `arrival` for a trace). The limits say how few and how many executors
    an operator or the autopilot may ask for (default: as many as run now). `autopilot` has the keys of the job file's `[autopilot]` table, such as
    `{"mode": "shadow", "policy": "daedalus"}` (default: observe). Further keywords are settings by name, such as `reading_interval_s=15`.
    The result behaves as a StreamingQuery; its `awaitTermination()` survives restarts by Penstock.
    """
    from penstock.spark.refusals import refuse_connect, refuse_other_spark

    refuse_other_spark()
    refuse_connect(writer)
    from penstock.core.domain.job import Promises
    from penstock.wiring.script import script_host, start_writer

    promises = Promises(latency_p95_s=latency_p95_s, recovery_s=recovery_s)
    metrics = None if metrics == "off" else metrics

    def host() -> Any:
        return script_host(
            writer._spark, job, min_executors=min_executors, max_executors=max_executors, promises=promises, settings=settings, metrics=metrics,
            autopilot=autopilot or {},
        )  # fmt: skip

    return start_writer(host, writer, name, arrival_column)


def attach(
    query: Any, *, restart: Callable[[Any], Any] | None = None, job: str | None = None, name: str | None = None,
    min_executors: int = 1, max_executors: int | None = None, latency_p95_s: float | None = None, recovery_s: float | None = None,
    metrics: str | None = "127.0.0.1:0", autopilot: Mapping[str, Any] | None = None, **settings: float,
) -> QueryHandle:  # fmt: skip
    """Watch a query that already runs, and scale its executors.

    Its trigger, limit, restart and shedding are out of reach, and said to be, unless `restart` is given: a function that takes the wanted
    settings (`trigger`, `rate_limit_rows_per_s`, `rows_per_batch()`) and starts the query again from its checkpoint, returning the new StreamingQuery.
    """
    from penstock.spark.refusals import refuse_connect, refuse_other_spark

    refuse_other_spark()
    refuse_connect(query)
    from pyspark.sql import SparkSession

    from penstock.core.domain.job import Promises
    from penstock.wiring.script import attach_query, script_host

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    promises = Promises(latency_p95_s=latency_p95_s, recovery_s=recovery_s)
    metrics = None if metrics == "off" else metrics

    def host() -> Any:
        return script_host(
            session, job, min_executors=min_executors, max_executors=max_executors, promises=promises, settings=settings, metrics=metrics,
            autopilot=autopilot or {},
        )  # fmt: skip

    return attach_query(host, query, name, restart)


def register(session: Any) -> None:
    """Make the formats `trace` (a source) and `ledger` (a sink) known to a session."""
    from penstock.spark.contract import register_formats

    register_formats(session)
