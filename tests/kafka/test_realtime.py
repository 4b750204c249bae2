from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from penstock.core.errors import UserMistake
from penstock.spark.checkpoint import StateFormat
from penstock.spark.realtime import Slots, plan_of, refusals, refuse, refused_operators, shuffles_in
from penstock.spark.recipe import observed

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


def drawn(*operators: str) -> str:
    """A plan as Spark draws it: these operators one below the other, and the stream that they read."""
    lines = [*operators, "StreamingRelation kafka, [key#7, value#8, timestamp#12]"]
    below = (f"{'   ' * depth}+- {line}" for depth, line in enumerate(lines[1:]))
    return "\n".join(["== Physical Plan ==", lines[0], *below])


GOOD: dict[str, Any] = {
    "sources": [("kafka", {"subscribe": "clicks"})],
    "sink": "kafka",
    "output_mode": "update",
    "plan": drawn("*(2) Project [key#1]", "Exchange hashpartitioning(key#1, 2), REQUIRED_BY_STATEFUL_OPERATOR, [plan_id=9]", "*(1) Filter (key#1 = a)"),
    "state": StateFormat(version=2, provider="RocksDBStateStoreProvider", partitions=2),
    "slots": Slots(source_partitions=4, shuffle_partitions=(2,)),
    "available": (2, 8),
    "taken": 0,
}
BROADCAST = """== Physical Plan ==
AdaptiveSparkPlan isFinalPlan=false
+- BroadcastHashJoin [key#1], [key#2], LeftOuter, BuildRight, false
   :- CollectMetrics source-0, [count(1) AS rows#5L]
   :  +- StreamingRelation kafka, [key#7, value#8]
   +- BroadcastExchange HashedRelationBroadcastMode(List(input[0, string, false]),false), [plan_id=11]
      +- Sort [key#2 ASC NULLS FIRST], true, 0
         +- Exchange rangepartitioning(key#2 ASC NULLS FIRST, 50), ENSURE_REQUIREMENTS, [plan_id=10]
            +- BatchEvalPython [f(key#2)#3], [pythonUDF0#4]
               +- FileScan parquet [key#2]"""
"""The table is made before the stream begins: Spark checks none of that, and no slot waits for it."""
MERGED = """== Physical Plan ==
SortMergeJoin [key#1], [key#2], Inner
:- Sort [key#1 ASC NULLS FIRST], false, 0
:  +- Exchange hashpartitioning(key#1, 4), ENSURE_REQUIREMENTS, [plan_id=5]
:     +- StreamingRelation kafka, [key#7, value#8]
+- Sort [key#2 ASC NULLS FIRST], false, 0
   +- FileScan parquet [key#2]"""


def test_a_query_that_fits_is_not_refused_even_if_it_takes_the_last_slot() -> None:
    assert refusals(**GOOD) == [] and refusals(**{**GOOD, "taken": 10}) == []


