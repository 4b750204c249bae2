"""Keeps queries alive: one that dies is restarted from its checkpoint, one that cannot live is given up; the others go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from penstock.core.config import Config
from penstock.core.domain.event import Event, QueryEnded, QueryFailed, QueryGivenUp, QueryRestarted, QueryStarted
from penstock.core.execute.restarts import Failure, GiveUp, after_failure
from penstock.ports import Clock
from penstock.spark.causes import cause_of
from penstock.spark.query import ManagedQuery

POLL_S = 0.2


class Supervisor:
    """Watches queries in a thread of its own. `emit` gets its events; `disturbed` is called at every failure."""

    def __init__(self, config: Config, clock: Clock, emit: Callable[[Sequence[Event]], None]) -> None:
        self._config = config
        self._clock = clock
        self._emit = emit
        self._queries: list[ManagedQuery] = []
        self._due: dict[str, tuple[float, float, int, str]] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="penstock-supervisor", daemon=True)
        self.disturbed_s: float | None = None

    def add(self, query: ManagedQuery) -> None:
        """Start a query and keep it alive from then on. A first start that fails counts as a failure like any other."""
        self._queries.append(query)
        self._begin(query)
        if not self._thread.is_alive() and not self._stopping.is_set():
            self._thread.start()

    def close(self) -> None:
        """Restart nothing any more."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30)

    def _begin(self, query: ManagedQuery) -> None:
        try:
            query.start()
        except Exception as error:
            self._failed(query, error)
        else:
            self._emit([QueryStarted(at_s=self._clock.now_s(), query=query.name, trigger=str(query.settings.trigger))])

    def _watch(self) -> None:
        while not self._stopping.wait(POLL_S):
            for query in self._queries:
                self._look_after(query)

    def _look_after(self, query: ManagedQuery) -> None:
        if query.name in self._due:
            due_s, failed_s, attempt, cause = self._due[query.name]
            if self._clock.now_s() >= due_s:
                del self._due[query.name]
                self._restart(query, failed_s, attempt, cause)
            return
        if query.state != "running" or query.query.isActive or not query.lock.acquire(blocking=False):
            return
        try:
            if query.state != "running" or query.query.isActive:
                return
            error = query.query.exception()
            if error is not None:
                self._failed(query, error)
            else:
                self._ended(query)
        finally:
            query.lock.release()

    def _ended(self, query: ManagedQuery) -> None:
        done = query.settings.trigger.kind == "available_now"
        query.state = "ended" if done else "stopped"
        query.settled.set()
        self._emit([QueryEnded(at_s=self._clock.now_s(), query=query.name, reason="all available data is processed" if done else "it was stopped")])

    def _failed(self, query: ManagedQuery, error: BaseException) -> None:
        now_s = self._clock.now_s()
        cause, trace = cause_of(error)
        query.failures.append(Failure(at_s=now_s, cause=cause, committed=query.committed_since_start))
        self.disturbed_s = now_s
        self._emit([QueryFailed(at_s=now_s, query=query.name, cause=cause, traceback=trace)])
        answer = GiveUp(reason=query.recipe.unable["restart"]) if "restart" in query.recipe.unable else after_failure(query.failures, self._config)
        if isinstance(answer, GiveUp):
            query.state = "given up"
            query.settled.set()
            self._emit([QueryGivenUp(at_s=now_s, query=query.name, restarts=len(query.failures) - 1, cause=cause, reason=answer.reason)])
        else:
            query.state = "failed"
            self._due[query.name] = (now_s + answer.wait_s, now_s, answer.attempt, cause)

    def _restart(self, query: ManagedQuery, failed_s: float, attempt: int, cause: str) -> None:
        try:
            query.start()
        except Exception as error:
            self._failed(query, error)
            return
        now_s = self._clock.now_s()
        self.disturbed_s = now_s
        self._emit([QueryRestarted(at_s=now_s, query=query.name, attempt=attempt, downtime_s=now_s - failed_s, cause=cause)])
