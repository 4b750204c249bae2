"""Where a query stands in its sources: only a source whose offsets count rows can tell how much has arrived and how much waits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from penstock.trace.state import TraceState


class Positions(Protocol):
    """The arithmetic of one source's offsets; all rows are cumulative since its beginning, by the source's partitions."""

    def newest(self) -> Mapping[str, float] | None:
        """How many rows have arrived; None while the source does not answer."""
        ...

    def origin(self) -> Any:
        """The offset a new query begins at; None if that is not known."""
        ...

    def at(self, offset: Any) -> Mapping[str, float]:
        """How many rows an offset covers."""
        ...

    def waited_s(self, offset: Any) -> float | None:
        """How long the first row not covered by `offset` has waited; 0 if there is none."""
        ...


class TracePositions:
    """Offsets of a trace count its rows, and its schedule knows when each arrived."""

    def __init__(self, state: TraceState) -> None:
        self._state = state

    def newest(self) -> Mapping[str, float]:
        now = time.time()
        return {"trace": float(self._state.begin(now).newest_at(now))}

    def origin(self) -> Any:
        return {"position": 0}

    def at(self, offset: Any) -> Mapping[str, float]:
        return {"trace": float(offset["position"])}

    def waited_s(self, offset: Any) -> float | None:
        arrived = float(self._state.schedule().arrival_of(np.array([int(offset["position"])], dtype=np.int64))[0])
        return max(0.0, time.time() - arrived)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a query stands; None where a source does not tell. By partition, `processed` lacks those that are not known."""

    newest_rows: float | None = None
    processed_rows: float | None = None
    oldest_waiting_s: float | None = None
    newest: Mapping[str, float] | None = None
    processed: Mapping[str, float] | None = None


def where(positions: Sequence[Positions | None], offsets: Sequence[Any] | None) -> Place:
    """Newest and processed rows over all sources, and how long the oldest waiting row has waited."""
    sources = [each for each in positions if each is not None]
    if not sources or len(sources) < len(positions):
        return Place()
    newest = merged([source.newest() for source in sources])
    newest_rows = None if newest is None else sum(newest.values())
    if offsets is None or len(offsets) != len(sources):
        return Place(newest_rows=newest_rows, newest=newest)
    known = [(source, offset) for source, offset in zip(sources, offsets, strict=True) if offset is not None]
    waits = [source.waited_s(offset) for source, offset in known]
    processed = merged([source.at(offset) for source, offset in known])
    return Place(
        newest_rows=newest_rows,
        processed_rows=sum(processed.values()) if processed else None if len(known) < len(sources) else 0.0,
        oldest_waiting_s=None if any(wait is None for wait in waits) else max((wait for wait in waits if wait is not None), default=None),
        newest=newest,
        processed=processed,
    )


def merged(counts: Sequence[Mapping[str, float] | None]) -> dict[str, float] | None:
    """The counts of several sources together; None if one of them is unknown."""
    known = [each for each in counts if each is not None]
    if len(known) < len(counts):
        return None
    together: dict[str, float] = {}
    for i, each in enumerate(known):
        together |= {name if name not in together else f"{name} ({i})": rows for name, rows in each.items()}
    return together


def between(positions: Sequence[Positions | None], start: Sequence[Any], end: Sequence[Any]) -> dict[str, float] | None:
    """Rows from the start offsets to the end offsets of all sources, by partition; None where one of them does not count rows."""
    if len(positions) != len(end) or any(each is None for each in positions) or any(offset is None for offset in end):
        return None
    counts: list[Mapping[str, float] | None] = []
    for source, first, last in zip(positions, start, end, strict=False):
        assert source is not None
        begin = {} if first is None else source.at(first)
        counts.append({name: rows - begin.get(name, 0.0) for name, rows in source.at(last).items()})
    return merged(counts)
