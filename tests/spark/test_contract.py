import time
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.core.domain.events.steering_events import CannotDo
from penstock.core.domain.job_spec import JobSpec, QuerySpec, SinkSpec, SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.spark.contract import ContractRecipe, prepare_trace
from penstock.spark.query_settings import QuerySettings
from penstock.spark.sink import committed_files

CODE = """
def second_then_first(slow, fast):
    return fast.select("position", "key").union(slow.select("position", "key"))

def no_stream(slow, fast):
    return 42
"""


def job_of(plant: Any, function: str) -> tuple[JobSpec, QuerySpec, dict[str, Any]]:
    (plant.folder / f"{function}.py").write_text(CODE)
    rates = {"slow": "constant(50)", "fast": "constant(400)"}
    sources = tuple(SourceSpec(name=name, format="trace", options={"rate": rate, "partitions": "2"}) for name, rate in rates.items())
    sink = SinkSpec(format="ledger", options={"path": str(plant.ledger("both"))})
    query = QuerySpec(name="both", function=f"{function}.py:{function}", sources=("slow", "fast"), trigger=Trigger(interval_s=1.0), sink=sink)
    job = JobSpec(name="two", folder=str(plant.folder), checkpoint=str(plant.folder / "checkpoint"), sources=sources, queries=(query,))
    traces = {source.name: prepare_trace(source, job.folder, plant.folder / f"{source.name}.json") for source in sources}
    for trace in traces.values():
        trace.state.begin(time.time())
    return job, query, traces


def test_several_sources_keep_their_counts_in_any_order_of_use(plant: Any) -> None:
    job, spec, traces = job_of(plant, "second_then_first")
    query = plant.engine.add("both", ContractRecipe(plant.session, job, spec, traces), QuerySettings(trigger=spec.trigger))
    plant.wait_commits(query, 4)
    plant.engine.read()
    plant.wait_commits(query, 2)
    reading = plant.engine.read()
    assert reading.arrival_rows_per_s == pytest.approx(450, rel=0.05)
    last = query.commits.last
    fast, slow = (last.end_offsets[i]["position"] - last.start_offsets[i]["position"] for i in (0, 1))
    assert fast == pytest.approx(8 * slow, rel=0.2), "what is taken from each source follows its own rate"
    waiting = sum(trace.positions.newest()["trace"] for trace in traces.values()) - sum(end["position"] for end in last.end_offsets)
    assert reading.lag_rows == pytest.approx(waiting, abs=450 * 3)
    assert query.recipe.positions == [traces["fast"].positions, traces["slow"].positions], "in the order of the plan, as Spark reports them"


def test_files_are_read_with_the_columns_that_are_declared_and_that_they_have_no_limit_is_said(plant: Any) -> None:
    (plant.folder / "in").mkdir()
    (plant.folder / "in" / "rows.json").write_text('{"n": 1, "word": "one", "more": true}\n{"n": 2}\n')
    (plant.folder / "of_files.py").write_text("def same(rows):\n    return rows\n")
    source = SourceSpec(name="files", format="json", schema="n BIGINT, word STRING", options={"path": str(plant.folder / "in")})
    sink = SinkSpec(format="ledger", options={"path": str(plant.ledger("files"))})
    spec = QuerySpec(name="files", function="of_files.py:same", sources=("files",), trigger=Trigger(kind="available_now"), sink=sink)
    job = JobSpec(name="files", folder=str(plant.folder), checkpoint=str(plant.folder / "checkpoint"), sources=(source,), queries=(spec,))
    query = plant.engine.add("files", ContractRecipe(plant.session, job, spec, {}), QuerySettings(trigger=spec.trigger))
    plant.wait_until(query.settled.is_set, what="the end of the files")
    assert query.state == "ended", plant.events
    (file,) = committed_files(plant.ledger("files"))
    assert pq.read_table(file).to_pylist() == [{"n": 1, "word": "one"}, {"n": 2, "word": None}]
    assert [event.what for event in plant.said(CannotDo)] == ["rate-limit"]


def test_a_function_that_returns_no_stream_is_refused_in_one_line(plant: Any) -> None:
    job, spec, traces = job_of(plant, "no_stream")
    with pytest.raises(UserMistake, match="returned int, a streaming DataFrame is needed"):
        plant.engine.add("both", ContractRecipe(plant.session, job, spec, traces), QuerySettings(trigger=spec.trigger))