@pytest.mark.parametrize(
    "plan",
    [
        drawn("*(1) Project [key#1 AS python#2]", "*(1) Filter (language#1 = Python)"),
        drawn("*(1) Filter (SessionWindow#1 = StreamingGlobalLimit 5)"),
        drawn("*(1) Filter (text#1 = first line\nBatchEvalPython [second line])"),
        drawn("StateStoreSave [key#1]", "SortAggregate(key=[key#1], functions=[max(name#2)])", "Sort [key#1 ASC NULLS FIRST], false, 0", "Project [key#1]"),
        drawn("StreamingDeduplicate [key#1], state info [ checkpoint = <unknown> ]", "EventTimeWatermark timestamp#3, 10 seconds", "Generate explode(a#1)"),
        BROADCAST,
    ],
)
def test_what_only_looks_like_a_refused_operator_is_none(plan: str) -> None:
    assert refusals(**{**GOOD, "plan": plan}) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sources": [("trace", {})]}, 'its source has the format "trace", only "kafka" is allowed: feed a topic with a trace ([kafka.feeds.TOPIC])'),
        ({"sources": [("kafka", {"subscribe": "a"}), ("kafka", {"subscribe": "a"})]}, "it reads the same source twice, once is allowed"),
        ({"sink": "parquet"}, 'its sink is "parquet", one of kafka, foreach, console, memory is allowed'),
        ({"sink": "foreach_batch"}, 'its sink is "foreach_batch", one of kafka, foreach, console, memory is allowed'),
        ({"output_mode": "append"}, 'its output_mode is "append", only "update" is allowed'),
        ({"plan": drawn("*(1) Project [key#1]", "BatchEvalPython [f(key#1)#2], [pythonUDF0#3]")}, "its plan has a Python operator"),
        ({"plan": drawn("MapInPandas f(key#1), [key#2], false")}, "its plan has a Python operator"),
        ({"plan": drawn("TransformWithStateInPySpark f(key#1)")}, "its plan has a Python operator"),
        ({"plan": drawn("StreamingSymmetricHashJoin [a#1], [a#2], Inner")}, "its plan has a join of two streams"),
        ({"plan": drawn("MergingSessions [key#1]", "*(1) Sort [key#1 ASC NULLS FIRST], false, 0")}, "its plan has a session window"),
        ({"plan": drawn("StreamingGlobalLimit 5", "StreamingLocalLimit 5")}, "its plan has a limit on a stream"),
        ({"plan": drawn("StreamingDeduplicateWithinWatermark [key#1]")}, "its plan has dropDuplicatesWithinWatermark (dropDuplicates is allowed)"),
        ({"plan": drawn("Exchange rangepartitioning(a#1 ASC NULLS FIRST, 4), REPARTITION_BY_NUM, [plan_id=3]")}, "its plan has range partitioning"),
        ({"plan": drawn("*(1) Sort [key#1 ASC NULLS FIRST], false, 0")}, "its plan has a sort"),
        ({"plan": drawn("Coalesce 1")}, "its plan has the operator Coalesce, which is not allowed"),
        ({"plan": MERGED}, "its plan has a join that broadcasts no table by its key (write F.broadcast(table), and join by equal columns)"),
        ({"state": StateFormat(version=1, provider="RocksDBStateStoreProvider", partitions=2)}, "in format 1, RocksDBStateStoreProvider in format 2 is needed"),
        (
            {"state": StateFormat(version=2, provider="HDFSBackedStateStoreProvider", partitions=2)},
            "its checkpoint keeps state with HDFSBackedStateStoreProvider",
        ),
        (
            {"available": (2, 2)},
            "it needs 6 slots (4 partitions of its source + 2 shuffle partitions), there are 4 (2 executors of 2): set spark.executor.cores to 3 or more",
        ),
        (
            {"available": (1, 8), "taken": 6},
            "it needs 6 slots (4 partitions of its source + 2 shuffle partitions), there are 8 (1 executors of 8) and other queries have taken 6: "
            "set spark.executor.cores to 12 or more",
        ),
    ],
)
def test_each_thing_that_spark_refuses_is_one_line(changed: dict[str, Any], said: str) -> None:
    [line] = refusals(**{**GOOD, **changed})
    assert said in line


def test_several_mistakes_are_a_line_each() -> None:
    with pytest.raises(UserMistake) as raised:
        refuse("counts", refusals(**{**GOOD, "sink": "noop", "output_mode": "append"}))
    lines = str(raised.value).splitlines()
    assert len(lines) == 2 and all(line.startswith("query counts cannot run in Real-Time Mode: ") for line in lines)


def test_the_state_of_a_checkpoint_keeps_its_partitions_whatever_the_session_says() -> None:
    plan = drawn("Exchange hashpartitioning(a#1, b#2, 7), REQUIRED_BY_STATEFUL_OPERATOR", "Exchange RoundRobinPartitioning(3), REPARTITION_BY_NUM")
    assert shuffles_in(plan, 5) == (5, 3)
    assert shuffles_in(plan, None) == (7, 3)


def test_shuffles_of_a_static_table_need_no_slots() -> None:
    assert shuffles_in(BROADCAST, None) == () and shuffles_in(MERGED, None) == (4,)


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


@pytest.mark.spark
@pytest.mark.parametrize("what", ALLOWED)
def test_what_spark_allows_is_not_refused_and_its_shuffles_are_counted(what: str, frames: Any, three_partitions: None) -> None:
    change, shuffles = ALLOWED[what]
    plan = plan_of(change(*frames))
    assert (refused_operators(plan), shuffles_in(plan, None)) == ([], shuffles), plan


@pytest.mark.spark
@pytest.mark.parametrize("what", REFUSED)
def test_what_spark_refuses_is_one_line(what: str, frames: Any) -> None:
    change, said = REFUSED[what]
    plan = plan_of(change(*frames))
    [line] = refused_operators(plan)
    assert line.startswith(said), plan
