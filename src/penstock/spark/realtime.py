"""What Real-Time Mode requires of a query, checked before it starts: Spark itself refuses it only later."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from penstock.core.errors import UserMistake
from penstock.spark.checkpoint import StateFormat
from penstock.spark.jvm import singleton

SINKS = ("kafka", "foreach", "console", "memory")
ROCKSDB = "RocksDBStateStoreProvider"
STATE_FORMAT = 2
OPERATORS = frozenset(
    {
        "AppendColumns", "BroadcastExchange", "BroadcastHashJoin", "CollectMetrics", "ColumnarToRow", "DeserializeToObject", "EventTimeWatermark", "Exchange",
        "Expand", "Filter", "Generate", "MapElements", "MapPartitions", "Project", "ReusedExchange", "SerializeFromObject", "StateStoreRestore",
        "StateStoreSave", "StreamingDeduplicate", "TransformWithState", "Union", "UpdateEventTimeColumn",
    }
)  # fmt: skip
"""Operators that Spark allows on a stream (RealTimeModeAllowlist.scala in Spark 4.3), as a plan names them."""
PLANNED_OTHERWISE = frozenset({"AdaptiveSparkPlan", "HashAggregate", "ObjectHashAggregate", "SortAggregate"})
"""Operators of the plan for micro-batches, the only one known before the start; in Real-Time Mode Spark plans others in their place."""
SORTS_ITS_INPUT = re.compile("SortAggregate|SortMergeJoin|Session")
IN_WORDS = (
    (re.compile("Python|Pandas|InArrow|PySpark"), "a Python operator (a UDF, mapInPandas, ...; Spark's own functions are allowed)"),
    (re.compile("StreamingSymmetricHashJoin"), "a join of two streams"),
    (re.compile("Join|CartesianProduct"), "a join that broadcasts no table by its key (write F.broadcast(table), and join by equal columns)"),
    (re.compile("Session"), "a session window (tumbling and sliding ones are allowed)"),
    (re.compile("FlatMapGroupsWithState"), "flatMapGroupsWithState"),
    (re.compile("Limit"), "a limit on a stream"),
    (re.compile("StreamingDeduplicateWithinWatermark"), "dropDuplicatesWithinWatermark (dropDuplicates is allowed)"),
    (re.compile("Exchange"), "range partitioning (repartitionByRange, ...; repartition is allowed)"),
    (re.compile("Sort"), "a sort"),
)
_SHUFFLED_TO = re.compile(r"Exchange (?:\w*partitioning\((?:.*, )?(\d+)\), \w|(SinglePartition))", re.IGNORECASE)
SOURCE = "StreamingRelation"
_NODE = re.compile(r"(?P<drawing>(?:[: ]  )*[:+]- )?(?:\*(?:\(\d+\) )?)?(?P<text>(?P<name>\w+).*)")
_LEVEL = len("+- ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An operator of a plan: its name, its line without the drawing, and the name of the operator that takes its rows."""

    name: str
    text: str
    above: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """The tasks that run at the same time in Real-Time Mode: those that read, and those after each shuffle."""

    source_partitions: int
    shuffle_partitions: tuple[int, ...]

    @property
    def needed(self) -> int:
        return self.source_partitions + sum(self.shuffle_partitions)

    def words(self) -> str:
        """
        >>> Slots(source_partitions=4, shuffle_partitions=(2,)).words()
        '6 slots (4 partitions of its source + 2 shuffle partitions)'
        """
        shuffles = "".join(f" + {each} shuffle partitions" for each in self.shuffle_partitions)
        return f"{self.needed} slots ({self.source_partitions} partitions of its source{shuffles})"


def plan_of(frame: DataFrame) -> str:
    jvm: Any = frame.sparkSession._jvm
    return str(frame._jdf.queryExecution().explainString(singleton(jvm.org.apache.spark.sql.execution, "SimpleMode")))


def shuffles_in(plan: str, stateful: int | None) -> tuple[int, ...]:
    """Return the partitions after each shuffle of the stream; those of a stateful operator are `stateful`, from the checkpoint, if given.

    >>> shuffles_in("Exchange hashpartitioning(key#1, 3), REQUIRED_BY_STATEFUL_OPERATOR, [plan_id=7]\\n+- StreamingRelation kafka", 5)
    (5,)
    >>> shuffles_in("Exchange SinglePartition, ENSURE_REQUIREMENTS\\n+- Exchange RoundRobinPartitioning(8), REPARTITION\\n   +- StreamingRelation kafka", None)
    (1, 8)
    """
    found = ((node.text, shuffled_to(node.text)) for node in nodes_of_stream(plan))
    return tuple(stateful or partitions if "STATEFUL" in text else partitions for text, partitions in found if partitions is not None)


