"""What the next run of a query reads again: rows that the last one had begun with and not committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.core.errors import NotReachable
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.live import LiveRows
from penstock.spark.positions import between, where
from penstock.spark.recipe import Recipe


class Replay:
    """Counts them, at most: from the checkpoint for micro-batches, from what tasks had read in Real-Time Mode."""

    def __init__(self, recipe: Recipe, checkpoint: Checkpoint | None, live: LiveRows) -> None:
        self._recipe = recipe
        self._checkpoint = checkpoint
        self._live = live

    def committed(self) -> tuple[Any, ...] | None:
        """Up to where the checkpoint has each source committed, for a new query where it begins; None without a checkpoint."""
        if self._checkpoint is None:
            return None
        return self._checkpoint.committed_offsets() or tuple(None if source is None else source.origin() for source in self._recipe.positions)

    def all_committed(self) -> bool | None:
        """Whether nothing is logged that is not committed: after a commit the next batch may have begun before it was heard.

        None if the checkpoint does not answer.
        """
        try:
            return self._checkpoint is None or self._checkpoint.last_logged() == self._checkpoint.last_committed()
        except NotReachable:
            return None

    def of_batch(self) -> float | None:
        """The rows of a batch that was logged and not committed; None if the sources do not count rows, or the checkpoint does not answer."""
        try:
            return self._live.replay(self._logged_not_committed())
        except NotReachable:
            return None

    def _logged_not_committed(self) -> float | None:
        if self._checkpoint is None:
            return None
        if self._checkpoint.last_logged() == self._checkpoint.last_committed():
            return 0.0
        begin, end = self.committed() or (), self._checkpoint.logged_offsets() or ()
        rows = between(self._recipe.positions, begin, end) if None not in begin else None
        return None if rows is None else sum(rows.values())

    def of_flow(self, committed_batch: int | None, processed: Sequence[Any] | None) -> float:
        """In Real-Time Mode: the rows that tasks had read since the last commit."""
        place = where(self._recipe.positions, processed)
        known = place.newest_rows is not None and place.processed_rows is not None
        return self._live.ended(committed_batch, (place.newest_rows or 0.0) - (place.processed_rows or 0.0) if known else None)
