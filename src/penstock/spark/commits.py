"""Hear every commit of every query, at once."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import replace
from typing import Any, ClassVar

from pyspark import SparkContext
from pyspark.sql.streaming.listener import StreamingQueryListener

from penstock.ports import Clock
from penstock.spark.progress import Progress, parse_progress


class Commits:
    """The progress of one query across its restarts: what has come since the last look, and a way to wait for the next commit."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._fresh: deque[Progress] = deque(maxlen=1000)
        self._count = 0
        self.last: Progress | None = None
        self.idle_s: float | None = None

    def add(self, progress: Progress) -> None:
        with self._changed:
            self._fresh.append(progress)
            self._count += 1
            self.last = progress
            self._changed.notify_all()

    def idle(self, at_s: float) -> None:
        with self._changed:
            self.idle_s = at_s
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
    """Hands each progress report to the query it belongs to. Runs in Spark's callback thread: it must be quick and never raise.

    PySpark would turn every report into a tree of Python objects, a call to the JVM for each leaf; ours crosses over once, as JSON.
    Spark speaks in wall time: how that stands to the controller's clock is noted with each report as it comes in, so that a later step of the
    system's time moves nothing.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._by_run: dict[str, Commits] = {}
        self._early: deque[Progress] = deque(maxlen=20)
        self.ended = threading.Event()

    def follow(self, run_id: str, commits: Commits) -> None:
        """Let a run's reports go to `commits`, in place of those of its earlier runs; what was reported before this call is handed over."""
        with self._lock:
            self._by_run = {known: each for known, each in self._by_run.items() if each is not commits} | {run_id: commits}
            for progress in [each for each in self._early if each.run_id == run_id]:
                commits.add(progress)
                self._early.remove(progress)

    def reported(self, report: str) -> None:
        now_s = self._clock.now_s()
        progress = replace(parse_progress(json.loads(report)), steady_minus_wall_s=now_s - time.time())
        with self._lock:
            commits = self._by_run.get(progress.run_id)
            if not progress.executed:
                if commits is not None:
                    commits.idle(now_s)
            elif commits is not None:
                commits.add(progress)
            else:
                self._early.append(progress)

    def idle(self, run_id: str) -> None:
        commits = self._by_run.get(run_id)
        if commits is not None:
            commits.idle(self._clock.now_s())

    @property
    def _jlistener(self) -> Any:
        if not hasattr(self, "_jlistenerobj"):
            jvm: Any = SparkContext._jvm
            self._jlistenerobj = jvm.PythonStreamingQueryListenerWrapper(_Callbacks(self))
        return self._jlistenerobj

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Not called: `_Callbacks` hears the events."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Not called: `_Callbacks` hears the events."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Not called: `_Callbacks` hears the events."""


class _Callbacks:
    """What the JVM calls."""

    def __init__(self, listener: CommitListener) -> None:
        self._listener = listener

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self._listener.reported(event.progress().json())

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        self._listener.idle(str(event.runId().toString()))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self._listener.ended.set()

    class Java:
        implements: ClassVar = ["org.apache.spark.sql.streaming.PythonStreamingQueryListener"]
