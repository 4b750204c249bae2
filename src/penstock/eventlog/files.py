"""Where the event logs are that somebody names: single files, rolling folders, folders of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import UserMistake

ROLLING = "eventlog_v2_"
PART = re.compile(r"events_(\d+)_")
COMPACTED = ".compact"
NO_LOG = ("appstatus_", ".", "_")
"""Files that begin so lie beside logs and are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """The log of one application: a file, or the parts of a rolling one in the order of their writing."""

    path: Path
    parts: tuple[Path, ...]

    @property
    def size_bytes(self) -> int:
        return sum(part.stat().st_size for part in self.parts)


def event_logs(paths: Iterable[Path]) -> Iterator[EventLog]:
    """All logs at these paths; folders are looked through to the bottom, in the order of names. A path that is not there is a mistake."""
    for path in paths:
        if path.is_file():
            yield EventLog(path=path, parts=(path,))
        elif path.is_dir():
            yield from logs_in(path)
        else:
            raise UserMistake(f"{path}: there is no such file or folder")


def logs_in(folder: Path) -> Iterator[EventLog]:
    """A rolling folder is one log; of any other every file is one, and every folder is looked into."""
    inside = sorted(each for each in folder.iterdir() if not each.name.startswith(NO_LOG) and not each.name.endswith(".crc"))
    parts = [each for each in inside if PART.match(each.name) and each.is_file()]
    if parts or folder.name.startswith(ROLLING):
        yield EventLog(path=folder, parts=in_order(parts))
        return
    for each in inside:
        if each.is_dir():
            yield from logs_in(each)
        elif each.is_file():
            yield EventLog(path=each, parts=(each,))


def in_order(parts: Iterable[Path]) -> tuple[Path, ...]:
    """By number; one that Spark compacted stands for all up to it.

    >>> [path.name for path in in_order(map(Path, ("events_10_a", "events_9_a", "events_9_a.compact", "events_2_a")))]
    ['events_9_a.compact', 'events_10_a']
    """
    numbered = sorted((number_of(part), not part.name.endswith(COMPACTED), part) for part in parts)
    compacted = max((number for number, plain, _ in numbered if not plain), default=-1)
    return tuple(part for number, plain, part in numbered if number > compacted or (number == compacted and not plain))


def number_of(part: Path) -> int:
    found = PART.match(part.name)
    assert found is not None
    return int(found[1])
