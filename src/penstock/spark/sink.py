"""The `ledger` sink: idempotent and transactional by batch id, and its content can be counted.

A batch's rows are Parquet files under `data/`; they count once `batches/<id>.json` names them, and that file is written once,
in one atomic step. A batch that is written again changes nothing.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamArrowWriter, DataSourceStreamWriter, InputPartition, WriterCommitMessage
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from penstock.core.errors import UserMistake


@dataclass
class Written(WriterCommitMessage):
    """One task's file: None if it had no rows."""

    file: str | None
    rows: int


class LedgerSink(DataSource):
    """`format("ledger").option("path", ...)`: a folder that the driver and all executors see under the same path."""

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
        return LedgerWriter(self._root(), schema)


class LedgerWriter(DataSourceStreamArrowWriter):
    def __init__(self, root: Path, schema: StructType) -> None:
        self._root = root
        self._schema = to_arrow_schema(schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        """On an executor: this task's rows to a file of its own, which nobody counts yet."""
        file, rows, writer = self._root / "data" / f"{uuid.uuid4().hex}.parquet", 0, None
        for batch in iterator:
            if batch.num_rows:
                if writer is None:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    writer = pq.ParquetWriter(file, batch.schema)
                writer.write_batch(batch)
                rows += batch.num_rows
        if writer is not None:
            writer.close()
        return Written(file=str(file.name) if rows else None, rows=rows)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """On the driver: make the batch count, unless it already does."""
        written = [message for message in messages if isinstance(message, Written) and message.file]
        page = self._root / "batches" / f"{batchId}.json"
        page.parent.mkdir(parents=True, exist_ok=True)
        fresh = page.with_name(f".{page.name}.{uuid.uuid4().hex}")
        fresh.write_text(json.dumps({"batch": batchId, "rows": sum(m.rows for m in written), "files": [m.file for m in written]}))
        try:
            os.link(fresh, page)
        except FileExistsError:
            self._discard(written)
        finally:
            fresh.unlink()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._discard([message for message in messages if isinstance(message, Written) and message.file])

    def _discard(self, written: Sequence[Written]) -> None:
        for message in written:
            (self._root / "data" / str(message.file)).unlink(missing_ok=True)


class LedgerReader(DataSourceReader):
    def __init__(self, root: Path) -> None:
        self._root = root

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(str(file)) for file in committed_files(self._root)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from pq.ParquetFile(partition.value).iter_batches()


def pages(root: Path) -> list[dict[str, object]]:
    """What was committed, batch by batch."""
    return sorted((json.loads(page.read_text()) for page in (root / "batches").glob("[0-9]*.json")), key=lambda page: int(page["batch"]))


def committed_files(root: Path) -> list[Path]:
    return [root / "data" / str(name) for page in pages(root) for name in page["files"]]  # type: ignore[attr-defined]


def count_rows(root: Path) -> int:
    """How many rows the ledger at `root` holds."""
    return sum(int(str(page["rows"])) for page in pages(root))
