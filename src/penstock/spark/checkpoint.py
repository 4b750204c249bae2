"""A checkpoint folder: what Structured Streaming writes there, and the folder that Penstock keeps in it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.spark.files import Files

FOLDER = "_penstock"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFormat:
    """The version of the state's checkpoints, its state store provider, and its partitions: fixed at the query's first start."""

    version: int
    provider: str
    partitions: int | None


class Checkpoint:
    """Reads the logs of one query; writes nothing."""

    def __init__(self, files: Files, path: str) -> None:
        self._files = files
        self.path = path

    def last_logged(self) -> int | None:
        return self._newest("offsets")

    def last_committed(self) -> int | None:
        return self._newest("commits")

    def _newest(self, folder: str) -> int | None:
        return max((int(name) for name in self._files.names(f"{self.path}/{folder}") if name.isdigit()), default=None)

    def state_format(self) -> StateFormat | None:
        """Return how the state is stored; None for a query without state, or before the first commit."""
        batch = self.last_committed()
        if batch is None or not self._files.names(f"{self.path}/state"):
            return None
        commit, offsets = (self._files.read(f"{self.path}/{folder}/{batch}") for folder in ("commits", "offsets"))
        conf = json.loads(offsets.decode().splitlines()[1])["conf"] if offsets else {}
        partitions = conf.get("spark.sql.shuffle.partitions")
        return StateFormat(
            version=int(commit.decode().splitlines()[0].removeprefix("v")) if commit else 1,
            provider=str(conf.get("spark.sql.streaming.stateStore.providerClass", "")).rpartition(".")[2],
            partitions=int(partitions) if partitions else None,
        )

    def committed_offsets(self) -> tuple[Any, ...] | None:
        """Return the offsets of each source up to which everything is committed; None before the first commit."""
        return self._offsets(self.last_committed())

    def logged_offsets(self) -> tuple[Any, ...] | None:
        """Return the offsets up to which the newest batch reads, committed or not; None before the first is logged."""
        return self._offsets(self.last_logged())

    def _offsets(self, batch: int | None) -> tuple[Any, ...] | None:
        content = None if batch is None else self._files.read(f"{self.path}/offsets/{batch}")
        if content is None:
            return None
        lines = content.decode().splitlines()[2:]
        return tuple(json.loads(line) if line.strip() not in ("-", "") else None for line in lines)


class CheckpointFolder:
    """`<checkpoint>/_penstock`, on the checkpoint's own file system: Spark ignores it, and it moves with the checkpoint."""

    def __init__(self, files: Files, checkpoint: str) -> None:
        self._files = files
        self.path = f"{checkpoint.rstrip('/')}/{FOLDER}"

    def read(self, name: str) -> bytes | None:
        return self._files.read(f"{self.path}/{name}")

    def write(self, name: str, content: bytes) -> None:
        self._files.write(f"{self.path}/{name}", content)

    def upload(self, local: Path, name: str) -> None:
        self._files.upload(str(local), f"{self.path}/{name}")

    def download(self, name: str, local: Path) -> bool:
        return self._files.download(f"{self.path}/{name}", str(local))

    def local_path(self, name: str) -> Path | None:
        """Return the plain path of a file if the checkpoint is on this machine."""
        found = self._files.local_path(f"{self.path}/{name}")
        return Path(found) if found else None
