"""The operators are read from the plans that Spark really draws: what it allows in Real-Time Mode passes, what it refuses has a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.spark.realtime import plan_of, refused_operators, shuffles_in
from penstock.spark.recipe import observed

pytestmark = pytest.mark.spark

Change = Callable[[DataFrame, DataFrame, DataFrame], DataFrame]
ALLOWED: dict[str, tuple[Change, tuple[int, ...]]] = {
    "names and literals": (lambda rows, table, other: rows.where("language = 'Python'").selectExpr("value python", "'Sort' as StreamingGlobalLimit"), ()),
    "an aggregation": (lambda rows, table, other: rows.groupBy("value").agg(F.count("*"), F.max("timestamp")), (3,)),
    "one that is sorted for": (lambda rows, table, other: rows.groupBy("value").agg(F.max("language")), (3,)),
    "one of lists": (lambda rows, table, other: rows.groupBy("value").agg(F.collect_list("language")), (3,)),
    "windows": (lambda rows, table, other: rows.groupBy(F.window("timestamp", "10 seconds", "5 seconds")).count(), (3,)),
    "dropDuplicates": (lambda rows, table, other: rows.dropDuplicates(["value"]), (3,)),
    "explode": (lambda rows, table, other: rows.select(F.explode(F.array("value", "value")).alias("each")), ()),
    "union": (lambda rows, table, other: rows.select("value").union(other.select("value")), ()),
    "repartition": (lambda rows, table, other: rows.repartition(7, F.expr("pmod(value, 5)"), F.expr("cast(value as decimal(10,2))")), (7,)),
    "a broadcast table": (lambda rows, table, other: rows.join(F.broadcast(table.orderBy("id")), F.col("value") == F.col("id")), ()),
}
REFUSED: dict[str, tuple[Change, str]] = {
    "a UDF": (lambda rows, table, other: rows.select(F.udf(str)("value")), "a Python operator"),
    "mapInArrow": (lambda rows, table, other: rows.select("value").mapInArrow(lambda batches: batches, "value long"), "a Python operator"),
    "dropDuplicatesWithinWatermark": (lambda rows, table, other: rows.dropDuplicatesWithinWatermark(["value"]), "dropDuplicatesWithinWatermark"),
    "ranges": (lambda rows, table, other: rows.repartitionByRange(4, "value"), "range partitioning"),
    "a sort": (lambda rows, table, other: rows.sortWithinPartitions("value"), "a sort"),
    "a merged table": (lambda rows, table, other: rows.join(table.hint("merge"), F.col("value") == F.col("id")), "a join that broadcasts no table"),
    "an unequal table": (lambda rows, table, other: rows.join(F.broadcast(table), F.col("value") > F.col("id")), "a join that broadcasts no table"),
    "a stream": (lambda rows, table, other: rows.join(other, "value"), "a join of two streams"),
    "a session window": (lambda rows, table, other: rows.groupBy("language", F.session_window("timestamp", "5 seconds")).count(), "a session window"),
    "a limit": (lambda rows, table, other: rows.limit(5), "a limit on a stream"),
    "coalesce": (lambda rows, table, other: rows.coalesce(1), "the operator Coalesce"),
}


@pytest.fixture(scope="module")
def frames(session: Any) -> tuple[DataFrame, DataFrame, DataFrame]:
    """A stream that is watched as Penstock does, a table, and another stream."""
    rows = observed(session.readStream.format("rate").load(), 0, "timestamp").withWatermark("timestamp", "10 seconds")
    return rows.withColumn("language", F.expr("string(value)")), session.range(10), session.readStream.format("rate").load()


@pytest.fixture
def three_partitions(session: Any) -> Any:
    before = session.conf.get("spark.sql.shuffle.partitions")
    session.conf.set("spark.sql.shuffle.partitions", "3")
    yield
    session.conf.set("spark.sql.shuffle.partitions", before)


@pytest.mark.parametrize("what", ALLOWED)
def test_what_spark_allows_is_not_refused_and_its_shuffles_are_counted(what: str, frames: Any, three_partitions: None) -> None:
    change, shuffles = ALLOWED[what]
    plan = plan_of(change(*frames))
    assert (refused_operators(plan), shuffles_in(plan, None)) == ([], shuffles), plan


@pytest.mark.parametrize("what", REFUSED)
def test_what_spark_refuses_is_one_line(what: str, frames: Any) -> None:
    change, said = REFUSED[what]
    plan = plan_of(change(*frames))
    [line] = refused_operators(plan)
    assert line.startswith(said), plan
