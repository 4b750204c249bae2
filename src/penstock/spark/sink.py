"""The `ledger` sink: idempotent and transactional by batch id, and its rows can be counted.

A batch's rows are Parquet files under `data/`; they count once `batches/<id>.json` names them, and that page is written once,
atomically. A batch that is written again changes nothing. Files that no page names are left over from failed attempts.
"""

import json
import os
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamArrowWriter, DataSourceStreamWriter, InputPartition, WriterCommitMessage
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.core.errors import UserMistake

LEFT_OVER_S = 3600.0


@dataclass
class Written(WriterCommitMessage):
    """One task's file: None if it had no rows."""

    file: str | None
    rows: int


class LedgerSink(DataSource):
    """`format("ledger").option("path", ...)`: a folder that the driver and all executors see under the same path.

    `owner` is the query that writes it (Penstock gives its checkpoint): batch ids of another query would be taken for repetitions.
    """

    @classmethod
    def name(cls) -> str:
        return "ledger"

    def _root(self) -> Path:
        path = self.options.get("path")
        if not path:
            raise UserMistake("ledger: path: none was given; name a folder that the driver and all executors see")
        return Path(path.removeprefix("file:"))

    def schema(self) -> StructType:
        files = committed_files(self._root())
        if not files:
            raise UserMistake(f"ledger: {self._root()} holds no committed rows yet")
        return from_arrow_schema(pq.read_schema(files[0]))

    def reader(self, schema: StructType) -> DataSourceReader:
        return LedgerReader(self._root())

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        return LedgerWriter(self._root(), owner=self.options.get("owner") or "", replaces=overwrite)


class LedgerWriter(DataSourceStreamArrowWriter):
    """`replaces`: the query writes its whole result with every batch (output mode complete), so only the newest one counts."""

    def __init__(self, root: Path, *, owner: str, replaces: bool) -> None:
        self._root = root
        self._owner = owner
        self._replaces = replaces

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """On an executor: write this task's rows to a file of its own, which does not count yet."""
        file, rows, writer = self._root / "data" / f"{uuid.uuid4().hex}.parquet", 0, None
        try:
            for batch in iterator:
                if batch.num_rows:
                    if writer is None:
                        file.parent.mkdir(parents=True, exist_ok=True)
                        writer = pq.ParquetWriter(file, batch.schema)
                    writer.write_batch(batch)
                    rows += batch.num_rows
            if writer is not None:
                writer.close()
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        return Written(file=file.name if rows else None, rows=rows)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """On the driver: make the batch count, unless it already does."""
        self._claim()
        written = [message for message in messages if isinstance(message, Written) and message.file]
        missing = [message.file for message in written if not (self._root / "data" / str(message.file)).exists()]
        if missing:
            raise OSError(f"ledger: {missing[0]} of batch {batchId} is not in {self._root / 'data'}: is that folder the same on all machines?")
        page = {"batch": batchId, "rows": sum(m.rows for m in written), "files": [m.file for m in written], "replaces": self._replaces}
        if not put_once(self._root / "batches" / f"{batchId}.json", json.dumps(page)):
            self._sweep()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Remove nothing: Spark also aborts when a commit took effect and its answer was lost."""

    def _claim(self) -> None:
        put_once(self._root / "owner", self._owner)
        owner = (self._root / "owner").read_text()
        if owner != self._owner:
            raise UserMistake(f"ledger: {self._root} belongs to the query with checkpoint {owner!r}; give this one a path of its own")

    def _sweep(self) -> None:
        """Remove files of failed attempts, once they are old enough."""
        named = {name for page in pages(self._root) for name in page["files"]}
        for file in (self._root / "data").glob("*.parquet"):
            if file.name not in named and time.time() - file.stat().st_mtime > LEFT_OVER_S:
                file.unlink(missing_ok=True)


class LedgerReader(DataSourceReader):
    def __init__(self, root: Path) -> None:
        self._root = root

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(str(file)) for file in committed_files(self._root)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from pq.ParquetFile(partition.value).iter_batches()


def put_once(path: Path, text: str) -> bool:
    """Write a file atomically, unless it exists; return whether it was written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    fresh.write_text(text)
    try:
        os.link(fresh, path)
    except FileExistsError:
        return False
    finally:
        fresh.unlink()
    return True


def pages(root: Path) -> list[dict[str, Any]]:
    return sorted((json.loads(page.read_text()) for page in (root / "batches").glob("[0-9]*.json")), key=lambda page: int(page["batch"]))


def counting_pages(root: Path) -> list[dict[str, Any]]:
    """Return the pages whose rows are the ledger's content now."""
    found = pages(root)
    last = max((i for i, page in enumerate(found) if page["replaces"]), default=0)
    return found[last:]


def committed_files(root: Path) -> list[Path]:
    return [root / "data" / name for page in counting_pages(root) for name in page["files"]]


def count_rows(root: Path) -> int:
    return sum(int(page["rows"]) for page in counting_pages(root))
