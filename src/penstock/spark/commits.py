"""Hear every commit of every query, at once."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.spark.progress import Progress, parse_progress


class Commits:
    """The progress of one query across its restarts: what has come since the last look, and a way to wait for the next commit."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._fresh: deque[Progress] = deque(maxlen=1000)
        self._count = 0
        self.last: Progress | None = None
        self.idle_wall_s: float | None = None

    def add(self, progress: Progress) -> None:
        with self._changed:
            self._fresh.append(progress)
            self._count += 1
            self.last = progress
            self._changed.notify_all()

    def idle(self) -> None:
        with self._changed:
            self.idle_wall_s = time.time()
            self._changed.notify_all()

    @property
    def count(self) -> int:
        return self._count

    def take(self) -> list[Progress]:
        """What has come since the last call."""
        with self._changed:
            fresh = list(self._fresh)
            self._fresh.clear()
            return fresh

    def wait_beyond(self, count: int, timeout_s: float) -> bool:
        """Whether more than `count` commits have been seen within the time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count > count, timeout_s)


class CommitListener(StreamingQueryListener):
    """Hands each progress report to the query it belongs to. Runs in Spark's callback thread: it must be quick and never raise."""

    def __init__(self) -> None:
        self._by_run: dict[str, Commits] = {}

    def follow(self, run_id: str, commits: Commits) -> None:
        self._by_run[run_id] = commits

    def forget(self, commits: Commits) -> None:
        self._by_run = {run_id: each for run_id, each in self._by_run.items() if each is not commits}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        commits = self._by_run.get(str(event.progress.runId))
        if commits is not None:
            progress = parse_progress(json.loads(event.progress.json))
            if progress.executed:
                commits.add(progress)
            else:
                commits.idle()

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        commits = self._by_run.get(str(event.runId))
        if commits is not None:
            commits.idle()

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass
