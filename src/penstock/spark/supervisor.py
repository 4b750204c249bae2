"""Keeps queries alive: one that fails is restarted from its checkpoint, or given up after too many failures; the others go on."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import QueryEnded, QueryFailed, QueryGivenUp, QueryRestarted, QueryStarted, QueryUnwatched
from penstock.core.errors import UserMistake
from penstock.core.execute.restarts import Failure, GiveUp, Restart, after_failure
from penstock.ports import Clock
from penstock.spark.causes import cause_of
from penstock.spark.query import ManagedQuery

POLL_S = 1.0
DUE_POLL_S = 0.1
DEAD_JVM = (Py4JError, Py4JNetworkError)
"""Raised by the gateway when the JVM is gone; an error in the JVM has a class of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A restart that is not due yet, or whose first task does not read yet."""

    at_s: float
    failed_s: float
    attempt: int
    cause: str
    replayed_rows: float | None


class Supervisor:
    """Watches queries in a thread of its own. `emit` gets its events, redacted by `redact`; `ended` is set when a query ends."""

    def __init__(self, config: Config, clock: Clock, emit: Callable[[Sequence[Event]], None], redact: Callable[[str], str], ended: threading.Event) -> None:
        self._config = config
        self._clock = clock
        self._emit = emit
        self._redact = redact
        self._ended_somewhere = ended
        self._queries: list[ManagedQuery] = []
        self._due: dict[ManagedQuery, Due] = {}
        self._begun: dict[ManagedQuery, Due] = {}
        self._troubles: dict[str, str] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-supervisor", daemon=True)
        self.disturbed_s: float | None = None

    def add(self, query: ManagedQuery) -> None:
        """Start a query and keep it alive. A `UserMistake` is raised; any other failure of the first start is handled like a later one."""
        self._begin(query)
        self._queries = [*(each for each in self._queries if each.name != query.name), query]
        if not self._thread.is_alive() and not self._stopping.is_set():
            self._thread.start()

    def close(self) -> None:
        """Stop watching; nothing is restarted after this."""
        self._stopping.set()
        self._ended_somewhere.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _begin(self, query: ManagedQuery) -> None:
        try:
            query.start()
        except UserMistake:
            raise
        except Exception as error:
            self._failed(query, error)
        else:
            self._emit([QueryStarted(at_s=self._clock.now_s(), query=query.name, trigger=str(query.settings.trigger))])

    def _watch(self) -> None:
        while not self._stopping.is_set():
            self._ended_somewhere.wait(DUE_POLL_S if self._due or self._begun else POLL_S)
            self._ended_somewhere.clear()
            for query in list(self._queries):
                self.look_at(query)

    def look_at(self, query: ManagedQuery) -> None:
        """Do what a query needs now; report an error once, and try again at the next look."""
        try:
            self._look_after(query)
            self._troubles.pop(query.name, None)
        except Exception as error:
            if type(error) in DEAD_JVM:
                # The host checks whether the driver still lives.
                self._stopping.wait(1.0)
                return
            cause, _ = cause_of(error, self._redact)
            if self._troubles.get(query.name) != cause:
                self._troubles[query.name] = cause
                self._emit([QueryUnwatched(at_s=self._clock.now_s(), query=query.name, cause=cause)])

    def _look_after(self, query: ManagedQuery) -> None:
        if not query.lock.acquire(blocking=False):
            return
        try:
            if query.settled.is_set() or query.closing.is_set():
                self._due.pop(query, None)
                self._begun.pop(query, None)
            elif query.state == "failed":
                self._restart_when_due(query)
            elif query.state == "running" and not query.is_active:
                error = query.query.exception()
                if error is None:
                    self._ended(query)
                else:
                    self._failed(query, error)
            elif query.state == "running" and query in self._begun:
                self._report_when_it_reads(query)
        finally:
            query.lock.release()

    def _ended(self, query: ManagedQuery) -> None:
        done = query.settings.trigger.kind == "available_now"
        query.state = "ended" if done else "stopped"
        query.settled.set()
        self._emit([QueryEnded(at_s=self._clock.now_s(), query=query.name, reason="all available data is processed" if done else "it was stopped")])

    def _failed(self, query: ManagedQuery, error: BaseException) -> None:
        now_s = self._clock.now_s()
        cause, trace = cause_of(error, self._redact)
        replayed = query.count_replayed()
        self._begun.pop(query, None)
        query.failures.append(Failure(at_s=now_s, cause=cause, committed=query.committed_since_start))
        self.disturbed_s = now_s
        self._emit([QueryFailed(at_s=now_s, query=query.name, cause=cause, traceback=trace)])
        answer = self._answer(query, error)
        if isinstance(answer, GiveUp):
            query.state = "given up"
            query.settled.set()
            self._emit([QueryGivenUp(at_s=now_s, query=query.name, restarts=len(query.failures) - 1, cause=cause, reason=answer.reason)])
        else:
            query.state = "failed"
            self._due[query] = Due(at_s=now_s + answer.wait_s, failed_s=now_s, attempt=answer.attempt, cause=cause, replayed_rows=replayed)

    def _answer(self, query: ManagedQuery, error: BaseException) -> Restart | GiveUp:
        if "restart" in query.recipe.unable:
            return GiveUp(reason=query.recipe.unable["restart"])
        if isinstance(error, UserMistake):
            return GiveUp(reason="this is for its owner to put right")
        return after_failure(query.failures, self._config)

    def _restart_when_due(self, query: ManagedQuery) -> None:
        if query.broken is not None:
            self._failed(query, query.broken)
            query.broken = None
            return
        due = self._due.get(query)
        if due is None or self._clock.now_s() < due.at_s:
            return
        ready = query.is_over and query.recipe.ready(query.settings)
        if not ready and self._clock.now_s() < due.failed_s + self._config.executors_timeout_s:
            return
        try:
            query.start()
        except Exception as error:
            self._failed(query, error)
            return
        self._begun[query] = self._due.pop(query)
        self._report_when_it_reads(query)

    def _report_when_it_reads(self, query: ManagedQuery) -> None:
        """Report that a query is back. In Real-Time Mode it is down until its tasks read, or until `commit_wait_s` has passed."""
        now_s = self._clock.now_s()
        waited_s = now_s - (query.started_s or now_s)
        if query.is_real_time and waited_s < self._config.commit_wait_s and not query.is_reading:
            return
        due = self._begun.pop(query)
        self.disturbed_s = now_s
        restarted = QueryRestarted(
            at_s=now_s, query=query.name, attempt=due.attempt, downtime_s=now_s - due.failed_s, cause=due.cause, replayed_rows=due.replayed_rows
        )
        self._emit([restarted])
