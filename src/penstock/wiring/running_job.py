"""A job that runs from its file."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from penstock.core.domain.configuration import Configuration, QueryConfiguration, knobs_of
from penstock.core.domain.events.source_events import ConnectorFound
from penstock.core.domain.job_spec import JobSpec
from penstock.core.errors import NotReachable, UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.redaction import Redactor
from penstock.core.shapes.schedule import Override
from penstock.references import load_function
from penstock.runtime.desk import SetSourceRate
from penstock.runtime.fitter import ProcessFitter
from penstock.runtime.home import JobFolder, home
from penstock.runtime.host import About, Host, View
from penstock.runtime.jobfile import AutopilotWatch, LoadedJob, own_policy
from penstock.runtime.secrets import Keys
from penstock.runtime.steady_clock import SteadyClock
from penstock.spark.checkpoint import CheckpointFolder
from penstock.spark.contract import ContractRecipe, Trace, prepare_trace
from penstock.spark.cpu import reporting_settings, reports_cpu
from penstock.spark.embedded import EmbeddedCluster
from penstock.spark.executors import ExecutorPool
from penstock.spark.files import Files
from penstock.spark.graphite import GraphiteCpu
from penstock.spark.launch import SUBMITTED, forward_signals
from penstock.spark.prometheus_cpu import PrometheusCpu
from penstock.spark.query import ManagedQuery
from penstock.spark.query_settings import QuerySettings
from penstock.spark.session import SCRATCH, open_session
from penstock.spark.spark_engine import SparkEngine
from penstock.trace.rows import as_batch, row_maker
from penstock.trace.state import TraceState, recipe_of
from penstock.wiring.job_kafka import JobKafka

STATE = "trace-{}.json"
# The source's process may be emitting rows of this moment: a new rate begins a little later.
OVERRIDE_LEAD_S = 1.0


def open_traces(spec: JobSpec, beside: CheckpointFolder, folder: Path) -> dict[str, Trace]:
    """Return the job's traces, begun now if they are new. If the checkpoint is remote, the local state file is a copy of the one beside it."""
    traces = {}
    for source in spec.sources:
        if source.format != "trace":
            continue
        path = fetched(STATE.format(source.name), beside, folder)
        trace = prepare_trace(source, spec.folder, path)
        trace.state.begin(time.time())
        sent_back(path, beside)
        traces[source.name] = trace
    return traces


def fetched(name: str, beside: CheckpointFolder, folder: Path) -> Path:
    """Return the local path of a state file: beside the checkpoint, or in `folder` as a copy of the remote one."""
    here = beside.local_path(name)
    if here is not None:
        return here
    copy = folder / name
    copy.unlink(missing_ok=True)
    kept = beside.read(name)
    if kept is not None:
        copy.write_bytes(kept)
    return copy


def sent_back(path: Path, beside: CheckpointFolder) -> None:
    """Copy the state file beside the checkpoint, unless it already is that file."""
    if beside.local_path(path.name) is None:
        beside.write(path.name, path.read_bytes())


def rate_setter(traces: Mapping[str, Trace], feeds: Mapping[str, TraceState], beside: CheckpointFolder) -> SetSourceRate:
    """Return a function that overrides the rate of a trace source or a feeder from now on, also in the state beside the checkpoint."""
    states = {name: trace.state for name, trace in traces.items()} | dict(feeds)

    def set_rate(source: str | None, value: str) -> tuple[str, Override]:
        if source is None and len(states) == 1:
            source = next(iter(states))
        if source is None or source not in states:
            raise UserMistake(f"found source {source!r}, one of {', '.join(states)} is needed")
        override = Override.parse(value, time.time() + OVERRIDE_LEAD_S)
        states[source].override(override)
        if source in traces:
            sent_back(states[source].path, beside)
        return source, override

    return set_rate


CLUSTER_GONE_S = 20.0


