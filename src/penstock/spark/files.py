"""Files on whatever file system the checkpoint is on, through Hadoop's client inside Spark."""

from __future__ import annotations

import uuid
from typing import Any

from pyspark.sql import SparkSession


class Files:
    """Read and atomically write small files by path or URI."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._conf = session._jsparkSession.sessionState().newHadoopConf()

    def _at(self, path: str) -> tuple[Any, Any]:
        place = self._jvm.org.apache.hadoop.fs.Path(path)
        return place.getFileSystem(self._conf), place

    def exists(self, path: str) -> bool:
        system, place = self._at(path)
        return bool(system.exists(place))

    def names(self, folder: str) -> list[str]:
        system, place = self._at(folder)
        return [status.getPath().getName() for status in system.listStatus(place)] if system.exists(place) else []

    def read(self, path: str) -> bytes | None:
        system, place = self._at(path)
        if not system.exists(place):
            return None
        stream = system.open(place)
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, path: str, content: bytes) -> None:
        """Write under another name, then rename: a reader sees the old content or the new, never a part."""
        system, place = self._at(path)
        fresh = self._jvm.org.apache.hadoop.fs.Path(place.getParent(), f".{place.getName()}.{uuid.uuid4().hex}")
        stream = system.create(fresh, True)
        try:
            stream.write(content)
        finally:
            stream.close()
        context = file_context(self._jvm, fresh, self._conf)
        context.rename(fresh, place, self._overwrite())

    def _overwrite(self) -> Any:
        rename = self._jvm.org.apache.hadoop.fs.Options.Rename
        array = self._jvm.java.lang.reflect.Array.newInstance(rename.OVERWRITE.getClass(), 1)
        self._jvm.java.lang.reflect.Array.set(array, 0, rename.OVERWRITE)
        return array

    def upload(self, local: str, path: str) -> None:
        """Copy a local file there, atomically, without its bytes passing through Python."""
        system, place = self._at(path)
        fresh = self._jvm.org.apache.hadoop.fs.Path(place.getParent(), f".{place.getName()}.{uuid.uuid4().hex}")
        system.copyFromLocalFile(False, True, self._jvm.org.apache.hadoop.fs.Path(local), fresh)
        file_context(self._jvm, fresh, self._conf).rename(fresh, place, self._overwrite())

    def download(self, path: str, local: str) -> bool:
        system, place = self._at(path)
        if not system.exists(place):
            return False
        system.copyToLocalFile(False, place, self._jvm.org.apache.hadoop.fs.Path(f"file://{local}"), True)
        return True

    def local_path(self, path: str) -> str | None:
        """The plain path, where this is the local file system."""
        system, place = self._at(path)
        full = system.makeQualified(place).toUri()
        return str(full.getPath()) if full.getScheme() == "file" else None


def file_context(jvm: Any, place: Any, conf: Any) -> Any:
    return jvm.org.apache.hadoop.fs.FileContext.getFileContext(place.getFileSystem(conf).makeQualified(place).toUri(), conf)
