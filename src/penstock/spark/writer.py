"""A query given as a `DataStreamWriter`, in the place of its own `start()`.

The plan behind the writer is opened at its sources: there arrival times are observed and options (the rate limit) can be changed,
with the plan above left as it is. Spark has no public way to do that; this file is all there is of the private one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.spark.contract import ARRIVAL_COLUMNS
from penstock.spark.jvm import field_of, singleton
from penstock.spark.positions import Positions, TracePositions
from penstock.spark.recipe import observed
from penstock.spark.settings import LIMIT_OPTIONS, QuerySettings, parse_spark_trigger, spark_trigger
from penstock.spark.trace.state import TraceState, recipe_of

SOURCE_NODE = "StreamingRelationV2"


class WriterRecipe:
    """Starts what a `DataStreamWriter` describes, as often as needed."""

    def __init__(self, writer: Any, *, arrival_column: str | None = None) -> None:
        self._writer = writer
        self._session: SparkSession = writer._spark
        self._jwriter = writer._jwrite
        self._arrival_column = arrival_column
        self._dataset = field_of(self._jwriter, "ds")
        self._plan = self._dataset.get(self._jwriter).queryExecution().logical()
        self._sources = [source_of(node) for node in leaves(self._plan)]
        options = option_map(self._jwriter)
        self.name: str | None = options.get("queryname")
        self._checkpoint = options.get("checkpointlocation") or self._session.conf.get("spark.sql.streaming.checkpointLocation", None)
        if not self._checkpoint:
            raise UserMistake('the writer has no checkpoint: add .option("checkpointLocation", ...), so that the query can go on after a restart')

    @property
    def checkpoint(self) -> str:
        return str(self._checkpoint)

    @property
    def trigger(self) -> Trigger:
        """The trigger the script had chosen."""
        return parse_spark_trigger(str(field_of(self._jwriter, "trigger").get(self._jwriter)))

    @property
    def positions(self) -> Sequence[Positions | None]:
        return [trace_positions(options) if name == "trace" else None for name, options, _ in self._sources]

    @property
    def unable(self) -> Mapping[str, str]:
        unlimited = [name for name, _, _ in self._sources if name not in LIMIT_OPTIONS]
        return {"rate-limit": f"the source {unlimited[0]!r} has no limit in rows; those of {', '.join(LIMIT_OPTIONS)} have"} if unlimited else {}

    def start(self, settings: QuerySettings) -> StreamingQuery:
        if settings.partitions is not None:
            self._session.conf.set("spark.sql.shuffle.partitions", str(settings.partitions))
        index = iter(range(len(self._sources)))

        def open_source(node: Any) -> Any:
            return self._opened(node, next(index), settings)

        plan = with_leaves(self._session, self._plan, open_source)
        self._dataset.set(self._jwriter, dataset_of(self._session, plan))
        self._writer.trigger(**spark_trigger(settings.trigger))
        return self._writer.start()  # type: ignore[no-any-return]

    def _opened(self, node: Any, index: int, settings: QuerySettings) -> Any:
        """The source node with the limit in its options and its arrival times observed."""
        name, _, columns = self._sources[index]
        limit = settings.rows_per_batch()
        if node.getClass().getSimpleName() == SOURCE_NODE and name in LIMIT_OPTIONS and limit is not None:
            node = with_options(self._session, node, {LIMIT_OPTIONS[name]: str(limit)})
        arrival = self._arrival_column if self._arrival_column in columns else ARRIVAL_COLUMNS.get(name)
        if arrival is None or arrival not in columns:
            return node
        frame = DataFrame(dataset_of(self._session, node), self._session)
        return observed(frame, index, arrival)._jdf.queryExecution().logical()


def option_map(jwriter: Any) -> dict[str, str]:
    """The options of a Java writer, keys in lower case."""
    entries = field_of(jwriter, "extraOptions").get(jwriter).iterator()
    found = {}
    while entries.hasNext():
        entry = entries.next()
        found[str(entry._1()).lower()] = str(entry._2())
    return found


def leaves(plan: Any) -> list[Any]:
    """The leaves of a logical plan that are streaming sources, from left to right."""
    children = plan.children()
    if children.isEmpty():
        return [plan] if plan.isStreaming() else []
    return [leaf for i in range(children.size()) for leaf in leaves(children.apply(i))]


def source_of(node: Any) -> tuple[str, dict[str, str], list[str]]:
    """Format, options and columns of a source node."""
    output = node.output()
    columns = [str(output.apply(i).name()) for i in range(output.size())]
    if node.getClass().getSimpleName() != SOURCE_NODE:
        return str(node.getClass().getSimpleName()), {}, columns
    return str(node.sourceName()), dict(node.extraOptions().asCaseSensitiveMap()), columns


def with_leaves(session: SparkSession, plan: Any, change: Callable[[Any], Any]) -> Any:
    """The plan with each streaming source replaced."""
    children = plan.children()
    if children.isEmpty():
        return change(plan) if plan.isStreaming() else plan
    jvm: Any = session._jvm
    changed = jvm.java.util.ArrayList()
    for i in range(children.size()):
        changed.add(with_leaves(session, children.apply(i), change))
    return plan.withNewChildren(jvm.scala.jdk.javaapi.CollectionConverters.asScala(changed).toIndexedSeq())


def with_options(session: SparkSession, node: Any, options: Mapping[str, str]) -> Any:
    """A source node with some of its options changed, its columns keeping their identity."""
    jvm: Any = session._jvm
    merged = jvm.java.util.HashMap(node.extraOptions().asCaseSensitiveMap())
    for key, value in options.items():
        merged.put(key, value)
    count = node.productArity()
    gateway: Any = session.sparkContext._gateway
    arguments = gateway.new_array(jvm.java.lang.Object, count)
    for i in range(count):
        changed = node.productElementName(i) == "extraOptions"
        arguments[i] = jvm.org.apache.spark.sql.util.CaseInsensitiveStringMap(merged) if changed else node.productElement(i)
    return node.getClass().getConstructors()[0].newInstance(arguments)


def dataset_of(session: SparkSession, plan: Any) -> Any:
    jvm: Any = session._jvm
    return singleton(jvm.org.apache.spark.sql.classic, "Dataset").ofRows(session._jsparkSession, plan)


def trace_positions(options: Mapping[str, str]) -> TracePositions:
    return TracePositions(TraceState(Path(options["state"]), recipe_of(options)))
