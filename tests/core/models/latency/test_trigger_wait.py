"""Micro-batches as a form of latency over interval and rate."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.latency.batch import latency_by_law_s
from penstock.core.models.latency.trigger_wait import TriggerLatency, TriggerWait
from penstock.core.models.surrogate.points import Points

LAW = BatchLaw(overhead_s=1.0, row_s=0.0005, partitions=1)


def grid(rates: tuple[float, ...]) -> Points:
    return Points(interval_s=np.tile([2.0, 4.0, 8.0, 16.0], len(rates)), rate=np.repeat(rates, 4))


def by_law(points: Points) -> list[float]:
    pairs = zip(points.interval_s.tolist(), points.rate.tolist(), strict=True)
    return [latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=interval_s, scaleout=1) for interval_s, rate in pairs]


def test_it_is_the_law_of_batches_also_where_a_batch_takes_longer_than_its_interval() -> None:
    points = grid((0.0, 500.0, 1200.0, 1500.0, 1900.0))
    late = [interval_s < 1.0 + 0.0005 * rate * interval_s for interval_s, rate in zip(points.interval_s, points.rate, strict=True)]
    assert any(late) and not all(late)
    assert TriggerLatency(wait_share=0.5, overhead_s=1.0, row_s=0.0005).at(points) == pytest.approx(by_law(points))


def test_batches_that_were_late_do_not_bend_what_the_others_teach() -> None:
    points = grid((200.0, 800.0, 1200.0, 1700.0))
    seen = np.array(by_law(points)) * np.random.default_rng(1).lognormal(0.0, 0.02, len(points))
    assert TriggerWait().fit(points, seen).at(points) == pytest.approx(by_law(points), rel=0.15)


def test_at_the_end_of_the_capacity_the_answer_stays_a_number() -> None:
    found = TriggerLatency(wait_share=0.5, overhead_s=1.0, row_s=0.0005).at(grid((1999.0, 2000.0, 9000.0)))
    assert np.all(np.isfinite(found)) and found[:4] == pytest.approx(found[4:8]) and found[4:8] == pytest.approx(found[8:])
