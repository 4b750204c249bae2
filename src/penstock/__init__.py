"""Penstock: an autopilot for Apache Spark Structured Streaming.

In a script, one line in place of `writer.start()`:

    query = penstock.start(writer)

Importing this package is light: executors do it too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.version import VERSION

if TYPE_CHECKING:
    from penstock.spark.script_query import QueryHandle

__version__ = VERSION
__all__ = ["__version__", "attach", "register", "start"]


def start(
    writer: Any, *, job: str | None = None, name: str | None = None, arrival_column: str | None = None,
    min_executors: int = 1, max_executors: int | None = None, latency_p95_s: float | None = None, recovery_s: float | None = None,
    metrics: str | None = "127.0.0.1:0", autopilot: Mapping[str, Any] | None = None, **settings: float,
) -> QueryHandle:  # fmt: skip
    """Start a streaming query under Penstock, in place of `writer.start()`.

    `job` names it for `penstock status` and the other commands (default: the application's name); `arrival_column` is the column of the source
    that says when a row arrived (default: `timestamp` for Kafka, `arrival` for a trace). The limits say how few and how many executors
    an operator or the autopilot may ask for (default: from 1 to as many as the application is configured with). `autopilot` has the keys of the
    job file's `[autopilot]` table, such as `{"mode": "shadow", "policy": "daedalus"}` (default: observe). Further keywords are
    settings by name, such as `reading_interval_s=15`.
    The result behaves as a StreamingQuery; its `awaitTermination()` survives restarts by Penstock.
    """
    _refuse_what_cannot_be_steered(writer)
    from penstock.wiring.script import script_host, start_writer

    host = partial(
        script_host, writer._spark, job, min_executors=min_executors, max_executors=max_executors, latency_p95_s=latency_p95_s, recovery_s=recovery_s,
        metrics=metrics, autopilot=autopilot, settings=settings,
    )  # fmt: skip
    return start_writer(host, writer, name, arrival_column)


def attach(
    query: Any, *, restart: Callable[[Any], Any] | None = None, job: str | None = None, name: str | None = None,
    min_executors: int = 1, max_executors: int | None = None, latency_p95_s: float | None = None, recovery_s: float | None = None,
    metrics: str | None = "127.0.0.1:0", autopilot: Mapping[str, Any] | None = None, **settings: float,
) -> QueryHandle:  # fmt: skip
    """Watch a query that already runs, and scale its executors.

    Its trigger, limit, partitions and restart are out of reach, and said to be, unless `restart` is given: a function that takes the wanted
    settings (`trigger`, `rate_limit_rows_per_s`, `rows_per_batch()`) and starts the query again from its checkpoint, returning the new StreamingQuery.
    """
    _refuse_what_cannot_be_steered(query)
    from pyspark.sql import SparkSession

    from penstock.wiring.script import attach_query, script_host

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    host = partial(
        script_host, session, job, min_executors=min_executors, max_executors=max_executors, latency_p95_s=latency_p95_s, recovery_s=recovery_s,
        metrics=metrics, autopilot=autopilot, settings=settings,
    )  # fmt: skip
    return attach_query(host, query, name, restart)


def _refuse_what_cannot_be_steered(given: Any) -> None:
    """Raise for another Spark than ours, before anything is imported that needs it."""
    from penstock.spark.refusals import refuse_connect, refuse_other_spark

    refuse_other_spark()
    refuse_connect(given)


def register(session: Any) -> None:
    """Make the formats `trace` (a source) and `ledger` (a sink) known to a session."""
    from penstock.spark.contract import register_formats

    register_formats(session)
