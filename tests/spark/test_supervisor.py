from typing import Any

from penstock.core.domain.events.query_events import QueryFailed, QueryGivenUp, QueryRestarted
from penstock.core.domain.job_spec import SinkSpec

CODE = """
from pathlib import Path

def same(rows):
    return rows

def fails_once(rows, batch_id):
    mark = Path(__file__).with_name("failed-once")
    if batch_id == 2 and not mark.exists():
        mark.touch()
        raise ValueError("the database was away")
    rows.write.mode("append").parquet(str(Path(__file__).with_name("out")))

def always_fails(rows, batch_id):
    raise LookupError("no table of that name")
"""


def test_a_query_that_fails_is_restarted_and_a_hopeless_one_given_up_without_taking_the_other_down(plant: Any) -> None:
    (plant.folder / "writes.py").write_text(CODE)
    healthy = plant.query("same", code=CODE, name="healthy", sink=SinkSpec(foreach_batch="writes.py:fails_once"))
    hopeless = plant.query("same", code=CODE, name="hopeless", sink=SinkSpec(foreach_batch="writes.py:always_fails"))

    plant.wait_until(lambda: hopeless.state == "given up", what="giving up")
    plant.wait_until(lambda: plant.said(QueryRestarted) and any(event.query == "healthy" for event in plant.said(QueryRestarted)), what="the restart")
    plant.wait_commits(healthy, 2)
    assert healthy.state == "running" and len(healthy.failures) == 1

    failed = next(event for event in plant.said(QueryFailed) if event.query == "healthy")
    assert failed.cause == "ValueError: the database was away"
    assert "fails_once" in failed.traceback and "writes.py" in failed.traceback, "the user sees his own traceback"
    restarted = next(event for event in plant.said(QueryRestarted) if event.query == "healthy")
    assert restarted.attempt == 1 and restarted.downtime_s > 0 and restarted.cause == failed.cause
    assert restarted.replayed_rows and healthy.live.replayed_rows == restarted.replayed_rows, "the batch that failed is read again, and counted"

    given_up = plant.said(QueryGivenUp)
    assert [event.query for event in given_up] == ["hopeless"]
    assert given_up[0].cause == "LookupError: no table of that name" and "same error" in given_up[0].reason
    assert "hopeless is given up after 2 restarts" in given_up[0].words() and "capacity of the job are without it" in given_up[0].words()
    assert len(hopeless.failures) == 3
    reading = plant.engine.read()
    assert {query.name: query.state for query in reading.queries} == {"healthy": "running", "hopeless": "given up"}
    assert reading.failures == 4


def test_a_function_that_raises_when_it_is_built_is_reported_with_its_own_traceback(plant: Any) -> None:
    query = plant.query("broken", code="def broken(rows):\n    return rows.no_such_thing()\n", name="broken")
    plant.wait_until(lambda: query.state == "given up", what="giving up")
    failed = plant.said(QueryFailed)[0]
    assert "no_such_thing" in failed.cause and "broken" in failed.traceback
