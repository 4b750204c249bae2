"""What a script gets in place of a StreamingQuery: the same interface, but it survives restarts by Penstock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.spark.query import ManagedQuery


class QueryHandle:
    """Behaves as the StreamingQuery that runs at the moment; `awaitTermination` returns only when Penstock is done with the query."""

    def __init__(self, managed: ManagedQuery, on_end: Callable[[], None]) -> None:
        self.managed = managed
        self._on_end = on_end

    def awaitTermination(self, timeout: float | None = None) -> bool | None:  # noqa: N802
        """Wait until the query has ended for good: stopped, out of data, or given up, whose error is raised as Spark would."""
        ended = self.managed.settled.wait(timeout)
        if not ended:
            return False
        self._on_end()
        if self.managed.state == "given up":
            raise self._error() or RuntimeError(f"query {self.managed.name} was given up: {self.managed.failures[-1].cause}")
        return None if timeout is None else True

    def _error(self) -> BaseException | None:
        try:
            return self.managed.query.exception()
        except RuntimeError:
            return None

    @property
    def isActive(self) -> bool:  # noqa: N802
        """Whether it runs or will run again by itself."""
        return not self.managed.settled.is_set()

    def stop(self) -> None:
        """Stop it for good, also if Spark raises because its batch cannot be interrupted; Penstock does not restart it."""
        try:
            with self.managed.lock:
                self.managed.state = "stopped"
                if self.managed.is_active:
                    self.managed.query.stop()
        finally:
            self.managed.settled.set()
            self._on_end()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.managed.query, name)
