"""The only factory: puts Spark, the controller and everything around them together."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.config import Config
from penstock.core.domain.job import JobSpec, Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge import Desired
from penstock.core.redaction import Redactor
from penstock.core.terms import Terms
from penstock.runtime.clock import SteadyClock
from penstock.runtime.home import JobFolder, home
from penstock.runtime.host import About, Host, View
from penstock.runtime.jobfile import LoadedJob
from penstock.spark.attached import AttachedRecipe, RestartFunction
from penstock.spark.beside import CheckpointFolder
from penstock.spark.contract import ContractRecipe, Trace, prepare_trace
from penstock.spark.embedded.cluster import EmbeddedCluster
from penstock.spark.engine import SparkEngine
from penstock.spark.files import Files
from penstock.spark.handle import QueryHandle
from penstock.spark.query import ManagedQuery
from penstock.spark.recipe import Recipe
from penstock.spark.session import check_session, open_session
from penstock.spark.settings import QuerySettings
from penstock.spark.shipping import ship_penstock
from penstock.spark.writer import WriterRecipe

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATE_OF_TRACES = "trace-{}.json"
# The source's own process may just be handing out rows of this very moment: a new rate begins a little later.
OVERRIDE_LEAD_S = 1.0


class RunningJob:
    """A job that runs from its file: its cluster, its session, its engine and its host."""

    def __init__(self, loaded: LoadedJob, views: Sequence[View] = (), *, spark_log: Path | None = None) -> None:
        self.spec = loaded.spec
        self._folder = JobFolder(self.spec.name)
        self._cluster: EmbeddedCluster | None = None
        self._session: SparkSession | None = None
        self._engine: SparkEngine | None = None
        self._spark_log = spark_log
        terms = Terms(limits=self.spec.limits, promises=self.spec.promises, config=self.spec.config)
        self.host = Host(
            folder=self._folder, terms=terms, clock=SteadyClock(), redactor=Redactor(loaded.secrets), metrics_address=self.spec.metrics_address, views=views
        )

    @property
    def engine(self) -> SparkEngine:
        if self._engine is None:
            raise RuntimeError("the job has not been started")
        return self._engine

    def start(self) -> None:
        """Bring everything up, in an order in which what can be wrong is found before anything expensive starts; raises one clear line."""
        check_functions(self.spec)
        self.host.prepare()
        if self.spec.master == "embedded":
            self._cluster = EmbeddedCluster.join(home() / "cluster")
        self._session = open_session(self.spec, self._cluster.master if self._cluster else None, log=self._spark_log)
        ship_penstock(self._session, self._folder.path)
        files = Files(self._session)
        beside = CheckpointFolder(files, self.spec.checkpoint)
        refuse_foreign_checkpoint(files, self.spec)
        traces = self._traces(beside)
        self._engine = SparkEngine(self._session, executors=self.spec.limits.first, config=self.spec.config, clock=self.host.clock, emit=self.host.note)
        about = About(
            job=self.spec.name, master=self.spec.master or str(self._session.sparkContext.master), mode=self.spec.mode, spark_version=self._session.version
        )
        self.host.open(self._engine, declared_of(self.spec), about, beside)
        if traces:
            self.host.set_source_rate = rate_setter(traces, beside)
        desired = self.host.controller.knowledge.desired
        if desired.executors != self.engine.pool.requested and not self.engine.pool.unable:
            self.engine.pool.request(desired.executors)
        self.host.start()
        for query in self.spec.queries:
            recipe = ContractRecipe(self._session, self.spec, query, traces)
            settings = QuerySettings(trigger=desired.triggers[query.name], rate_limit_rows_per_s=desired.rate_limits_rows_per_s[query.name])
            self.engine.add(query.name, recipe, settings)

    def _traces(self, beside: CheckpointFolder) -> dict[str, Trace]:
        """The job's trace sources; their state is in the checkpoint's own folder, or beside the history with a copy there."""
        traces = {}
        for source in self.spec.sources:
            if source.format == "trace":
                name = STATE_OF_TRACES.format(source.name)
                path = beside.local_path(name) or self._folder.path / name
                kept = None if path.exists() else beside.read(name)
                if kept is not None:
                    path.write_bytes(kept)
                trace = prepare_trace(source, self.spec.folder, path)
                trace.state.begin(time.time())
                if beside.local_path(name) is None:
                    beside.write(name, path.read_bytes())
                traces[source.name] = trace
        return traces

    def given_up(self) -> list[ManagedQuery]:
        return [query for query in self.engine.queries if query.state == "given up"]

    def stop(self, reason: str, stop_now: Callable[[], bool] = lambda: False) -> bool:
        """Stop the queries after a commit, then everything else; whether no batch was interrupted."""
        clean = True
        try:
            if self._engine is not None:
                clean = self._engine.stop_queries(self.spec.config.stop_grace_s, stop_now)
        finally:
            self.close(reason)
        return clean

    def close(self, reason: str) -> None:
        self.host.close(reason)
        if self._engine is not None:
            self._engine.close()
        if self._session is not None:
            self._session.stop()
        if self._cluster is not None:
            self._cluster.close()
            self._cluster.wait_gone(20.0)


def check_functions(spec: JobSpec) -> None:
    """Find the functions, and read the traces, that a job names, before anything starts."""
    from penstock.references import load_function
    from penstock.spark.trace.rows import row_maker
    from penstock.spark.trace.state import recipe_of

    for query in spec.queries:
        load_function(query.function, spec.folder, what=f"queries.{query.name}.function")
        if query.sink.foreach_batch:
            load_function(query.sink.foreach_batch, spec.folder, what=f"queries.{query.name}.sink.foreach_batch")
    for source in spec.sources:
        if source.format == "trace":
            options = {**source.options, "folder": spec.folder}
            recipe_of(options)
            row_maker(options)


def refuse_foreign_checkpoint(files: Files, spec: JobSpec) -> None:
    """A folder that is itself the checkpoint of some query is not this job's."""
    if "offsets" in files.names(spec.checkpoint):
        raise UserMistake(f"checkpoint: {spec.checkpoint} is the checkpoint of a query that Penstock did not start; give this job a folder of its own")


