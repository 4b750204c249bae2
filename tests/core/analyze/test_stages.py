"""What stages need: learnt only from run times that are work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.core.analyze.assess import stage_needs, tells_work
from penstock.core.domain.reading import QueryReading, StageReading
from penstock.core.domain.trigger import Trigger
from penstock.core.models.stage_rates import StageRates
from penstock.runtime.fakes import blank_reading


def query(busy: float, kind: str = "real_time", lag_rows: float = 0.0, pause_s: float | None = None) -> QueryReading:
    """Four tasks, each of which ran for that share of the time."""
    stage = StageReading(position=0, name="all", tasks=4.0, rows_per_s=1000.0, run_time_s_per_s=4 * busy, busyness=None)
    trigger = Trigger(kind="real_time" if kind == "real_time" else "processing_time", interval_s=5.0)
    return QueryReading(
        name="q", state="running", trigger=trigger, rate_limit_rows_per_s=None, excess_lag_rows=lag_rows, boundary_pause_s=pause_s, stages=(stage,)
    )


@pytest.mark.parametrize(
    ("seen", "tells"),
    [
        (query(0.5), True),
        (query(0.95), False),
        (query(0.8, pause_s=1.0), False),
        (query(0.6, pause_s=1.0), True),
        (query(1.0, lag_rows=500.0), True),
        (query(1.0, kind="micro_batch"), True),
    ],
    ids=["busy for half of the time", "always there", "always but for pauses", "busy between pauses", "behind", "in batches"],
)
def test_tasks_that_run_all_the_time_tell_their_work_only_when_they_cannot_do_it_all(seen: QueryReading, tells: bool) -> None:
    assert tells_work(seen) is tells


def test_while_an_arrival_is_unknown_queries_share_the_load_evenly() -> None:
    """Each as if it got all of it would charge the load as often as there are queries."""
    known = [replace(query(0.5, kind="micro_batch"), name=name, arrival_rows_per_s=1000.0, throughput_rows_per_s=1000.0) for name in ("a", "b")]
    models = {each.name: StageRates().learn([each] * 3) for each in known}
    unknown = (known[0], replace(known[1], arrival_rows_per_s=None))
    selectivities = [
        [each.selectivity for each in stage_needs(models, blank_reading(0.0, queries=queries, arrival_rows_per_s=rate))]
        for queries, rate in ((tuple(known), 2000.0), (unknown, None))
    ]
    assert selectivities[0] == selectivities[1] == pytest.approx([0.5, 0.5])
