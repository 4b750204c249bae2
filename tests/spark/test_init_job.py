import time
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.core.domain.trigger import Trigger
from penstock.runtime.jobfile import load_job
from penstock.spark.contract import ContractRecipe, prepare_trace
from penstock.spark.query_settings import QuerySettings


@pytest.mark.long
def test_its_query_writes_the_averages_of_each_window_to_its_own_sink(plant: Any) -> None:
    folder = plant.folder / "averages"
    assert CliRunner().invoke(app, ["init", str(folder)]).exit_code == 0
    job = load_job(folder / "job.toml").spec
    (source,), (spec,) = job.sources, job.queries
    trace = prepare_trace(source, job.folder, plant.folder / "trace.json")
    schedule = trace.state.begin(time.time() - 60)  # a minute of rows waits, so the first windows can be written at once

    query = plant.engine.add(spec.name, ContractRecipe(plant.session, job, spec, {source.name: trace}), QuerySettings(trigger=Trigger(interval_s=1.0)))
    plant.wait_commits(query, 3)
    plant.engine.stop_queries(20, lambda: False)

    rows = plant.session.read.parquet(str(folder / "out")).collect()
    assert {"start", "end", "key", "events", "average"} == set(rows[0].asDict())
    until = max(row.end for row in rows).timestamp()
    assert sum(row.events for row in rows) == pytest.approx(schedule.newest_at(until), abs=2), "every row of every window that is over"
    assert all(0 <= row.average <= 1 for row in rows)
