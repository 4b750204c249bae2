"""The job contract: a query that is declared in a job file as a function, its sources and its sink."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.domain.job_spec import JobSpec, QuerySpec, SourceSpec
from penstock.core.errors import UserMistake
from penstock.kafka.options import java_options
from penstock.references import load_function
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.executors import ExecutorPool
from penstock.spark.files import Files
from penstock.spark.jvm import activate
from penstock.spark.plans import sources_of
from penstock.spark.positions import Positions, TracePositions, positions_of, where
from penstock.spark.query_settings import LIMIT_OPTIONS, QuerySettings, spark_trigger
from penstock.spark.realtime import Slots, lacking, plan_of, refusals, refuse, shuffles_in
from penstock.spark.recipe import OutputTopic, observed, started
from penstock.spark.session import ship_file
from penstock.spark.sink import LedgerSink
from penstock.spark.trace_source import TraceSource
from penstock.trace.state import TraceState, recipe_of

ARRIVAL_COLUMNS = {"trace": "arrival", "kafka": "timestamp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A trace source that was checked: its state, and its positions."""

    state: TraceState
    positions: TracePositions


def prepare_trace(source: SourceSpec, folder: str, state_path: Path) -> Trace:
    state = TraceState(state_path, recipe_of({**source.options, "folder": folder}))
    if state_path.exists():
        state.schedule()
    return Trace(state=state, positions=TracePositions(state))