def declared_of(spec: JobSpec) -> Desired:
    return Desired(
        executors=spec.limits.first,
        triggers={query.name: query.trigger for query in spec.queries},
        rate_limits_rows_per_s={query.name: query.rate_limit_rows_per_s for query in spec.queries},
        partitions={query.name: None for query in spec.queries},
    )


def rate_setter(traces: Mapping[str, Trace], beside: CheckpointFolder) -> Callable[[str | None, float | None], str]:
    """A function that overrides the rate of one of these traces from now on, here and beside the checkpoint."""

    def set_rate(source: str | None, rows_per_s: float | None) -> str:
        if source is None and len(traces) == 1:
            source = next(iter(traces))
        if source is None or source not in traces:
            raise UserMistake(f"found source {source!r}, one of {', '.join(traces)} is needed")
        traces[source].state.override(time.time() + OVERRIDE_LEAD_S, rows_per_s)
        name = STATE_OF_TRACES.format(source)
        if beside.local_path(name) is None:
            beside.write(name, traces[source].state.path.read_bytes())
        return source

    return set_rate


class ScriptHost:
    """What `penstock.start` and `penstock.attach` share in one script: one host for all its queries, closed with the last of them."""

    def __init__(self, session: SparkSession, job: str, limits: Limits, promises: Promises, config: Config, metrics: str | None) -> None:
        check_session(session)
        self.limits = limits
        self.host = Host(
            folder=JobFolder(job),
            terms=Terms(limits=limits, promises=promises, config=config),
            clock=SteadyClock(),
            redactor=Redactor(),
            metrics_address=metrics,
        )
        self.host.prepare()
        ship_penstock(session, self.host.folder.path)
        self._session = session
        self._lock = threading.Lock()
        self._closed = False
        self.engine = SparkEngine(session, executors=limits.first, config=config, clock=self.host.clock, emit=self.host.note)
        self._opened = False
        atexit.register(self.close)

    def add(self, name: str, recipe: Recipe, trigger: Trigger) -> QueryHandle:
        with self._lock:
            if not self._opened:
                beside = CheckpointFolder(self.engine.files, recipe.checkpoint) if recipe.checkpoint else None
                about = About(job=self.host.folder.name, master=str(self._session.sparkContext.master), mode="observe", spark_version=self._session.version)
                self.host.open(self.engine, Desired(executors=self.limits.first, triggers={name: trigger}, rate_limits_rows_per_s={name: None}), about, beside)
                self._opened = True
                self.host.start()
            else:
                self.host.controller.declare(name, trigger, None)
            desired = self.host.controller.knowledge.desired
            settings = QuerySettings(trigger=desired.triggers[name], rate_limit_rows_per_s=desired.rate_limits_rows_per_s.get(name))
            query = self.engine.add(name, recipe, settings)
        return QueryHandle(query, self._query_over)

    def _query_over(self) -> None:
        if not self.engine.living():
            self.close()

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        hosts.pop(self.host.folder.name, None)
        atexit.unregister(self.close)
        self.host.close("its queries ended")
        try:
            self.engine.close()
        except Exception:
            if os.environ.get("PENSTOCK_DEBUG"):
                raise


hosts: dict[str, ScriptHost] = {}


def script_host(
    session: SparkSession, job: str | None, *, min_executors: int, max_executors: int | None, latency_p95_s: float | None, recovery_s: float | None,
    settings: Mapping[str, Any], metrics: str | None,
) -> ScriptHost:  # fmt: skip
    """The host of a job in this script, made at its first query."""
    name = job or str(session.sparkContext.appName)
    if name in hosts:
        return hosts[name]
    running = len([each for each in session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()]) - 1
    most = max_executors or max(running, min_executors, 1)
    limits = Limits(min_executors=min_executors, max_executors=most, start_executors=min(most, max(min_executors, running)))
    config = Config(**{"reading_interval_s": 5.0, **settings})
    hosts[name] = ScriptHost(session, name, limits, Promises(latency_p95_s=latency_p95_s, recovery_s=recovery_s), config, metrics)
    return hosts[name]


def start_writer(host: ScriptHost, writer: Any, name: str | None, arrival_column: str | None) -> QueryHandle:
    recipe = WriterRecipe(writer, arrival_column=arrival_column)
    return host.add(name or recipe.name or f"query-{len(host.engine.queries) + 1}", recipe, recipe.trigger)


def attach_query(host: ScriptHost, query: Any, name: str | None, restart: RestartFunction | None) -> QueryHandle:
    recipe = AttachedRecipe(query, restart)
    return host.add(name or query.name or f"query-{len(host.engine.queries) + 1}", recipe, recipe.trigger)
