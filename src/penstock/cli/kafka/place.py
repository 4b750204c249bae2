"""Where a broker or a feeder keeps what it must remember."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def place_of(given: Path | None, prefix: str) -> Iterator[Path]:
    """The folder that was given, made if it is not there; else a new one that goes with whoever asked."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
    else:
        with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