def shuffled_to(text: str) -> int | None:
    """Return the partitions that an operator shuffles to; None if it does not shuffle.

    >>> shuffled_to("Exchange hashpartitioning(pmod(x#1, 7), 8), ENSURE_REQUIREMENTS, [plan_id=7]")
    8
    >>> shuffled_to("Exchange hashpartitioning(cast(a#1 as decimal(10,2)), 4), REPARTITION_BY_NUM, [plan_id=9]")
    4
    """
    exchange = _SHUFFLED_TO.match(text)
    return None if exchange is None else int(exchange[1] or 1)


def refused_operators(plan: str) -> list[str]:
    """Return the operators on a stream that Spark does not allow, in words."""
    return list(dict.fromkeys(operator_words(node.name) for node in nodes_of_stream(plan) if not is_allowed(node)))


def is_allowed(node: Node) -> bool:
    """Return whether Spark allows this operator, or plans another in its place."""
    if node.name == "Sort" and SORTS_ITS_INPUT.search(node.above or ""):
        return True
    return node.name in OPERATORS | PLANNED_OTHERWISE and not node.text.startswith("Exchange rangepartitioning")


def operator_words(name: str) -> str:
    """
    >>> operator_words("StreamingSymmetricHashJoin"), operator_words("Coalesce")
    ('a join of two streams', 'the operator Coalesce')
    """
    return next((words for pattern, words in IN_WORDS if pattern.search(name)), f"the operator {name}")


def refusals(
    *, sources: Sequence[tuple[str, Mapping[str, str]]], sink: str, output_mode: str, plan: str, state: StateFormat | None, slots: Slots | None,
    available: tuple[int, int], taken: int,
) -> list[str]:  # fmt: skip
    """Return a line for each thing Spark would refuse; `available` is (executors, slots of each); other queries have `taken` some slots."""
    lines = []
    others = [name for name, _ in sources if name != "kafka"]
    if others:
        lines.append(f'its source has the format "{others[0]}", only "kafka" is allowed: feed a topic with a trace ([kafka.feeds.TOPIC])')
    subscriptions = [frozenset(options.items()) for _, options in sources]
    if len(set(subscriptions)) < len(subscriptions):
        lines.append("it reads the same source twice, once is allowed")
    if sink not in SINKS:
        lines.append(f'its sink is "{sink}", one of {", ".join(SINKS)} is allowed')
    if output_mode != "update":
        lines.append(f'its output_mode is "{output_mode}", only "update" is allowed')
    lines += [f"its plan has {what}, which is not allowed" for what in refused_operators(plan)]
    if state is not None and (state.version < STATE_FORMAT or state.provider != ROCKSDB):
        lines.append(
            f"its checkpoint keeps state with {state.provider} in format {state.version}, {ROCKSDB} in format {STATE_FORMAT} is needed: "
            "a query that began otherwise needs a new checkpoint"
        )
    return lines if slots is None else lines + lacking(slots, available, taken)


def lacking(slots: Slots, available: tuple[int, int], taken: int) -> list[str]:
    """Return a line if there are too few slots.

    >>> lacking(Slots(source_partitions=4, shuffle_partitions=(2,)), (1, 8), taken=6)[0].partition(":")[0]
    'it needs 6 slots (4 partitions of its source + 2 shuffle partitions), there are 8 (1 executors of 8) and other queries have taken 6'
    """
    executors, each = available
    if slots.needed + taken <= executors * each:
        return []
    beside = f" and other queries have taken {taken}" if taken else ""
    cores = -(-(slots.needed + taken) // max(1, executors))
    there = f"there are {executors * each} ({executors} executors of {each}){beside}"
    return [f"it needs {slots.words()}, {there}: set spark.executor.cores to {cores} or more, or fewer shuffle partitions"]


def refuse(query: str, lines: Sequence[str]) -> None:
    """Raise these lines, if any, each with the query's name."""
    if lines:
        raise UserMistake(*(f"query {query} cannot run in Real-Time Mode: {line}" for line in lines))


def nodes_of_stream(plan: str) -> list[Node]:
    """Return the operators on a stream, from the last one down, from the tree that Spark draws; without its sources and without static tables.

    >>> drawn = '''== Physical Plan ==
    ... *(1) BroadcastHashJoin [a#1], [a#2], Inner, BuildRight
    ... :- *(1) Filter (language#1 = Python)
    ... :  +- StreamingRelation kafka, [value#1]
    ... +- BroadcastExchange HashedRelationBroadcastMode, [plan_id=7]
    ...    +- Sort [a#2 ASC NULLS FIRST], false, 0'''
    >>> [node.name for node in nodes_of_stream(drawn)]
    ['BroadcastHashJoin', 'Filter']
    """
    found: list[Node] = []
    path: list[int] = []
    passed: set[int] = set()
    for line in plan.splitlines():
        drawn = _NODE.match(line)
        if drawn is None or (found and not drawn["drawing"]):  # a heading, or the rest of a literal with a line break
            continue
        del path[len(drawn["drawing"] or "") // _LEVEL :]
        if drawn["name"] == SOURCE:
            passed.update(path)
        found.append(Node(name=drawn["name"], text=drawn["text"], above=found[path[-1]].name if path else None))
        path.append(len(found) - 1)
    return [found[index] for index in sorted(passed)]