class ContractRecipe:
    """Starts a declared query: builds its sources, calls the user's function on them, and writes to the declared sink.

    `taken` returns the slots of the pool that other queries in Real-Time Mode hold.
    """

    def __init__(
        self, session: SparkSession, job: JobSpec, query: QuerySpec, traces: Mapping[str, Trace], pool: ExecutorPool | None = None,
        taken: Callable[[], int] = lambda: 0,
    ) -> None:  # fmt: skip
        self._session = session
        self._pool = pool
        self._taken = taken
        self._slots: Slots | None = None
        self._job = job
        self._query = query
        self._traces = traces
        self._sources = [job.source(name) for name in query.sources]
        self._known_positions: dict[tuple[Any, ...], Positions | None] = {}
        self._positions: list[Positions | None] = [traces[s.name].positions if s.name in traces else None for s in self._sources]
        self._function = load_function(query.function, job.folder, what=f"queries.{query.name}.function")
        self._foreach = (
            load_function(query.sink.foreach_batch, job.folder, what=f"queries.{query.name}.sink.foreach_batch") if query.sink.foreach_batch else None
        )
        for reference in (query.function, query.sink.foreach_batch, *(source.options.get("rows") for source in self._sources)):
            ship_file(session, reference, job.folder)

    @property
    def checkpoint(self) -> str:
        return f"{self._job.checkpoint}/{self._query.name}"

    @property
    def positions(self) -> Sequence[Positions | None]:
        return self._positions

    @property
    def unable(self) -> Mapping[str, str]:
        unlimited = [source.name for source in self._sources if source.format not in LIMIT_OPTIONS]
        return {"rate-limit": f"source {unlimited[0]!r} has no limit in rows; those of the formats {', '.join(LIMIT_OPTIONS)} have"} if unlimited else {}

    @property
    def output(self) -> OutputTopic | None:
        sink = self._query.sink
        topic = next((value for name, value in sink.options.items() if name.lower() == "topic"), None)
        if sink.format != "kafka" or topic is None:
            return None
        return OutputTopic(topic=topic, client=java_options(sink.options), arrival_field=sink.arrival_field)

    def check(self, settings: QuerySettings) -> None:
        if settings.trigger.kind == "real_time":
            self._check_real_time(self._result(settings), settings)

    def ready(self, settings: QuerySettings) -> bool:
        if settings.trigger.kind != "real_time" or self._slots is None or self._pool is None or self._pool.unable:
            return True
        return not lacking(self._slots, (len(self._pool.running()), self._pool.slots_each), self._taken())

    @property
    def slots_needed(self) -> int:
        return self._slots.needed if self._slots else 0

    def start(self, settings: QuerySettings) -> StreamingQuery:
        result = self._result(settings)
        self._positions = self._positions_in(result)
        self._slots = None
        if settings.trigger.kind == "real_time":
            self._check_real_time(result, settings)
        writer: Any = result.writeStream.queryName(self._query.name).outputMode(self._query.output_mode).option("checkpointLocation", self.checkpoint)
        writer = writer.foreachBatch(self._foreach) if self._foreach else writer.format(self._query.sink.format)
        if self._query.sink.format == "ledger":
            writer = writer.option("owner", self.checkpoint)
        writer = writer.options(**self._query.sink.options).trigger(**spark_trigger(settings.paced_trigger))
        self._session.sparkContext.setLocalProperty("spark.scheduler.pool", self._query.name)
        return started(self._session, writer, settings.partitions)

    def _result(self, settings: QuerySettings) -> DataFrame:
        """Return the DataFrame that the user's function makes of its sources."""
        activate(self._session)
        register_formats(self._session)
        frames = [
            observed(self._read(source, settings), i, source.arrival_column or ARRIVAL_COLUMNS.get(source.format)) for i, source in enumerate(self._sources)
        ]
        result = self._function(*frames)
        if not isinstance(result, DataFrame) or not result.isStreaming:
            raise UserMistake(f"queries.{self._query.name}.function: {self._query.function} returned {type(result).__name__}, a streaming DataFrame is needed")
        return result

    def _check_real_time(self, result: DataFrame, settings: QuerySettings) -> None:
        sources = [(name, options) for name, options, _ in sources_of(result)]
        state = Checkpoint(Files(self._session), self.checkpoint).state_format()
        plan = plan_of(result)
        newest = where(self._positions_in(result), None).newest
        slots = None
        if newest is not None:
            partitions = settings.partitions or (state.partitions if state else None)
            slots = Slots(source_partitions=len(newest), shuffle_partitions=shuffles_in(plan, partitions))
        lines = refusals(
            sources=sources, sink=self._query.sink.format or "foreach_batch", output_mode=self._query.output_mode, plan=plan, state=state,
            slots=slots if self._pool else None, available=self._pool.capacity if self._pool else (0, 0), taken=self._taken(),
        )  # fmt: skip
        refuse(self._query.name, lines)
        self._slots = slots

    def _positions_in(self, result: DataFrame) -> list[Positions | None]:
        """Return the positions of the sources in the order of the plan, in which Spark reports them, not of the function's arguments."""
        found = []
        for name, options, _ in sources_of(result):
            known = next((trace.positions for trace in self._traces.values() if str(trace.state.path) == options.get("state")), None)
            key = (name, *sorted((option, value) for option, value in options.items() if option not in LIMIT_OPTIONS.values()))
            found.append(self._known_positions.setdefault(key, known or positions_of(name, options)))
        return list(dict.fromkeys(found)) if None not in found else found

    def _read(self, source: SourceSpec, settings: QuerySettings) -> DataFrame:
        options = dict(source.options)
        if source.name in self._traces:
            options |= {"state": str(self._traces[source.name].state.path), "folder": self._job.folder}
        limit = settings.rows_per_batch(share=len(self._sources))
        if limit is not None and source.format in LIMIT_OPTIONS:
            options[LIMIT_OPTIONS[source.format]] = str(limit)
        reader = self._session.readStream.format(source.format).options(**options)
        return (reader.schema(source.schema) if source.schema else reader).load()


def register_formats(session: SparkSession) -> None:
    """Register Penstock's own formats, once a session."""
    if not getattr(session, "_knows_penstock", False):
        session.dataSource.register(TraceSource)
        session.dataSource.register(LedgerSink)
        session._knows_penstock = True  # type: ignore[attr-defined]
