"""What Real-Time Mode needs of a query, checked before it starts: Spark itself says so only later, or much later."""

from __future__ import annotations

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
FORBIDDEN = (
    (
        re.compile(r"\b\w*(?:Python|Pandas|InArrow|PySpark)\w*\b"),
        "a Python operator (a UDF, mapInPandas, ...; Spark's own functions are allowed)",
    ),
    (re.compile(r"\bStreamingSymmetricHashJoin\b"), "a join of two streams"),
    (re.compile(r"\b(?:Merging|Updating)Sessions\w*\b|\bSessionWindow\w*\b"), "a session window (tumbling and sliding ones are allowed)"),
    (re.compile(r"\bFlatMapGroupsWithState\w*\b"), "flatMapGroupsWithState"),
    (re.compile(r"\bStreaming(?:Global|Local)Limit\b"), "a limit on a stream"),
)
_EXCHANGE = re.compile(r"\bExchange (?:\w*partitioning\(.*?(\d+)\)|(SinglePartition))", re.IGNORECASE)


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
    """The physical plan Spark would run, as text."""
    jvm: Any = frame.sparkSession._jvm
    return str(frame._jdf.queryExecution().explainString(singleton(jvm.org.apache.spark.sql.execution, "SimpleMode")))


def shuffles_in(plan: str, stateful: int | None) -> tuple[int, ...]:
    """The partitions after each shuffle of a plan; those of a state are what its checkpoint has, if it has one.

    >>> shuffles_in("+- Exchange hashpartitioning(key#1, 3), REQUIRED_BY_STATEFUL_OPERATOR, [plan_id=7]", 5)
    (5,)
    >>> shuffles_in("Exchange SinglePartition, ENSURE_REQUIREMENTS\\n Exchange RoundRobinPartitioning(8), REPARTITION_BY_NUM", None)
    (1, 8)
    """
    found = []
    for line in plan.splitlines():
        exchange = _EXCHANGE.search(line)
        if exchange:
            own = stateful if "STATEFUL" in line else None
            found.append(1 if exchange[2] else own or int(exchange[1]))
    return tuple(found)


def refusals(
    *, sources: Sequence[tuple[str, Mapping[str, str]]], sink: str, output_mode: str, plan: str, state: StateFormat | None,
    slots: Slots | None, available: tuple[int, int],
) -> list[str]:  # fmt: skip
    """A line for each thing Spark would refuse; `available` is (executors, slots of each)."""
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
    lines += [f"its plan has {what}, which is not allowed" for pattern, what in FORBIDDEN if pattern.search(plan)]
    if state is not None and (state.version < STATE_FORMAT or state.provider != ROCKSDB):
        lines.append(
            f"its checkpoint keeps state with {state.provider} in format {state.version}, {ROCKSDB} in format {STATE_FORMAT} is needed: "
            "a query that began otherwise needs a new checkpoint"
        )
    executors, each = available
    if slots is not None and slots.needed > executors * each:
        lines.append(
            f"it needs {slots.words()}, there are {executors * each} ({executors} executors of {each}): set spark.executor.cores to "
            f"{-(-slots.needed // max(1, executors))} or more, or fewer shuffle partitions"
        )
    return lines


def refuse(query: str, lines: Sequence[str]) -> None:
    """Raise these lines, each with the query's name."""
    if lines:
        raise UserMistake(*(f"query {query} cannot run in Real-Time Mode: {line}" for line in lines))
