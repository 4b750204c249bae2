"""What Spark's JVM prints: in a file that is bounded, or on the terminal; secrets masked."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from penstock.core.errors import UserMistake

LARGEST_BYTES = 20_000_000
LATEST_LINES = 100


class LogPipe:
    """A pipe whose lines go, redacted, to `path`, or to the terminal if that is None; the JVM writes to `end`.

    What was at `path` before moves to `<path>.1`, as does a file that grows too large.
    """

    def __init__(self, path: Path | None, redact: Callable[[str], str]) -> None:
        self._path = path
        self._redact = redact
        try:
            self._file = None if path is None else opened(path)
        except OSError as error:
            raise UserMistake(f"Spark's log {path} cannot be written: {error.strerror}; name another with --spark-log, or - for the terminal") from None
        self._latest: deque[str] = deque(maxlen=LATEST_LINES)
        reading, self.end = os.pipe()
        self._thread = threading.Thread(target=self._pump, args=(reading,), name="penstock-spark-log", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close this process's end; the pipe lives until the JVM's is closed too."""
        os.close(self.end)

    def said(self) -> str:
        """The latest lines of a JVM that has ended."""
        self._thread.join(timeout=5)
        return "".join(self._latest)

    def _pump(self, reading: int) -> None:
        with os.fdopen(reading, errors="replace") as lines:
            for line in lines:
                masked = self._redact(line)
                self._latest.append(masked)
                try:
                    self._write(masked)
                except (OSError, ValueError):
                    # A full disk under the log is no reason to stop reading: the JVM would block on the pipe.
                    pass

    def _write(self, line: str) -> None:
        if self._path is None or self._file is None:
            sys.stderr.write(line)
            return
        self._file.write(line)
        if self._file.tell() > LARGEST_BYTES:
            self._file.close()
            self._file = opened(self._path)


def opened(path: Path) -> TextIO:
    """A new file at `path`; the one before it is kept beside it."""
    if path.exists():
        path.replace(path.with_name(f"{path.name}.1"))
    return open(path, "w", buffering=1, errors="replace")
