"""Benchmark jobs on the trace source, compared with a computation row by row of the same rows."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from workloads.references import Event, compare, event_of, result_of

from penstock.cli.init import benchmark_job
from penstock.core.domain.job_spec import SinkSpec, SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.runtime.jobfile import load_job
from penstock.spark.contract import ContractRecipe, Trace, prepare_trace
from penstock.spark.query_settings import QuerySettings
from penstock.trace.rows import row_maker
from penstock.workloads.catalogue import BENCHMARKS

RATE, ROWS, BATCH_ROWS = 200, 18_000, 2_500
"""Ninety seconds of rows wait at the start; a batch has those of twelve seconds."""

SINK = """
def write(batch, batch_id):
    batch.write.mode("overwrite").parquet(f"{folder}/{{batch_id}}")
"""


def rows_of(source: SourceSpec, trace: Trace, folder: str, count: int) -> list[Event]:
    positions = np.arange(count)
    rows: Any = row_maker({**source.options, "folder": folder})(positions, int(source.options["seed"]))
    arrivals_ms = np.floor(np.rint(trace.state.schedule().arrival_of(positions) * 1e6) / 1e3).astype(np.int64)
    return [event_of(row, arrival_ms) for row, arrival_ms in zip(rows.to_pylist(), arrivals_ms.tolist(), strict=True)]


@pytest.mark.parametrize("name", [each if each in ("ysb", "topspeed") else pytest.param(each, marks=pytest.mark.long) for each in BENCHMARKS])
def test_a_benchmark_job_finds_what_a_computation_row_by_row_finds(plant: Any, name: str) -> None:
    folder = plant.folder / name
    folder.mkdir()
    written = benchmark_job(name, kafka=False, real_time=False)
    (folder / f"{name}.py").write_text(written["job.py"])
    (folder / "job.toml").write_text(written["job.toml"].replace("job.py:", f"{name}.py:"))
    job = load_job(folder / "job.toml").spec
    begun_s = time.time() - ROWS / RATE
    queries = {}
    for spec in job.queries:
        sources = [replace(each, options={**each.options, "rate": f"constant({RATE})", "max_rows_per_batch": str(BATCH_ROWS)}) for each in job.sources]
        (folder / f"{spec.name}_sink.py").write_text(SINK.format(folder=plant.folder / f"out-{spec.name}"))
        own = replace(spec, sink=SinkSpec(format=None, options={}, foreach_batch=f"{spec.name}_sink.py:write"))
        traces = {each.name: prepare_trace(each, job.folder, Path(plant.folder / f"{spec.name}-{each.name}.json")) for each in sources}
        for trace in traces.values():
            trace.state.begin(begun_s)
        recipe = ContractRecipe(plant.session, replace(job, sources=tuple(sources), checkpoint=str(plant.folder / "checkpoint")), own, traces)
        queries[spec.name] = plant.engine.add(spec.name, recipe, QuerySettings(trigger=Trigger(interval_s=0.5))), sources, traces

    def taken(query: Any) -> list[int]:
        return [each["position"] for each in query.commits.last.end_offsets] if query.commits.count else [0]

    for query, _, _ in queries.values():
        plant.wait_until(lambda query=query: query.state == "given up" or min(taken(query)) >= ROWS, 120, f"{ROWS} rows of {query.name}")
        assert query.state != "given up", plant.events
    plant.engine.stop_queries(20, lambda: False)

    for query, sources, traces in queries.values():
        made = (rows_of(each, traces[each.name], job.folder, count) for each, count in zip(sources, taken(query), strict=True))
        events = sorted((event for of in made for event in of), key=lambda event: int(event["arrival"]))
        written = plant.session.read.parquet(str(plant.folder / f"out-{query.name}/*")).collect()
        assert compare(query.name, events, [result_of(row.value) for row in written]) > 20
