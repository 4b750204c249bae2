"""What Spark's JVM prints, in a file that is bounded and holds no secret."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from penstock.core.errors import UserMistake

LARGEST_BYTES = 20_000_000


def log_pipe(path: Path, redact: Callable[[str], str]) -> int:
    """The writing end of a pipe whose lines go, redacted, to `path`; what was there before moves to `<path>.1`, as does a file that grows too large."""
    try:
        file = opened(path)
    except OSError as error:
        raise UserMistake(f"Spark's log {path} cannot be written: {error.strerror}; name another with --spark-log, or - for the terminal") from None
    reading, writing = os.pipe()

    def pump() -> None:
        nonlocal file
        with os.fdopen(reading, errors="replace") as lines:
            for line in lines:
                try:
                    file.write(redact(line))
                    if file.tell() > LARGEST_BYTES:
                        file.close()
                        file = opened(path)
                except (OSError, ValueError):
                    # A full disk under the log is no reason to stop reading: the JVM would block on the pipe.
                    pass

    threading.Thread(target=pump, name="penstock-spark-log", daemon=True).start()
    os.set_inheritable(writing, True)
    return writing


def opened(path: Path) -> TextIO:
    """A new file at `path`; the one before it is kept beside it."""
    if path.exists():
        path.replace(path.with_name(f"{path.name}.1"))
    return open(path, "w", buffering=1, errors="replace")
