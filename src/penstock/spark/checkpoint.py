"""A query's checkpoint folder: what was logged, what was committed, and up to where."""

from __future__ import annotations

import json
from typing import Any

from penstock.spark.files import Files


class Checkpoint:
    """Reads what Structured Streaming writes there; writes nothing."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path

    def last_logged(self) -> int | None:
        return self._newest("offsets")

    def last_committed(self) -> int | None:
        return self._newest("commits")

    def _newest(self, folder: str) -> int | None:
        return max((int(name) for name in self._files.names(f"{self.path}/{folder}") if name.isdigit()), default=None)

    def committed_offsets(self) -> tuple[Any, ...] | None:
        """The offsets of each source up to which everything is committed; None before the first commit."""
        batch = self.last_committed()
        content = None if batch is None else self._files.read(f"{self.path}/offsets/{batch}")
        if content is None:
            return None
        lines = content.decode().splitlines()[2:]
        return tuple(json.loads(line) if line.strip() not in ("-", "") else None for line in lines)
