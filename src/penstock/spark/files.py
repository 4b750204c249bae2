"""Files on the file system of the checkpoint, through the file manager with which Spark writes checkpoints.

On a local disk they are replaced by one system call: Hadoop's local rename removes the old file first, and a driver killed in
that moment would leave none.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.core.errors import NotReachable


class Files:
    """Reads and atomically writes small files by path or URI; raises `NotReachable` if the file system does not answer."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._conf = session._jsparkSession.sessionState().newHadoopConf()

    def names(self, folder: str) -> list[str]:
        with naming(folder):
            system, place = self._at(folder)
            return [status.getPath().getName() for status in system.listStatus(place)] if system.exists(place) else []

    def read(self, path: str) -> bytes | None:
        with naming(path):
            system, place = self._at(path)
            if not system.exists(place):
                return None
            stream = system.open(place)
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def write(self, path: str, content: bytes) -> None:
        """Write a file atomically: a reader sees the old content or the new."""
        with naming(path):
            if local := self.local_path(path):
                replace(Path(local), lambda fresh: fresh.write_bytes(content))
            else:
                self._put(path, self._jvm.java.io.ByteArrayInputStream(content))

    def upload(self, local: str, path: str) -> None:
        """Copy a local file there atomically, without passing its bytes through Python."""
        with naming(path):
            if target := self.local_path(path):
                replace(Path(target), lambda fresh: shutil.copyfile(local, fresh))
            else:
                self._put(path, self._jvm.java.io.FileInputStream(local))

    def download(self, path: str, local: str) -> bool:
        """Copy a file from there; return whether there was one."""
        with naming(path):
            system, place = self._at(path)
            if not system.exists(place):
                return False
            system.copyToLocalFile(False, place, self._jvm.org.apache.hadoop.fs.Path(f"file://{local}"), True)
            return True

    def local_path(self, path: str) -> str | None:
        """Return the plain path if this is the local file system."""
        with naming(path):
            system, place = self._at(path)
            full = system.makeQualified(place).toUri()
            return str(full.getPath()) if full.getScheme() == "file" else None

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._conf), place

    def _put(self, path: str, content: Any) -> None:
        _, place = self._at(path)
        manager = self._jvm.org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.create(place.getParent(), self._conf)
        manager.mkdirs(place.getParent())
        stream = manager.createAtomic(place, True)
        try:
            self._jvm.org.apache.commons.io.IOUtils.copy(content, stream)
        except Py4JJavaError:
            stream.cancel()
            raise
        finally:
            content.close()
        stream.close()


def replace(path: Path, fill: Callable[[Path], object]) -> None:
    """Replace a file atomically, and remove the checksum that Hadoop may have kept of the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fill(fresh)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Raise `NotReachable` with the name of the file when the disk or Hadoop's client fails."""
    try:
        yield
    except Py4JJavaError as error:
        raise NotReachable(f"{path}: {' '.join(str(error.java_exception.toString()).split())}") from None
    except OSError as error:
        raise NotReachable(f"{path}: {error.strerror or error}") from None
