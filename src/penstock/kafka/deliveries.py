"""What a topic is known to hold of what was sent to it, from the broker's word on the last record of each partition of a block."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from penstock.kafka.asking import words_of
from penstock.kafka.mark import Mark


class Deliveries:
    """Confirms marks; `problem` says what has gone wrong, if anything has. Within a partition, records are delivered in order."""

    def __init__(self, topic: str, ends: Sequence[int]) -> None:
        self._topic = topic
        self._ends = list(ends)
        self._marks: deque[Mark] = deque()
        self.problem: str | None = None

    def report(self, partition: int, end: int, error: Any, message: Any) -> None:
        """The broker has taken, or refused, the record that brings a partition to offset `end`; it need not know again which offset a repeated one got."""
        offset = message.offset()
        if error is not None:
            self.problem = f"feed: {self._topic} does not take the rows: {words_of(error)}"
        elif offset is not None and offset >= 0 and offset + 1 != end:
            why = "something else writes to it, too, and a feeder needs a topic of its own" if offset + 1 > end else "it has lost rows"
            self.problem = f"feed: partition {partition} of {self._topic} is at offset {offset + 1}, it was fed up to {end}: {why}"
        else:
            self._ends[partition] = end

    def await_mark(self, mark: Mark) -> None:
        self._marks.append(mark)

    def confirmed(self) -> Mark | None:
        """The newest of the awaited marks that all partitions have reached, given once."""
        newest = None
        while self._marks and all(end >= at for end, at in zip(self._ends, self._marks[0].offsets, strict=True)):
            newest = self._marks.popleft()
        return newest
