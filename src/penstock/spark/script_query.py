"""Queries of a script: given as a `DataStreamWriter`, or already running; and the handle that replaces the script's StreamingQuery."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.domain.knobs import APPLIED, KNOBS
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.kafka.options import java_options
from penstock.spark.contract import ARRIVAL_COLUMNS
from penstock.spark.jvm import activate, field_of
from penstock.spark.plans import SOURCE_NODE, dataset_of, leaves, source_of, with_leaves, with_options
from penstock.spark.positions import Positions, positions_of
from penstock.spark.query import ManagedQuery
from penstock.spark.query_settings import LIMIT_OPTIONS, QuerySettings, parse_spark_trigger, spark_trigger
from penstock.spark.recipe import OutputTopic, Recipe, observed, started

REMEDY = "start it with penstock.start(writer), or give penstock.attach(query, restart=...)"

RestartFunction = Callable[[QuerySettings], StreamingQuery]


class WriterRecipe(Recipe):
    """Starts what a `DataStreamWriter` describes, as often as needed, in place of its own `start()`.

    The plan behind the writer is opened at its sources: there arrival times are observed and options (the rate limit) are changed. The plan above stays.
    """

    def __init__(self, writer: Any, *, arrival_column: str | None = None) -> None:
        self._writer = writer
        self._session: SparkSession = writer._spark
        self._jwriter = writer._jwrite
        self._arrival_column = arrival_column
        self._dataset = field_of(self._jwriter, "ds")
        self._plan = self._dataset.get(self._jwriter).queryExecution().analyzed()
        self._sources = [source_of(node) for node in leaves(self._plan)]
        self._positions = [positions_of(name, options) for name, options, _ in self._sources]
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
        """The trigger that the script has set."""
        return parse_spark_trigger(str(field_of(self._jwriter, "trigger").get(self._jwriter)))

    @property
    def positions(self) -> Sequence[Positions | None]:
        return self._positions

    @property
    def unable(self) -> Mapping[str, str]:
        unlimited = [name for name, _, _ in self._sources if name not in LIMIT_OPTIONS]
        return {"rate-limit": f"the source {unlimited[0]!r} has no limit in rows; those of {', '.join(LIMIT_OPTIONS)} have"} if unlimited else {}

    @property
    def output(self) -> OutputTopic | None:
        options = option_map(self._jwriter)
        if str(field_of(self._jwriter, "source").get(self._jwriter)) != "kafka" or "topic" not in options:
            return None
        return OutputTopic(topic=options["topic"], client=java_options(options), arrival_field="arrival")

    def start(self, settings: QuerySettings) -> StreamingQuery:
        activate(self._session)
        index = iter(range(len(self._sources)))
        plan = with_leaves(self._session, self._plan, lambda node: self._opened(node, next(index), settings))
        self._dataset.set(self._jwriter, dataset_of(self._session, plan))
        self._writer.trigger(**spark_trigger(settings.paced_trigger))
        return started(self._session, self._writer, settings.partitions)

    def _opened(self, node: Any, index: int, settings: QuerySettings) -> Any:
        """Return the source node with the limit in its options and its arrival times observed."""
        name, _, columns = self._sources[index]
        limit = settings.rows_per_batch(share=len(self._sources))
        if node.getClass().getSimpleName() == SOURCE_NODE and name in LIMIT_OPTIONS and limit is not None:
            node = with_options(self._session, node, {LIMIT_OPTIONS[name]: str(limit)})
        arrival = self._arrival_column if self._arrival_column in columns else ARRIVAL_COLUMNS.get(name)
        if arrival is None or arrival not in columns:
            return node
        frame = DataFrame(dataset_of(self._session, node), self._session)
        return observed(frame, index, arrival)._jdf.queryExecution().analyzed()


def option_map(jwriter: Any) -> dict[str, str]:
    """Return the options of a Java writer, keys in lower case."""
    entries = field_of(jwriter, "extraOptions").get(jwriter).iterator()
    found = {}
    while entries.hasNext():
        entry = entries.next()
        found[str(entry._1()).lower()] = str(entry._2())
    return found


class AttachedRecipe(Recipe):
    """A query that already runs: the first `start` returns it; later ones call the owner's `restart`, if there is one."""

    def __init__(self, query: StreamingQuery, restart: RestartFunction | None) -> None:
        self._query: StreamingQuery | None = query
        self._restart = restart
        execution: Any = query._jsq.streamingQuery()
        self.trigger: Trigger = parse_spark_trigger(str(execution.trigger()))
        self._checkpoint = str(execution.resolvedCheckpointRoot())
        sources = [source_of(node) for node in leaves(execution.analyzedPlan())]
        self._positions = [positions_of(name, options) for name, options, _ in sources]

    @property
    def checkpoint(self) -> str:
        return self._checkpoint

    @property
    def positions(self) -> Sequence[Positions | None]:
        return self._positions

    @property
    def unable(self) -> Mapping[str, str]:
        if self._restart is not None:
            return {"partitions": "an attached query's partitions are its owner's"}
        return dict.fromkeys([*(name for name in KNOBS if name in APPLIED and KNOBS[name].scope == "query"), "restart"], REMEDY)

    @property
    def output(self) -> OutputTopic | None:
        return None

    def start(self, settings: QuerySettings) -> StreamingQuery:
        if self._query is not None:
            query, self._query = self._query, None
            return query
        if self._restart is None:
            raise RuntimeError(f"an attached query cannot be restarted; {REMEDY}")
        return self._restart(settings)


class QueryHandle:
    """Behaves as the StreamingQuery that runs now; `awaitTermination` survives restarts by Penstock."""

    def __init__(self, managed: ManagedQuery, on_end: Callable[[], None]) -> None:
        self.managed = managed
        self._on_end = on_end

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query has ended for good; raise its error if it was given up."""
        ended = self.managed.settled.wait(timeout)
        if not ended:
            return False
        self._on_end()
        if self.managed.state == "given up":
            raise self._error() or RuntimeError(f"query {self.managed.name} was given up: {self.managed.failures[-1].cause}")
        return None if timeout is None else True

    def _error(self) -> BaseException | None:
        try:
            return self.managed.query.exception()
        except RuntimeError:
            return None

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs, or will be restarted by Penstock."""
        return not self.managed.settled.is_set()

    def stop(self) -> None:
        """Stop it for good, even if Spark raises because its batch cannot be interrupted."""
        try:
            with self.managed.lock:
                self.managed.state = "stopped"
                if self.managed.is_active:
                    self.managed.query.stop()
        finally:
            self.managed.settled.set()
            self._on_end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.managed.query, name)
