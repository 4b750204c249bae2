"""Keeps queries alive: one that dies is restarted from its checkpoint, one that cannot live is given up; the others go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from penstock.core.config import Config
from penstock.core.domain.event import Event, QueryEnded, QueryFailed, QueryGivenUp, QueryRestarted, QueryStarted
from penstock.core.errors import UserMistake
from penstock.core.execute.restarts import Failure, GiveUp, Restart, after_failure
from penstock.ports import Clock
from penstock.spark.causes import cause_of
from penstock.spark.query import ManagedQuery

POLL_S = 1.0
DUE_POLL_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A restart that waits for its time."""

    at_s: float
    failed_s: float
    attempt: int
    cause: str
    replayed_rows: float | None


class Supervisor:
    """Watches queries in a thread of its own. `emit` gets its events, whose texts have passed `redact`; `ended` is set when a query ends."""

    def __init__(self, config: Config, clock: Clock, emit: Callable[[Sequence[Event]], None], redact: Callable[[str], str], ended: threading.Event) -> None:
        self._config = config
        self._clock = clock
        self._emit = emit
        self._redact = redact
        self._ended_somewhere = ended
        self._queries: list[ManagedQuery] = []
        self._due: dict[str, Due] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-supervisor", daemon=True)
        self.disturbed_s: float | None = None

    def add(self, query: ManagedQuery) -> None:
        """Start a query and keep it alive from then on. A mistake of the user is raised; any other failure of the first start is one like any other."""
        self._begin(query)
        self._queries.append(query)
        if not self._thread.is_alive() and not self._stopping.is_set():
            self._thread.start()

    def close(self) -> None:
        """Restart nothing any more."""
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
            self._ended_somewhere.wait(DUE_POLL_S if self._due else POLL_S)
            self._ended_somewhere.clear()
            for query in list(self._queries):
                try:
                    self._look_after(query)
                except Exception as error:
                    # The gateway to a JVM that has died answers nothing; whether the driver still lives is the host's to see.
                    self._stopping.wait(1.0 if "Py4J" in type(error).__name__ else 0.0)

    def _look_after(self, query: ManagedQuery) -> None:
        if not query.lock.acquire(blocking=False):
            return
        try:
            if query.settled.is_set() or query.closing.is_set():
                self._due.pop(query.name, None)
            elif query.state == "failed":
                self._restart_when_due(query)
            elif query.state == "running" and not query.is_active:
                error = query.query.exception()
                if error is None:
                    self._ended(query)
                else:
                    self._failed(query, error)
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
            self._due[query.name] = Due(at_s=now_s + answer.wait_s, failed_s=now_s, attempt=answer.attempt, cause=cause, replayed_rows=replayed)

    def _answer(self, query: ManagedQuery, error: BaseException) -> Restart | GiveUp:
        if "restart" in query.recipe.unable:
            return GiveUp(reason=query.recipe.unable["restart"])
        if isinstance(error, UserMistake):
            return GiveUp(reason="this is for its owner to put right")
        return after_failure(query.failures, self._config)

    def _restart_when_due(self, query: ManagedQuery) -> None:
        if query.broken is not None:
            error, query.broken = query.broken, None
            self._failed(query, error)
            return
        due = self._due.get(query.name)
        if due is None or self._clock.now_s() < due.at_s:
            return
        if not query.recipe.ready(query.settings) and self._clock.now_s() < due.failed_s + self._config.executors_timeout_s:
            return
        del self._due[query.name]
        try:
            query.start()
        except Exception as error:
            self._failed(query, error)
            return
        now_s = self._clock.now_s()
        self.disturbed_s = now_s
        restarted = QueryRestarted(
            at_s=now_s, query=query.name, attempt=due.attempt, downtime_s=now_s - due.failed_s, cause=due.cause, replayed_rows=due.replayed_rows
        )
        self._emit([restarted])