class RunningJob:
    """A job with its cluster, session, engine and host. `on_step` is called between the steps of the start, and may raise to end it.

    `pass_on` receives the signals of spark-submit's JVM, which would otherwise stop Spark at once.
    """

    def __init__(
        self, loaded: LoadedJob, views: Sequence[View] = (), *, spark_log: Path | None = None, on_step: Callable[[], None] = lambda: None,
        pass_on: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        self.spec = loaded.spec
        self._redactor = Redactor(loaded.secrets)
        self._folder = JobFolder(self.spec.name)
        self._cluster: EmbeddedCluster | None = None
        self._session: SparkSession | None = None
        self._engine: SparkEngine | None = None
        self._kafka: JobKafka | None = None
        self._reported_cpu: GraphiteCpu | None = None
        self._spark_log = spark_log
        self._on_step = on_step
        self._pass_on = pass_on
        self._holds_folder = False
        config, clock = self.spec.config, SteadyClock()
        self.host = Host(
            folder=self._folder,
            terms=Terms.of(self.spec),
            clock=clock,
            redactor=self._redactor,
            metrics_address=self.spec.metrics_address,
            views=views,
            fitter=ProcessFitter(memory_mb=config.fit_memory_mb, timeout_s=config.fit_timeout_s),
            reread=AutopilotWatch(loaded, clock),
            policy=own_policy(self.spec.autopilot, self.spec.folder),
        )

    @property
    def engine(self) -> SparkEngine:
        if self._engine is None:
            raise RuntimeError("the job has not been started")
        return self._engine

    @property
    def kafka(self) -> JobKafka:
        if self._kafka is None:
            raise RuntimeError("the job has not been started")
        return self._kafka

    def start(self) -> None:
        """Start everything, the checks before what is expensive; raise one clear line if something is wrong."""
        check_code(self.spec)
        self.host.prepare()
        self._holds_folder = True
        if self._pass_on is not None and SUBMITTED in os.environ:
            SparkContext._ensure_initialized()
            forward_signals(SparkContext._gateway, self._pass_on)
        self._on_step()
        if self.spec.master == "embedded":
            self._cluster = EmbeddedCluster.join(home() / "cluster")
            self._on_step()
        if reports_cpu(self.spec):
            self._reported_cpu = GraphiteCpu()
        more = reporting_settings(self.spec, self._reported_cpu) if self._reported_cpu else None
        master = self._cluster.master if self._cluster else None
        self._session = open_session(self.spec, self._folder.path, master, self._spark_log, self._redactor.text, self._say_connector, more)
        self._on_step()
        try:
            self._open(self._session)
        except NotReachable as error:
            raise UserMistake(f"checkpoint: {error}") from None
        for query in self.spec.queries:
            self._on_step()
            self._add(self._session, query.name)

    def _say_connector(self, line: str) -> None:
        self.host.note([ConnectorFound(at_s=self.host.clock.now_s(), line=line)])

    def _open(self, session: SparkSession) -> None:
        files = Files(session)
        refuse_foreign_checkpoint(files, self.spec)
        beside = CheckpointFolder(files, self.spec.checkpoint)
        self._kafka = JobKafka(self.spec, beside.local_path("") or self._folder.path, self.host.clock, self.host.note)
        self.spec = self._kafka.start_broker()
        self._on_step()
        if self._reported_cpu is not None:
            self._reported_cpu.listen_to(session.sparkContext.applicationId)
        self._engine = SparkEngine(
            session, executors=self.spec.limits.first, config=self.spec.config, promises=self.spec.promises, clock=self.host.clock, emit=self.host.note,
            redact=self._redactor.text, reported_cpu=self._reported_cpu, asked_cpu=PrometheusCpu(self.spec.cpu_query) if self.spec.cpu_query else None,
        )  # fmt: skip
        master = self.spec.master or str(session.sparkContext.master)
        about = About(job=self.spec.name, master=master, mode=self.spec.mode, spark_version=session.version, application_id=session.sparkContext.applicationId)
        declared = {each.name: QueryConfiguration(trigger=each.trigger, rate_limit_rows_per_s=each.rate_limit_rows_per_s) for each in self.spec.queries}
        self.host.open(self._engine, Configuration(executors=self.spec.limits.first, queries=declared), about, beside)
        self._traces = open_traces(self.spec, beside, self._folder.path)
        self._ask_for_executors(self._engine.pool, self.host.controller.knowledge.desired)
        self._kafka.make_topics()
        self._kafka.start_feeds()
        self.host.feeds = self._kafka.status
        if self._traces or self._kafka.rates:
            self.host.set_source_rate = rate_setter(self._traces, self._kafka.rates, beside)
        self.host.start()

    def _ask_for_executors(self, pool: ExecutorPool, desired: Configuration) -> None:
        """Ask for the first executors; a query in Real-Time Mode cannot begin before they are there, nor lose one without a restart."""
        if pool.unable:
            return
        if any(query.trigger.kind == "real_time" for query in desired.queries.values()):
            pool.scale(desired.executors, self.spec.config.executors_timeout_s, lambda: None, until_gone=False)
        else:
            pool.request(desired.executors)

    def _add(self, session: SparkSession, name: str) -> None:
        query = next(each for each in self.spec.queries if each.name == name)
        desired = self.host.controller.knowledge.desired.queries[name]
        settings = QuerySettings(**knobs_of(replace(desired, partitions=query.partitions)))
        recipe = ContractRecipe(session, self.spec, query, self._traces, self.engine.pool, partial(slots_beside, self.engine.queries, name))
        self.engine.add(name, recipe, settings)

    def given_up(self) -> list[ManagedQuery]:
        return [query for query in self._engine.queries if query.state == "given up"] if self._engine else []

    def stop(self, reason: str, stop_now: Callable[[], bool] = lambda: False) -> bool:
        """Stop the queries after a commit, then everything else, whatever fails; return whether no batch was interrupted."""
        with ExitStack() as last:
            if self._cluster is not None:
                last.callback(self._cluster.wait_gone, 0.0 if stop_now() else CLUSTER_GONE_S)
                last.callback(self._cluster.close)
            if self._holds_folder:
                # A second controller that was refused must not touch the first one's files.
                last.callback(shutil.rmtree, self._folder.path / SCRATCH, ignore_errors=True)
            if self._session is not None and (self._engine is None or self._engine.lives()):
                last.callback(self._session.stop)
            if self._reported_cpu is not None:
                last.callback(self._reported_cpu.close)
            if self._kafka is not None:
                last.callback(self._kafka.stop_broker)
            if self._engine is not None:
                last.callback(self._engine.close)
            last.callback(self.host.close, reason)
            if self._kafka is not None:
                last.callback(self._kafka.stop_feeds)
            return self._engine is None or (self._engine.lives() and self._engine.stop_queries(self.spec.config.stop_grace_s, stop_now))


def check_code(spec: JobSpec) -> None:
    """Load the functions and read the traces that a job names, before anything starts."""
    for _, check in code_checks(spec):
        with spark_may_come_later():
            check()


def code_checks(spec: JobSpec) -> Iterator[tuple[Keys, Callable[[], object]]]:
    """Yield each check with the keys of what it checks in the job file, shorthands expanded."""
    for query in spec.queries:
        keys = ("queries", query.name)
        yield (*keys, "function"), partial(load_function, query.function, spec.folder, what=f"queries.{query.name}.function")
        if query.sink.foreach_batch:
            what = f"queries.{query.name}.sink.foreach_batch"
            yield (*keys, "sink", "foreach_batch"), partial(load_function, query.sink.foreach_batch, spec.folder, what=what)
    for source in spec.sources:
        if source.format == "trace":
            yield ("sources", source.name), partial(check_trace, source.options, spec.folder, what=f"sources.{source.name}")
    for feed in spec.kafka.feeds:
        yield ("kafka", "feeds", feed.topic), partial(check_trace, feed.options, spec.folder, what=f"kafka.feeds.{feed.topic}")
    yield ("autopilot", "policy"), partial(own_policy, spec.autopilot, spec.folder)


def check_trace(given: Mapping[str, str], folder: str, *, what: str) -> None:
    options = {**given, "folder": folder}
    try:
        recipe_of(options)
        as_batch(row_maker(options)(np.arange(1, dtype=np.int64), 0))
    except UserMistake as mistake:
        raise UserMistake(f"{what}: {mistake}") from None


@contextmanager
def spark_may_come_later() -> Iterator[None]:
    """Ignore a module that needs a session at import, as `@udf("string")` does: it is imported again once there is one."""
    try:
        yield
    except PySparkRuntimeError as error:
        if error.getCondition() != "SESSION_OR_CONTEXT_NOT_EXISTS":
            raise


def refuse_foreign_checkpoint(files: Files, spec: JobSpec) -> None:
    """Raise if the folder is itself the checkpoint of a query, and so not this job's."""
    if "offsets" in files.names(spec.checkpoint):
        raise UserMistake(f"checkpoint: {spec.checkpoint} is the checkpoint of a query that Penstock did not start; give this job a folder of its own")


def slots_beside(queries: Sequence[ManagedQuery], name: str) -> int:
    """Return the slots that other queries occupy: those in Real-Time Mode that run or restart."""
    return sum(each.recipe.slots_needed for each in queries if each.name != name and each.state in ("running", "restarting"))
