import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import latency_by_law_s

from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.latency.latency_forms import Measure, Pauses, PausesForm, TriggerLatency, TriggerWait
from penstock.core.models.surrogate.points import Points, point

INTERVALS = np.repeat([10.0, 30.0, 60.0, 90.0, 120.0], 6)
RATES = np.tile(np.linspace(100, 700, 6), 5)
GRID = Points(interval_s=INTERVALS, rate=RATES)
MEASURES = st.sampled_from(["mean", "tail"])
JOBS = st.builds(
    Pauses,
    measure=MEASURES,
    base_s=st.floats(0.01, 2),
    queue_s=st.floats(0, 1),
    pause=st.floats(0, 5),
    capacity_rows_per_s=st.floats(10, 1e5),
    knee_s=st.floats(0, 500),
)


@given(JOBS, st.tuples(st.floats(1, 500), st.floats(1, 500)), st.tuples(st.floats(0, 2), st.floats(0, 2)))
def test_latency_falls_with_the_interval_and_rises_with_the_rate(job: Pauses, intervals_s: tuple[float, float], loads: tuple[float, float]) -> None:
    (short, long), (slow, fast) = sorted(intervals_s), (load * job.capacity_rows_per_s for load in sorted(loads))
    best, least, most = (job.at(point(*each, None))[0] for each in ((long, slow), (short, slow), (short, fast)))
    assert best * (1 - 1e-9) <= least <= most * (1 + 1e-9)


@pytest.mark.parametrize("measure", ["mean", "tail"])
def test_the_fit_reproduces_what_a_queue_with_pauses_did(measure: Measure) -> None:
    job = Pauses(measure=measure, base_s=0.4, queue_s=0.05, pause={"mean": 2.0, "tail": 1e-3}[measure], capacity_rows_per_s=910, knee_s=240)
    seen = job.at(GRID)
    seen[4] *= 3
    found = PausesForm(name="pauses", measure=measure).fit(GRID, seen).at(GRID)
    assert found == pytest.approx(job.at(GRID), rel=0.08)


def test_load_is_shared_by_the_executors() -> None:
    job = Pauses(measure="mean", base_s=0.4, queue_s=0.1, pause=1, capacity_rows_per_s=100)
    assert job.at(point(10, 80, 1))[0] == pytest.approx(job.at(point(10, 320, 4))[0])


LAW = BatchLaw(overhead_s=1.0, row_s=0.0005, partitions=1)


def grid(rates: tuple[float, ...]) -> Points:
    return Points(interval_s=np.tile([2.0, 4.0, 8.0, 16.0], len(rates)), rate=np.repeat(rates, 4))


def by_law(points: Points) -> list[float]:
    pairs = zip(points.interval_s.tolist(), points.rate.tolist(), strict=True)
    return [latency_by_law_s(LAW, rate_rows_per_s=rate, interval_s=interval_s, executors=1) for interval_s, rate in pairs]


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
