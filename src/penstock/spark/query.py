"""One query under Penstock: started, stopped between batches, started again, with one identity throughout."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.domain.trigger import Trigger
from penstock.core.execute.restarts import Failure
from penstock.ports import Clock
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.commits import CommitListener, Commits
from penstock.spark.positions import where
from penstock.spark.recipe import Recipe
from penstock.spark.settings import QuerySettings

POLL_S = 0.02
ONE_BATCH_S = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """How a query was stopped: whether it was between batches, and how far its sources had come."""

    at_s: float
    between_batches: bool
    newest_rows: float | None


def is_waiting(query: StreamingQuery) -> bool:
    """Whether it is between two batches: waiting for data or for its next trigger, not still coming up."""
    status = query.status
    return not status["isTriggerActive"] and str(status["message"]).startswith("Waiting")


class ManagedQuery:
    """States: starting, running, restarting (by Penstock), failed (waits for its restart), given up, ended (nothing left to do), stopped (by the user)."""

    def __init__(self, name: str, recipe: Recipe, settings: QuerySettings, listener: CommitListener, clock: Clock, checkpoint: Checkpoint | None) -> None:
        self.name = name
        self.recipe = recipe
        self.settings = settings
        self.commits = Commits()
        self.state = "starting"
        self.failures: list[Failure] = []
        self.started_s: float | None = None
        self.settled = threading.Event()
        self.lock = threading.RLock()
        self._listener = listener
        self._clock = clock
        self._checkpoint = checkpoint
        self._query: StreamingQuery | None = None
        self._begun_at_commit = 0
        self._processed: tuple[Any, ...] | None = None

    @property
    def query(self) -> StreamingQuery:
        if self._query is None:
            raise RuntimeError(f"query {self.name} has not been started")
        return self._query

    @property
    def has_query(self) -> bool:
        return self._query is not None

    def start(self) -> None:
        """Start the query from its checkpoint with its settings; what the user's code raises passes through."""
        with self.lock:
            self._begun_at_commit = self.commits.count
            if self._checkpoint is not None and self.commits.last is None:
                self._processed = self._checkpoint.committed_offsets() or self._origin()
            self._query = self.recipe.start(self.settings)
            self._listener.follow(str(self._query.runId), self.commits)
            self.started_s = self._clock.now_s()
            self.state = "running"

    def _origin(self) -> tuple[Any, ...] | None:
        return tuple(None if source is None else source.origin() for source in self.recipe.positions)

    @property
    def committed_since_start(self) -> bool:
        return self.commits.count > self._begun_at_commit

    def processed_offsets(self) -> tuple[Any, ...] | None:
        """Up to where each source is committed: from the last report, before it from the checkpoint, and from the beginning for a new query."""
        if self.commits.last is not None:
            return self.commits.last.end_offsets
        return self._processed

    def newest_rows(self) -> float | None:
        return where(self.recipe.positions, None)["newest_rows"]

    def stop_after_commit(self, timeout_s: float, stop_now: Callable[[], bool] = lambda: False) -> Stopped:
        """Stop between two batches: at once if none runs, else right after the running one commits; after the time-out, or when told to, where it is."""
        with self.lock:
            query = self.query
            deadline = time.monotonic() + timeout_s
            count = self.commits.count
            between = False
            while query.isActive and time.monotonic() < deadline and not stop_now():
                if self.commits.wait_beyond(count, POLL_S) or is_waiting(query):
                    between = True
                    break
            stopped = Stopped(at_s=self._clock.now_s(), between_batches=between, newest_rows=self.newest_rows())
            query.stop()
            return stopped

    def settle(self, timeout_s: float) -> None:
        """Bring a stopped query to where nothing is logged that is not committed: replay what is, in one batch, and stop in the long gap after it."""
        if self._checkpoint is None or self._checkpoint.last_logged() == self._checkpoint.last_committed():
            return
        settings, self.settings = self.settings, replace(self.settings, trigger=Trigger(interval_s=ONE_BATCH_S), partitions=None)
        try:
            self.start()
            self.state = "restarting"
            self.stop_after_commit(timeout_s)
        finally:
            self.settings = settings

    def change(self, settings: QuerySettings, commit_wait_s: float, between: Callable[[], None] = lambda: None) -> tuple[Stopped, float]:
        """Restart with other settings; gives how it was stopped and the seconds until it ran again. The old settings come back if the new ones fail."""
        with self.lock:
            self.state = "restarting"
            before = self.settings
            stopped = self.stop_after_commit(commit_wait_s)
            try:
                between()
                self.settings = settings
                self.start()
            except Exception:
                self.settings = before
                self.start()
                raise
            finally:
                self.settings = replace(self.settings, partitions=None)
            return stopped, self._clock.now_s() - stopped.at_s
