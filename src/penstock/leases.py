"""File locks that end with their holder: they allow one controller a job, and show the cluster which jobs still use it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType


class FileLease:
    """An exclusive lock on a file, released when closed or when the process ends in any way."""

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise

    def close(self, *, remove: bool = False) -> None:
        if self._fd >= 0:
            if remove:
                self.path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> FileLease:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def start_lock(folder: Path) -> Path:
    """Return the lock under which the cluster in `folder` starts, is joined and stops; beside the folder, which is removed with the cluster."""
    return folder.with_name(f"{folder.name}.lock")


def is_held(path: Path) -> bool:
    """Return whether a living process holds the lease on `path`."""
    if not path.exists():
        return False
    try:
        FileLease(path).close()
    except BlockingIOError:
        return True
    return False
