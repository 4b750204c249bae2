"""The `trace` source: offsets are the integral of the rate over wall time, so lag is exact and a replay identical."""

import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from penstock.core.errors import UserMistake
from penstock.core.shapes.schedule import ArrivalSlice
from penstock.trace.rows import as_batch, make_rows, row_maker
from penstock.trace.state import TraceState, number, recipe_of

PARTITIONS = 12


@dataclass
class TracePartition(InputPartition):
    """A range of positions with their arrivals: executors never read the state file."""

    first: int
    last: int
    arrivals: ArrivalSlice


class TraceSource(DataSource):
    """`spark.readStream.format("trace")`: columns `position`, `arrival`, then those of the row maker."""

    @classmethod
    def name(cls) -> str:
        return "trace"

    def schema(self) -> StructType:
        maker = row_maker(self.options)
        made = as_batch(maker(np.arange(1, dtype=np.int64), 0)).schema
        front = pa.schema([("position", pa.int64()), ("arrival", pa.timestamp("us", tz="UTC"))])
        return from_arrow_schema(pa.schema([*front, *made]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return TraceReader(self.options)


class TraceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a trace; the offset is {"position": the first row not yet read}."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._options = dict(options)
        if not options.get("state"):
            raise UserMistake("trace: state: no file was given; name one beside the checkpoint, so that a restart goes on with the same rows")
        self._seed = int(number(options, "seed", 0, lowest=0, whole=True))
        self._limit = int(number(options, "max_rows_per_batch", 0, lowest=0, whole=True))
        self._partitions = int(number(options, "partitions", PARTITIONS, lowest=1, whole=True))
        self._state: TraceState | None = None
        self._final: int | None = None

    def _trace(self) -> TraceState:
        if self._state is None:
            self._state = TraceState(Path(self._options["state"]), recipe_of(self._options))
        return self._state

    def _newest(self) -> int:
        now = time.time()
        return self._trace().begin(now).newest_at(now)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        self._trace().begin(time.time())
        return {"position": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._limit) if self._limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        position = max(start["position"], self._newest() if self._final is None else self._final)
        if isinstance(limit, ReadMaxRows):
            position = min(position, start["position"] + limit.max_rows)
        return {"position": position}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._final = self._newest()

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        return {"position": self._newest()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        schedule = self._trace().schedule()
        first, last, parts = start["position"], end["position"], self._partitions
        bounds = [first + (last - first) * i // parts for i in range(parts + 1)]
        return [TracePartition(a, b, schedule.slice(a, b)) for a, b in pairwise(bounds) if b > a]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TracePartition)
        return make_rows(row_maker(self._options), self._seed, partition.first, partition.last, partition.arrivals.arrival_of)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_state": None}
