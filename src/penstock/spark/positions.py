"""How far a source has come and how far a query has followed, in rows, for sources that tell."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.spark.trace.state import TraceState


class Positions(Protocol):
    """The arithmetic of one source's offsets; all rows are cumulative since its beginning."""

    def newest_rows(self) -> float | None:
        """How many rows have arrived; None while the source does not answer."""
        ...

    def origin(self) -> Any:
        """The offset a new query begins at; None if that is not known."""
        ...

    def rows_at(self, offset: Any) -> float: ...

    def waited_s(self, offset: Any) -> float | None:
        """How long the first row not covered by `offset` has waited; 0 if there is none."""
        ...


class TracePositions:
    """Offsets of a trace count its rows, and its schedule knows when each arrived."""

    def __init__(self, state: TraceState) -> None:
        self._state = state

    def newest_rows(self) -> float:
        now = time.time()
        return float(self._state.begin(now).newest_at(now))

    def origin(self) -> Any:
        return {"position": 0}

    def rows_at(self, offset: Any) -> float:
        return float(offset["position"])

    def waited_s(self, offset: Any) -> float | None:
        arrived = float(self._state.schedule().arrival_of(np.array([int(offset["position"])], dtype=np.int64))[0])
        return max(0.0, time.time() - arrived)


def rows_between(positions: Sequence[Positions | None], start: Sequence[Any], end: Sequence[Any]) -> float | None:
    """Rows from the start offsets to the end offsets of all sources; None where one of them does not count rows."""
    if len(positions) != len(end) or any(each is None for each in positions) or any(offset is None for offset in end):
        return None
    total = 0.0
    for source, first, last in zip(positions, start, end, strict=False):
        assert source is not None
        total += source.rows_at(last) - (0.0 if first is None else source.rows_at(first))
    return total


def where(positions: Sequence[Positions | None], processed: Sequence[Any] | None) -> Mapping[str, float | None]:
    """Newest and processed rows over all sources, and how long the oldest waiting row has waited; None where unknown."""
    unknown: dict[str, float | None] = {"newest_rows": None, "processed_rows": None, "oldest_waiting_s": None}
    if not positions or any(each is None for each in positions):
        return unknown
    sources = [each for each in positions if each is not None]
    newest = [source.newest_rows() for source in sources]
    unknown["newest_rows"] = None if None in newest else sum(rows for rows in newest if rows is not None)
    if processed is None or len(processed) != len(sources):
        return unknown
    known = [(source, offset) for source, offset in zip(sources, processed, strict=True) if offset is not None]
    waits = [source.waited_s(offset) for source, offset in known]
    unknown["processed_rows"] = sum(source.rows_at(offset) for source, offset in known)
    unknown["oldest_waiting_s"] = None if any(wait is None for wait in waits) else max((wait for wait in waits if wait is not None), default=None)
    return unknown
