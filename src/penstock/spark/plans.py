"""The logical plan of a streaming DataFrame, changed at its sources. Spark has no public interface for that; all use of the private one is here."""

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.jvm import singleton

SOURCE_NODE = "StreamingRelationV2"
LOADED = ("source", "table", "extraOptions")
"""The parts of a source node that come from loading it."""


def sources_of(frame: DataFrame) -> list[tuple[str, dict[str, str], list[str]]]:
    """Return format, options and columns of each streaming source of a DataFrame."""
    return [source_of(node) for node in leaves(frame._jdf.queryExecution().analyzed())]


def leaves(plan: Any) -> list[Any]:
    """Return the leaves of a logical plan that are streaming sources, from left to right."""
    children = plan.children()
    if children.isEmpty():
        return [plan] if plan.isStreaming() else []
    return [leaf for i in range(children.size()) for leaf in leaves(children.apply(i))]


def source_of(node: Any) -> tuple[str, dict[str, str], list[str]]:
    output = node.output()
    columns = [str(output.apply(i).name()) for i in range(output.size())]
    if node.getClass().getSimpleName() != SOURCE_NODE:
        return str(node.getClass().getSimpleName()), {}, columns
    return str(node.sourceName()), dict(node.extraOptions().asCaseSensitiveMap()), columns


def with_leaves(session: SparkSession, plan: Any, change: Callable[[Any], Any]) -> Any:
    children = plan.children()
    if children.isEmpty():
        return change(plan) if plan.isStreaming() else plan
    jvm: Any = session._jvm
    changed = jvm.java.util.ArrayList()
    for i in range(children.size()):
        changed.add(with_leaves(session, children.apply(i), change))
    return plan.withNewChildren(jvm.scala.jdk.javaapi.CollectionConverters.asScala(changed).toIndexedSeq())


def with_options(session: SparkSession, node: Any, options: Mapping[str, str]) -> Any:
    """Return a source node with some options changed, whose columns keep their identity.

    The source is loaded again: a source written in Python keeps the options it was made with, whatever the node says.
    """
    merged = {**dict(node.extraOptions().asCaseSensitiveMap()), **options}
    [fresh] = leaves(session.readStream.format(str(node.sourceName())).options(**merged).load()._jdf.queryExecution().analyzed())
    count = node.productArity()
    gateway: Any = session.sparkContext._gateway
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, count)
    for i in range(count):
        arguments[i] = (fresh if node.productElementName(i) in LOADED else node).productElement(i)
    return node.getClass().getConstructors()[0].newInstance(arguments)


def dataset_of(session: SparkSession, plan: Any) -> Any:
    jvm: Any = session._jvm
    return singleton(jvm.org.apache.spark.sql.classic, "Dataset").ofRows(session._jsparkSession, plan)
