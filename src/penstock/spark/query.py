"""One query under Penstock: started, stopped between batches and restarted, under one name."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.domain.trigger import Trigger
from penstock.core.errors import Refused
from penstock.core.execute.restarts import Failure
from penstock.ports import Clock
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.live_rows import LiveRows, Replay
from penstock.spark.positions import where
from penstock.spark.progress import CommitListener, Commits
from penstock.spark.query_settings import QuerySettings
from penstock.spark.recipe import Recipe

POLL_S = 0.02
ONE_BATCH_S = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """How a query was stopped: whether between batches, the newest rows of its sources, and the rows that it had read since its last commit:
    the next batch may begin before a stop takes effect, and its rows are read again."""

    at_s: float
    between_batches: bool
    newest_rows: float | None
    replayed_rows: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """The cost of a restart with other settings: `delayed_rows` arrived while the query did not run."""

    down_s: float
    between_batches: bool
    delayed_rows: float | None
    replayed_rows: float | None = None


def is_waiting(query: StreamingQuery) -> bool:
    """Return whether it is between two batches: waiting for data or for its next trigger, not still starting."""
    status = query.status
    return not status["isTriggerActive"] and str(status["message"]).startswith("Waiting")


class ManagedQuery:
    """States: starting, running, restarting (by Penstock), failed (waits for its restart), given up, ended (nothing left to do), stopped (by the user)."""

    def __init__(
        self, name: str, recipe: Recipe, settings: QuerySettings, listener: CommitListener, clock: Clock, checkpoint: Checkpoint | None, live: LiveRows
    ) -> None:
        self.name = name
        self.recipe = recipe
        self.settings = settings
        self.commits = Commits()
        self.state = "starting"
        self.failures: list[Failure] = []
        self.broken: Exception | None = None
        self.started_s: float | None = None
        self.settled = threading.Event()
        self.closing = threading.Event()
        self.last_stop: Stopped | None = None
        self._stop_by = 0.0
        self._stop_now: Callable[[], bool] = lambda: False
        self.lock = threading.RLock()
        self._listener = listener
        self._clock = clock
        self._replay = Replay(recipe, checkpoint, live)
        self.live = live
        self._query: StreamingQuery | None = None
        self._begun_at_commit = 0
        self._processed: tuple[Any, ...] | None = None

    @property
    def query(self) -> StreamingQuery:
        if self._query is None:
            raise RuntimeError(f"query {self.name} has not been started")
        return self._query

    @property
    def is_active(self) -> bool:
        return self._query is not None and bool(self._query.isActive)

    @property
    def is_over(self) -> bool:
        """Whether its last run has ended completely: a batch whose code cannot be interrupted runs on after a stop that timed out."""
        return self._query is None or not (self._query.isActive or self._query.status["isTriggerActive"])

    def start(self, settings: QuerySettings | None = None) -> None:
        """Start the query from its checkpoint; errors of the user's code pass through."""
        with self.lock:
            if self.closing.is_set() or self.settled.is_set():
                raise Refused(f"query {self.name} is being stopped")
            self._begun_at_commit = self.commits.count
            if self._query is None and not self.is_real_time:
                self.count_replayed()
            if self.commits.last is None:
                self._processed = self._replay.committed()
            self._query = self.recipe.start(settings or self.settings)
            self.last_stop = None
            self._listener.follow(str(self._query.runId), self.commits)
            self.started_s = self._clock.now_s()
            self.state = "running"

    @property
    def slots_held(self) -> int:
        """The slots that its tasks hold all the time in Real-Time Mode, while it runs or restarts; else 0."""
        return self.recipe.slots_needed if self.is_real_time and self.state in ("running", "restarting") else 0

    @property
    def committed_since_start(self) -> bool:
        return self.commits.count > self._begun_at_commit

    def processed_offsets(self) -> tuple[Any, ...] | None:
        """Return the committed offsets of each source: from the last report, else from the checkpoint, else those at which a new query begins."""
        return self.commits.last.end_offsets if self.commits.last is not None else self._processed

    @property
    def committed_batch(self) -> int | None:
        return self.commits.last.batch_id if self.commits.last else None

    @property
    def is_real_time(self) -> bool:
        return self.settings.trigger.kind == "real_time"

    @property
    def is_reading(self) -> bool:
        """Whether tasks of its current run have begun to read."""
        return self.live.is_reading(str(self.query.runId))

    def count_replayed(self) -> float | None:
        """Return how many rows, at most, the next run reads again after a run has ended; None if unknown."""
        return self._replay.of_flow(self.committed_batch, self.processed_offsets()) if self.is_real_time else self._replay.of_batch()

    def newest_rows(self) -> float | None:
        return where(self.recipe.positions, None).newest_rows

    def stop_after_commit(self, timeout_s: float, stop_now: Callable[[], bool] = lambda: False) -> Stopped:
        """Stop between two batches: at once if none runs, else right after the next commit. After the time-out, or if `stop_now`, interrupt the batch.

        Raises if the user's code keeps the batch from being interrupted; then the run is not over yet.
        """
        with self.lock:
            query = self.query
            deadline = time.monotonic() + timeout_s
            count = self.commits.count
            paused = False
            while query.isActive and not self._out_of_time(deadline) and not stop_now():
                if self.commits.wait_beyond(count, POLL_S) or is_waiting(query):
                    paused = True
                    break
            self.last_stop = moment = Stopped(at_s=self._clock.now_s(), between_batches=False, newest_rows=self.newest_rows())
            try:
                query.stop()
            except Py4JJavaError as error:
                raise Refused(f"query {self.name} did not stop: {error.java_exception.toString()}") from None
            self.last_stop = replace(moment, between_batches=paused and self._replay.all_committed() is True, replayed_rows=self.count_replayed())
            return self.last_stop

    def close(self, grace_s: float, stop_now: Callable[[], bool]) -> None:
        """Forbid further starts; a stop that is under way gives the batch no more than the grace time."""
        self._stop_by, self._stop_now = time.monotonic() + grace_s, stop_now
        self.closing.set()

    def _out_of_time(self, deadline: float) -> bool:
        if self.closing.is_set():
            return time.monotonic() >= self._stop_by or self._stop_now()
        return time.monotonic() >= deadline

    def settle(self, timeout_s: float) -> None:
        """Commit what a stopped query has logged: replay it in one batch, and stop in the long gap after it."""
        if not self._replay.all_committed():
            self.start(replace(self.settings, trigger=Trigger(interval_s=ONE_BATCH_S), partitions=None))
            self.state = "restarting"
            self.stop_after_commit(timeout_s)

    def change(self, settings: QuerySettings, commit_wait_s: float, between: Callable[[], None] = lambda: None) -> Changed:
        """Restart with other settings; call `between` while it is stopped.

        If it cannot be stopped, or fails with the new settings, restore the old ones and raise the error.
        """
        with self.lock:
            if self.state != "running":
                raise Refused(f"query {self.name} is {self.state}: it can be changed while it runs")
            self.recipe.check(settings)
            self.state = "restarting"
            before = self.settings
            try:
                stopped = self.stop_after_commit(commit_wait_s)
                if self.closing.is_set():
                    raise Refused(f"query {self.name} is being stopped")
                between()
                self.settings = settings
                self.start()
                changed = self._cost_since(stopped)
                self.state = "restarting"
                self._wait_until_it_runs(commit_wait_s)
                changed = self._cost_since(stopped) if self.is_real_time else changed
                self.state = "running"
            except Exception:
                self.settings = before
                self._restore()
                raise
            return changed

    def _cost_since(self, stopped: Stopped) -> Changed:
        newest = self.newest_rows()
        return Changed(
            down_s=self._clock.now_s() - stopped.at_s,
            between_batches=stopped.between_batches,
            delayed_rows=None if newest is None or stopped.newest_rows is None else newest - stopped.newest_rows,
            replayed_rows=stopped.replayed_rows,
        )

    def _wait_until_it_runs(self, timeout_s: float) -> None:
        """Wait until it has committed a batch or waits for data, in Real-Time Mode until its tasks read; raise its error if it ends."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and not self.closing.is_set():
            if self.commits.wait_beyond(self._begun_at_commit, POLL_S) or is_waiting(self.query):
                return
            if self.is_real_time and self.is_reading:
                return
            if not self.query.isActive:
                raise self.query.exception() or Refused(f"query {self.name} ended at once")

    def _restore(self) -> None:
        """Start with the old settings; if that fails, the supervisor handles it."""
        try:
            if self.is_active:
                self.query.stop()
            self.start()
        except Exception as error:
            self.broken = error
            self.state = "failed"
