"""How far a feeder has sent its rows: confirmed by deliveries, stored in a file, and made exact from the topic's offsets after a crash."""

import json
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from penstock.core.errors import UserMistake
from penstock.kafka.topics import end_offsets, partitions_of, words_of
from penstock.leases import FileLease

SETTLE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """All rows before `position` are in the topic; they end at `offsets`, by partition."""

    position: int
    offsets: tuple[int, ...]

    def write(self, path: Path) -> None:
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(json.dumps({"position": self.position, "offsets": self.offsets}))
        fresh.rename(path)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        if not path.exists():
            return None
        try:
            kept = json.loads(path.read_text())
            return cls(position=int(kept["position"]), offsets=tuple(int(each) for each in kept["offsets"]))
        except (ValueError, KeyError, TypeError):
            raise UserMistake(f"feed: its mark {path} is damaged; restore it, or feed another topic") from None

    def sent_since(self, ends: Sequence[int]) -> list[int]:
        """Return how many records of each partition were sent after the mark: they must not be sent again.

        >>> Mark(position=100, offsets=(60, 40)).sent_since([63, 40])
        [3, 0]
        """
        if len(ends) != len(self.offsets):
            raise UserMistake(f"feed: the topic has {len(ends)} partitions, it was fed with {len(self.offsets)}; feed another topic, or remove the feed's mark")
        if any(end < at for end, at in zip(ends, self.offsets, strict=True)):
            raise UserMistake(
                f"feed: the topic ends at offsets {list(ends)}, before the {list(self.offsets)} that it was fed up to; it is another topic: "
                "restore it, or remove the feed's mark"
            )
        return [end - at for end, at in zip(ends, self.offsets, strict=True)]


class Deliveries:
    """Confirms marks, by the delivery of the last record of each partition of a block: within a partition, records are delivered in order.

    `problem` says what went wrong, if something did.
    """

    def __init__(self, topic: str, ends: Sequence[int]) -> None:
        self._topic = topic
        self._ends = list(ends)
        self._marks: deque[Mark] = deque()
        self.problem: str | None = None

    def report(self, partition: int, end: int, error: Any, message: Any) -> None:
        """Take in a delivery, or the refusal, of the record that brings a partition to offset `end`; a repeated record may come without an offset."""
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
        """Return the newest awaited mark that all partitions have reached, once."""
        newest = None
        while self._marks and all(end >= at for end, at in zip(self._ends, self._marks[0].offsets, strict=True)):
            newest = self._marks.popleft()
        return newest


def take_lease(mark: Path, timeout_s: float) -> FileLease:
    """Lock this mark for one feeder; wait for an earlier one that is still ending."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return FileLease(mark.with_name(f"{mark.name}.lock"))
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UserMistake(f"feed: another feeder is at work with {mark}; end it first") from None
        time.sleep(0.1)


def find_mark(order: Mapping[str, Any]) -> tuple[Mark, list[int]]:
    """Return the mark from which to go on, and the ends of the topic; a new topic is fed from its end."""
    client, topic, wanted, path = order["client"], order["topic"], order["partitions"], Path(order["mark"])
    there = partitions_of(client).get(topic)
    if there != wanted:
        raise UserMistake(f"feed: {topic}: found {wanted} partitions, " + ("there is no such topic" if there is None else f"it has {there}"))
    ends, mark = end_offsets(client, topic, wanted), Mark.read(path)
    if mark is None:
        mark = Mark(position=0, offsets=tuple(ends))
        mark.write(path)
        return mark, ends
    # Records of a feeder that was killed may still be arriving.
    while True:
        time.sleep(SETTLE_S)
        before, ends = ends, end_offsets(client, topic, wanted)
        if ends == before:
            return mark, ends
