"""What is going to happen in a simulation, by time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count

Act = Callable[[float], None]
"""Something that happens; it is told when."""


class Agenda:
    """Things to happen, the earliest first; of those at one moment the one that was added first.

    >>> agenda, happened = Agenda(), []
    >>> agenda.add(5.0, lambda at_s: happened.append(("b", at_s)))
    >>> agenda.add(3.0, lambda at_s: happened.append(("a", at_s)))
    >>> agenda.happen(), agenda.next_s, happened
    (None, 5.0, [('a', 3.0)])
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Act]] = []
        self._order = count()

    @property
    def next_s(self) -> float:
        """When something happens next; infinite if nothing does."""
        return self._entries[0][0] if self._entries else math.inf

    def add(self, at_s: float, act: Act) -> None:
        heapq.heappush(self._entries, (at_s, next(self._order), act))

    def happen(self) -> None:
        """The next of them."""
        at_s, _, act = heapq.heappop(self._entries)
        act(at_s)
