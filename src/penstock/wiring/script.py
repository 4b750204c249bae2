"""Queries of a user's own script: `penstock.start` and `penstock.attach`."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.core.config import USUAL_READING_S, Config
from penstock.core.domain.configuration import Configuration, QueryConfiguration, knobs_of
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.redaction import Redactor
from penstock.runtime.fitter import ProcessFitter
from penstock.runtime.home import JobFolder
from penstock.runtime.host import About, Host
from penstock.runtime.jobfile import own_policy, scripted_autopilot
from penstock.runtime.steady_clock import SteadyClock
from penstock.spark.checkpoint import CheckpointFolder
from penstock.spark.executors import UNKNOWN_NUMBER
from penstock.spark.query_settings import QuerySettings
from penstock.spark.recipe import Recipe
from penstock.spark.script_query import AttachedRecipe, QueryHandle, RestartFunction, WriterRecipe
from penstock.spark.session import check_session, pack_penstock, ship_penstock
from penstock.spark.spark_engine import SparkEngine

SPARKS_OWN_DEFAULT = 2
"""Executors that YARN and Kubernetes give where `spark.executor.instances` is not set."""

hosts: dict[str, ScriptHost] = {}


class ScriptHost:
    """The host of all queries of a job in a script, closed with the last of them.

    `executors` is the number the application should have; None leaves them as they are.
    """

    def __init__(self, session: SparkSession, job: str, terms: Terms, metrics: str | None, executors: int | None) -> None:
        self.terms = terms
        config = terms.config
        self.host = Host(
            folder=JobFolder(job),
            terms=terms,
            clock=SteadyClock(),
            redactor=Redactor(),
            metrics_address=metrics,
            fitter=ProcessFitter(memory_mb=config.fit_memory_mb, timeout_s=config.fit_timeout_s),
            policy=own_policy(terms.autopilot),
        )
        self.session = session
        self._lock = threading.RLock()
        self._opened = False
        self._closed = False
        self.host.prepare()
        try:
            ship_penstock(session, pack_penstock(self.host.folder.path))
            self.engine = SparkEngine(session, executors=executors, config=terms.config, promises=terms.promises, clock=self.host.clock, emit=self.host.note)
        except BaseException:
            self.host.close("it could not be started")
            raise
        atexit.register(self.close)
        self.host.on_lost = lambda: threading.Thread(target=self._leave, name="penstock-lease", daemon=True).start()

    def add(self, name: str, recipe: Recipe, trigger: Trigger, *, as_it_runs: bool) -> QueryHandle:
        """Add a query; one that already runs keeps its settings, whatever was desired before."""
        with self._lock:
            if any(query.name == name for query in self.engine.living()):
                raise UserMistake(f"job {self.host.folder.name!r} already has a query {name!r}; give this one a name of its own (name=...)")
            try:
                self._declare(name, recipe, trigger)
                wanted = QueryConfiguration(trigger=trigger) if as_it_runs else self.host.controller.knowledge.desired.queries[name]
                query = self.engine.add(name, recipe, QuerySettings(**knobs_of(replace(wanted, partitions=None))))
            except BaseException:
                if not self.engine.living():
                    self.close("it could not be started")
                raise
            if query.state == "given up" or (query.state == "failed" and not query.committed_since_start and not as_it_runs):
                self._raise_first_failure(name)
            return QueryHandle(query, self._query_over)

    def _raise_first_failure(self, name: str) -> None:
        """Raise the failure that `writer.start()` would have raised."""
        query = next(each for each in self.engine.queries if each.name == name)
        query.closing.set()
        query.settled.set()
        query.state = "given up"
        cause = query.failures[-1].cause
        self._query_over()
        raise RuntimeError(f"query {name} could not be started: {cause}")

    def _declare(self, name: str, recipe: Recipe, trigger: Trigger) -> None:
        if self._opened:
            self.host.controller.declare(name, QueryConfiguration(trigger=trigger))
            return
        beside = CheckpointFolder(self.engine.files, recipe.checkpoint) if recipe.checkpoint else None
        context = self.session.sparkContext
        about = About(
            job=self.host.folder.name,
            master=str(context.master),
            mode=self.terms.autopilot.mode,
            spark_version=self.session.version,
            application_id=context.applicationId,
        )
        declared = Configuration(executors=self.terms.limits.first, queries={name: QueryConfiguration(trigger=trigger)})
        self.host.open(self.engine, declared, about, beside)
        self._opened = True
        self.host.start()

    def _query_over(self) -> None:
        if not self.engine.living():
            self.close()

    def _leave(self) -> None:
        """Stop at once, as another driver has taken the job over."""
        if not self._closed:
            self.engine.stop_queries(0.0, lambda: True)
            self.close("another driver took it over")

    def close(self, reason: str = "its queries ended") -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        hosts.pop(self.host.folder.name, None)
        atexit.unregister(self.close)
        with ExitStack() as last:
            last.callback(self.engine.close)
            last.callback(self.host.close, reason)


def script_host(
    session: SparkSession, job: str | None, *, min_executors: int, max_executors: int | None, latency_p95_s: float | None, recovery_s: float | None,
    metrics: str | None, autopilot: Mapping[str, Any] | None, settings: Mapping[str, Any],
) -> ScriptHost:  # fmt: skip
    """Return the host of a job in this script, made at its first query."""
    check_session(session)
    name = job or str(session.sparkContext.appName)
    known = hosts.get(name)
    if known is not None and known.engine.lives():
        return known
    if known is not None:
        known.close("its Spark session ended")
    limits, is_known = limits_of(executors_of(session), min_executors, max_executors)
    promises = Promises(latency_p95_s=latency_p95_s, recovery_s=recovery_s)
    allowed, profile = scripted_autopilot(autopilot or {}, limits, promises, Path.cwd())
    if not is_known and allowed.mode != "observe":
        raise UserMistake(f"max_executors: {UNKNOWN_NUMBER}; mode {allowed.mode!r} needs it")
    config = Config(**{"reading_interval_s": USUAL_READING_S, **settings})
    terms = Terms(limits=limits, promises=promises, config=config, autopilot=allowed, profile=profile)
    hosts[name] = ScriptHost(session, name, terms, None if metrics == "off" else metrics, limits.first if is_known else None)
    return hosts[name]


def limits_of(given: int | None, min_executors: int, max_executors: int | None) -> tuple[Limits, bool]:
    """Return the limits of an application that was given `given` executors, and whether their number is known.

    >>> limits_of(4, 1, 8), limits_of(None, 1, 8)
    ((Limits(min_executors=1, max_executors=8, start_executors=4), True), (Limits(min_executors=1, max_executors=8, start_executors=8), True))
    >>> limits_of(None, 1, None)
    (Limits(min_executors=1, max_executors=1, start_executors=1), False)
    """
    most = max_executors or max(given or 1, min_executors)
    if min_executors > most:
        raise UserMistake(f"min_executors: found {min_executors}, at most max_executors ({most}) is allowed")
    first = most if given is None else min(most, max(min_executors, given))
    return Limits(min_executors=min_executors, max_executors=most, start_executors=first), given is not None or max_executors is not None


def executors_of(session: SparkSession) -> int | None:
    """Return the number of executors by the configuration, as they may still be starting; None if it does not determine the number.

    A standalone cluster ignores `spark.executor.instances`. It starts one executor on each worker without `spark.executor.cores`, and as many as fit
    without `spark.cores.max`.
    """
    conf, master = session.sparkContext.getConf(), str(session.sparkContext.master)
    instances, cores, cores_each = (conf.get(f"spark.{key}") for key in ("executor.instances", "cores.max", "executor.cores"))
    if master.startswith(("spark://", "local-cluster")):
        return None if cores is None or cores_each is None else max(1, int(cores) // int(cores_each))
    return 1 if master.startswith("local") else max(1, int(instances or SPARKS_OWN_DEFAULT))


def start_writer(make_host: Callable[[], ScriptHost], writer: Any, name: str | None, arrival_column: str | None) -> QueryHandle:
    """Start the query of a writer; refuse a writer that cannot be used before there is a host."""
    recipe = WriterRecipe(writer, arrival_column=arrival_column)
    host = make_host()
    return host.add(name or recipe.name or f"query-{len(host.engine.queries) + 1}", recipe, recipe.trigger, as_it_runs=False)


def attach_query(make_host: Callable[[], ScriptHost], query: Any, name: str | None, restart: RestartFunction | None) -> QueryHandle:
    recipe = AttachedRecipe(query, restart)
    host = make_host()
    return host.add(name or query.name or f"query-{len(host.engine.queries) + 1}", recipe, recipe.trigger, as_it_runs=True)
