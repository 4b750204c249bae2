"""The window of a query's reading: it ends at a commit and begins at one, so that micro-batches do not alias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.core.monitor.facts import BatchFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The batches committed in (start_s, end_s]."""

    start_s: float
    end_s: float
    batches: tuple[BatchFact, ...]

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def rows(self) -> float:
        return sum(batch.rows for batch in self.batches)


def window_of(batches: Sequence[BatchFact], idle_s: float | None, at_s: float, interval_s: float, wanted_s: float) -> Window | None:
    """The newest window at least `wanted_s` long; from the first commit if less is known, or around the only batch; None before that.

    An idle query (nothing to read) is taken up to when it said so. A commit that is long overdue means a stall: then the window runs on to now,
    so that the throughput falls instead of staying at its last value.
    """
    if not batches:
        return None
    end_s = max(batches[-1].committed_s, idle_s or 0.0)
    if at_s - end_s > 2 * max(interval_s, batches[-1].duration_s) + 1.0:
        end_s = at_s
    starts = [batch.committed_s for batch in batches if batch.committed_s <= end_s - wanted_s]
    first_s = batches[0].started_s if len(batches) == 1 else batches[0].committed_s
    start_s = starts[-1] if starts else first_s
    if end_s - start_s > 2 * wanted_s and not any(start_s < batch.committed_s for batch in batches):
        start_s = end_s - wanted_s
    inside = tuple(batch for batch in batches if start_s < batch.committed_s <= end_s)
    return Window(start_s=start_s, end_s=end_s, batches=inside)
