import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from histories import opened

from penstock.core.domain.events.query_events import QueryFailed
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.reading import BatchParts, ExecutorReading, Quantiles, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.stores.export import NAMES, Format, export
from penstock.stores.reader import HistoryReader

AT_S = 1_700_000_000.25
STAGE = StageReading(position=0, name="scan", tasks=8.0, rows_per_s=1000.0, run_time_s_per_s=1.5, busyness=None)
QUERY = QueryReading(
    name="clicks", state="running", trigger=Trigger(interval_s=5), rate_limit_rows_per_s=None, stages=(STAGE, STAGE),
    latency=Quantiles(p50_s=1.0, p95_s=2.0, p99_s=3.0), batch=BatchParts(total_s=2.5, parts_s={"addBatch": 2.0}), state_rows=7,
)  # fmt: skip
EXECUTOR = ExecutorReading(executor_id="0", host="h", slots=1, uptime_s=60.0, busyness=0.5)
READING = Reading(
    at_s=AT_S, uptime_s=60.0, since_disturbance_s=None, executors_running=1, executors_requested=2, arrival_rows_per_s=0.1, throughput_rows_per_s=1000.0,
    lag_rows=5.0, lag_s=None, excess_lag_rows=None, latency=Quantiles(p50_s=1.0, p95_s=2.0, p99_s=3.0), busyness=None, failures=0,
    executors=(EXECUTOR, EXECUTOR), queries=(QUERY,),
)  # fmt: skip
TRACEBACK = 'Traceback, "quoted",\n  line 2'


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[HistoryReader]:
    with opened(tmp_path / "history.db") as history:
        history.append(AT_S, reading=READING, events=[NothingToDo(at_s=AT_S), NothingToDo(at_s=AT_S + 5)])
        history.append(AT_S + 6, events=[QueryFailed(at_s=AT_S + 6, query="clicks", cause="boom", traceback=TRACEBACK)])
        with HistoryReader.open(tmp_path / "history.db") as made:
            yield made


def rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_table_is_written_under_its_name(reader: HistoryReader, tmp_path: Path, kind: Format) -> None:
    paths = export(reader, tmp_path / "out", kind)
    assert paths == tuple(tmp_path / "out" / f"{name}.{kind}" for name in NAMES)
    assert sorted((tmp_path / "out").iterdir()) == sorted(paths)
    assert [len(rows(path)) for path in paths] == [1, 1, 2, 2, 2]


def test_parquet_has_types_flat_names_and_nulls_for_the_unknown(reader: HistoryReader, tmp_path: Path) -> None:
    readings, queries, stages, executors, events = (rows(path) for path in export(reader, tmp_path, "parquet"))
    assert (readings[0]["at_s"], readings[0]["at"]) == (AT_S, "2023-11-14T22:13:20.250Z")
    assert (readings[0]["latency_p95_s"], readings[0]["lag_s"], readings[0]["executors_requested"]) == (2.0, None, 2)
    assert (queries[0]["name"], queries[0]["trigger"], queries[0]["state_rows"], queries[0]["batch_total_s"]) == ("clicks", "5s", 7, 2.5)
    assert json.loads(queries[0]["batch_parts_s"]) == {"addBatch": 2.0}
    assert (stages[1]["at_s"], stages[1]["query"], stages[1]["name"], stages[1]["busyness"]) == (AT_S, "clicks", "scan", None)
    assert (executors[0]["executor_id"], executors[0]["cpu_cores"], executors[0]["busyness"]) == ("0", None, 0.5)
    assert [(event["kind"], event["count"], event["last_at_s"]) for event in events] == [("NothingToDo", 2, AT_S + 5), ("QueryFailed", 1, AT_S + 6)]
    assert events[1]["words"] == "query clicks failed: boom"
    assert json.loads(events[1]["json"])["traceback"] == TRACEBACK


def test_csv_says_the_same_with_empty_cells_for_the_unknown(reader: HistoryReader, tmp_path: Path) -> None:
    in_csv = [rows(path) for path in export(reader, tmp_path, "csv")]
    in_parquet = [rows(path) for path in export(reader, tmp_path, "parquet")]
    as_text = [[{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in table] for table in in_parquet]
    assert in_csv == as_text


def test_only_the_span_asked_for_is_exported_and_a_folder_that_cannot_be_written_is_one_line(reader: HistoryReader, tmp_path: Path) -> None:
    paths = export(reader, tmp_path / "out", "csv", since_s=AT_S + 5.5)
    assert [len(rows(path)) for path in paths] == [0, 0, 0, 0, 1]
    (tmp_path / "file").touch()
    with pytest.raises(UserMistake, match="the history cannot be exported"):
        export(reader, tmp_path / "file", "csv")


def test_an_empty_history_gives_tables_with_headers_only(tmp_path: Path) -> None:
    opened(tmp_path / "empty.db").close()
    with HistoryReader.open(tmp_path / "empty.db") as reader:
        paths = export(reader, tmp_path / "out", "parquet")
    assert pq.read_schema(paths[0]).names[:2] == ["at_s", "at"]
    assert rows(paths[4]) == []
