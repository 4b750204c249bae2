"""How a feeder finds out where to go on, alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.core.errors import UserMistake
from penstock.kafka.mark import Mark
from penstock.kafka.topics import end_offsets, partitions_of
from penstock.leases import FileLease

SETTLE_S = 0.5


def take_lease(mark: Path, timeout_s: float) -> FileLease:
    """Be the only one that feeds by this mark; an earlier feeder may still be ending."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return FileLease(mark.with_name(f"{mark.name}.lock"))
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UserMistake(f"feed: another feeder is at work with {mark}; end it first") from None
        time.sleep(0.1)


def find_mark(order: Mapping[str, Any]) -> tuple[Mark, list[int]]:
    """Where to go on, and where the topic ends; a new topic is fed from its end."""
    client, topic, wanted, path = order["client"], order["topic"], order["partitions"], Path(order["mark"])
    there = partitions_of(client).get(topic)
    if there != wanted:
        raise UserMistake(f"feed: {topic}: found {wanted} partitions, " + ("there is no such topic" if there is None else f"it has {there}"))
    ends, mark = end_offsets(client, topic, wanted), Mark.read(path)
    if mark is None:
        mark = Mark(position=0, offsets=tuple(ends))
        mark.write(path)
        return mark, ends
    # What a feeder that was killed had under way may still be arriving.
    while True:
        time.sleep(SETTLE_S)
        before, ends = ends, end_offsets(client, topic, wanted)
        if ends == before:
            return mark, ends
