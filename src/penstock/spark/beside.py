"""What Penstock keeps beside a checkpoint, on the checkpoint's own file system."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.files import Files

FOLDER = "_penstock"


class CheckpointFolder:
    """`<checkpoint>/_penstock`: Spark leaves it alone, and it goes where the checkpoint goes."""

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
        """The plain path of a file, where the checkpoint is on this machine."""
        found = self._files.local_path(f"{self.path}/{name}")
        return Path(found) if found else None
