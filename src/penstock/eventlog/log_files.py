"""Finding event logs at the paths given: single files, rolling folders, folders of both."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.core.errors import UserMistake

ROLLING = "eventlog_v2_"
PART = re.compile(r"events_(\d+)_")
COMPACTED = ".compact"
NO_LOG = ("appstatus_", ".", "_")
"""Files beside logs that are not logs begin with these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog:
    """The log of one application: a file, or the parts of a rolling log in the order of writing."""

    path: Path
    parts: tuple[Path, ...]
    trouble: str | None = None
    """Why its parts could not be listed."""

    @property
    def size_bytes(self) -> int:
        """The size of all parts; raises `UserMistake` if one cannot be accessed."""
        return sum(map(size_of, self.parts))


def event_logs(paths: Iterable[Path]) -> Iterator[EventLog]:
    """Yield all logs at these paths, folders recursively, in the order of names; raise `UserMistake` for a path that does not exist.

    A path without access is a log without parts and with `trouble`.
    """
    for path in paths:
        try:
            is_file, is_folder = path.is_file(), path.is_dir()
        except OSError as error:
            yield EventLog(path=path, parts=(), trouble=why_unreadable(error))
            continue
        if is_file:
            yield EventLog(path=path, parts=(path,))
        elif is_folder:
            yield from logs_in(path)
        else:
            raise UserMistake(f"{path}: there is no such file or folder")


def logs_in(folder: Path) -> Iterator[EventLog]:
    """Yield a rolling folder as one log; in any other folder every file is a log, and subfolders are searched."""
    try:
        inside = sorted(each for each in folder.iterdir() if not each.name.startswith(NO_LOG) and not each.name.endswith(".crc"))
        files, folders = {each for each in inside if each.is_file()}, {each for each in inside if each.is_dir()}
    except OSError as error:
        yield EventLog(path=folder, parts=(), trouble=why_unreadable(error))
        return
    parts = [each for each in inside if PART.match(each.name) and each in files]
    if parts or folder.name.startswith(ROLLING):
        yield EventLog(path=folder, parts=in_order(parts))
        return
    for each in inside:
        if each in folders:
            yield from logs_in(each)
        elif each in files:
            yield EventLog(path=each, parts=(each,))


def size_of(part: Path) -> int:
    try:
        return part.stat().st_size
    except OSError as error:
        raise UserMistake(f"{part}: {why_unreadable(error)}") from None


def in_order(parts: Iterable[Path]) -> tuple[Path, ...]:
    """Return the parts by number; a compacted one replaces all up to it.

    >>> [path.name for path in in_order(map(Path, ("events_10_a", "events_9_a", "events_9_a.compact", "events_2_a")))]
    ['events_9_a.compact', 'events_10_a']
    """
    numbered = sorted((int(PART.findall(part.name)[0]), not part.name.endswith(COMPACTED), part) for part in parts)
    compacted = max((number for number, plain, _ in numbered if not plain), default=-1)
    return tuple(part for number, plain, part in numbered if number > compacted or (number == compacted and not plain))


def why_unreadable(error: OSError) -> str:
    """Return why a log cannot be read, in words.

    >>> why_unreadable(PermissionError(13, "Permission denied"))
    'it cannot be read: Permission denied'
    """
    if isinstance(error, FileNotFoundError):
        return "it has disappeared: Spark renames a log when its job ends and compacts the parts of a rolling one; audit it again"
    return f"it cannot be read: {error.strerror or error}"
