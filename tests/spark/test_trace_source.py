import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.core.domain.job_spec import SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.shapes.schedule import Override
from penstock.spark.contract import prepare_trace
from penstock.spark.query_settings import QuerySettings
from penstock.spark.sink import count_rows

SAME = "def same(rows):\n    return rows\n"


def rows_of(plant: Any, name: str = "q") -> list[Any]:
    return sorted(plant.session.read.format("ledger").load(str(plant.ledger(name))).collect(), key=lambda row: row.position)


def test_load_piles_up_while_the_query_is_down_and_a_restart_goes_on_exactly_there(plant: Any) -> None:
    query = plant.query("same", code=SAME, rate="constant(600)")
    plant.wait_commits(query, 1)
    with query.lock:
        query.query.stop()
        down = time.time()
        taken = query.commits.last.end_offsets[0]["position"]
        plant.wait_until(lambda: time.time() - down > 1.0, what="a second of downtime")
        newest = plant.traces["q"].positions.newest()["trace"]
        assert newest - taken >= 600, "rows go on arriving while nobody reads them"
        query.start()
    plant.wait_commits(query, 2)
    plant.engine.stop_queries(20, lambda: False)
    rows = rows_of(plant)
    assert [row.position for row in rows] == list(range(len(rows))) and len(rows) >= newest
    schedule = plant.traces["q"].state.schedule()
    stamped = np.array([row.arrival.timestamp() for row in rows])
    assert np.abs(stamped - schedule.arrival_of(np.arange(len(rows)))).max() < 1e-3, "each row carries its scheduled arrival"


def test_an_override_changes_the_rate_while_the_query_runs_and_is_remembered(plant: Any) -> None:
    query = plant.query("same", code=SAME, rate="constant(100)")
    plant.wait_commits(query, 1)
    state = plant.traces["q"].state
    at = time.time() + 1.0
    state.override(Override(from_s=at, rows_per_s=1000.0))
    plant.wait_until(lambda: query.commits.last.end_offsets[0]["position"] > plant.traces["q"].state.schedule().newest_at(at) + 1000, what="the higher rate")
    assert state.schedule().rate_at(time.time()) == 1000
    state.override(Override(from_s=time.time() + 1.0))
    plant.wait_until(lambda: state.schedule().rate_at(time.time()) == 100, what="the trace's own rate again")


def test_a_limit_bounds_the_rows_of_a_batch_and_available_now_ends_the_query(plant: Any) -> None:
    query = plant.query("same", code=SAME, rate="constant(2000)", trigger="1s", max_rows_per_batch="150")
    plant.wait_commits(query, 3)
    ends = [progress.end_offsets[0]["position"] for progress in query.commits.take()]
    assert ends == [150 * (i + 1) for i in range(len(ends))]
    with query.lock:
        query.query.stop()
        query.settings = QuerySettings(trigger=Trigger(kind="available_now"))
        query.recipe._sources = [s.__class__(name=s.name, format=s.format, options={**s.options, "max_rows_per_batch": "50000"}) for s in query.recipe._sources]
        query.start()
    plant.wait_until(query.settled.is_set, what="the end of the available data")
    assert query.state == "ended"
    assert count_rows(plant.ledger()) >= 1000


def test_rows_come_from_the_users_generator_or_from_a_recording(plant: Any) -> None:
    maker = "import numpy as np\n" + SAME + "def make(positions, seed):\n    return {'double': positions * 2, 'seed': np.full(len(positions), seed)}\n"
    (plant.folder / "makers_of_rows.py").write_text(maker)
    made = plant.query("same", code=maker, rate="constant(100)", rows="makers_of_rows.py:make", seed="7", name="made")
    pq.write_table(pa.table({"word": [f"w{i}" for i in range(90)]}), plant.folder / "recorded.parquet", row_group_size=40)
    recorded = plant.query("same", code=SAME, rate="constant(100)", parquet=str(plant.folder / "recorded.parquet"), name="recorded")
    plant.wait_until(lambda: count_rows(plant.ledger("made")) > 100 and count_rows(plant.ledger("recorded")) > 100, 90, "rows of both")
    assert all(row.double == 2 * row.position and row.seed == 7 for row in rows_of(plant, "made"))
    assert all(row.word == f"w{row.position % 90}" for row in rows_of(plant, "recorded"))
    assert made.state == recorded.state == "running"


def test_a_trace_whose_rate_changed_is_refused_on_the_old_checkpoint(plant: Any, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    prepare_trace(SourceSpec(name="s", format="trace", options={"rate": "constant(5)"}), ".", state).state.begin(time.time())
    with pytest.raises(UserMistake, match="cannot change"):
        prepare_trace(SourceSpec(name="s", format="trace", options={"rate": "constant(6)"}), ".", state)
