import math
from dataclasses import replace

import numpy as np
import pytest
from assessed import assessed, under
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.recovery_cost import LiveRescale, downtime_s, recovery_after_s, recovery_from_failure_s, repeated_s, rows_above, transition_s

DOWNTIMES_S = {"rescale_up": 40.0, "rescale_down": 20.0, "query_restart": 60.0, "executor_loss": 5.0}


def batches(load: float, **known: object) -> Assessment:
    """Micro-batches of 2 s every 10 s, whose executors come and go while the job works."""
    return under(load, **{"plant": "micro_batch", "stops": frozenset(), "batch_s": 2.0, "downtimes_s": DOWNTIMES_S, **known})  # type: ignore[arg-type]


def outage_s(downtime: float, repeated: float, utilization: float) -> float:
    """R = D + (I+D) u/(1-u): Phoebe sec. III-B for a constant rate."""
    return downtime + (repeated + downtime) * utilization / (1 - utilization)


def test_a_rescale_that_stops_the_job_is_an_outage_of_its_own_downtime() -> None:
    for load, executors, outage in ((300.0, 6, (40.0, 10.0, 0.5)), (300.0, 4, (60.0, 10.0, 0.75)), (150.0, 2, (20.0, 10.0, 0.75))):
        assert recovery_after_s(under(load, downtimes_s=DOWNTIMES_S), executors) == pytest.approx(outage_s(*outage))
    lagging = under(300.0, downtimes_s=DOWNTIMES_S, lag_rows=6000.0)
    assert recovery_after_s(lagging, 6) == pytest.approx(outage_s(40.0, 10.0, 0.5) + 6000.0 / 300.0), "the lag that is there is worked off too"


def test_a_live_rescale_costs_a_failure_with_the_new_executors_unless_its_transition_is_worse() -> None:
    assert recovery_after_s(batches(300.0), 6) == pytest.approx(outage_s(5.0, 10.0 + 2.0 * 4 / 6, 0.5))
    overload = batches(450.0)
    assert recovery_after_s(overload, 12) == pytest.approx(40.0 + 40.0 * 50.0 / 750.0)


def test_a_job_that_grows_live_and_shrinks_by_a_stop_is_charged_each_its_own() -> None:
    seen = under(150.0, downtimes_s=DOWNTIMES_S, stops=frozenset({"rescale_down"}))
    assert recovery_after_s(seen, 2) == pytest.approx(outage_s(20.0, 10.0, 0.75))
    assert recovery_after_s(seen, 6) == pytest.approx(outage_s(60.0, 10.0, 0.25))


def test_a_failure_of_micro_batches_repeats_two_batches_at_worst() -> None:
    assert repeated_s(batches(100.0)) == 12.0
    assert repeated_s(under(100.0)) == 10.0


def test_fewer_executors_are_charged_with_the_longer_batches_that_they_would_have() -> None:
    assert repeated_s(batches(100.0), 4.0) == 18.0
    assert recovery_after_s(batches(50.0), 1) == pytest.approx(outage_s(5.0, 18.0, 0.5))


def known(law: BatchLaw, load: float, **more: object) -> Assessment:
    return batches(load, batch_laws=LikelyLaws(best=law, drawn=(law,)), downtimes_s={"executor_loss": 16.0}, **more)


def test_a_failure_of_micro_batches_whose_cost_is_known_is_caught_up_with_batch_by_batch() -> None:
    """A batch of 6 s starts every 10 s. It takes 16 s longer and repeats 5 of its 30 tasks in 1 s, the next ones have 11,500 and 6,250 rows."""
    law, arrivals = BatchLaw(overhead_s=1.0, row_s=0.006, partitions=30), Arrivals.constant(500.0)
    seen = known(law, 500.0)
    found = recovery_from_failure_s(seen, 6, 900.0)
    assert found == pytest.approx(6.0 + 16.0 + 1.0 + 12.5 + 7.25, abs=0.5), "little is lost by a replacement that is warm by then"
    assert found != pytest.approx(recovery_from_failure_s(batches(500.0, downtimes_s={"executor_loss": 16.0}), 6, 900.0), rel=0.1), "as if it flowed"
    outage = BatchOutage(at_s=seen.at_s, downtime_s=16.0, cadence=seen.cadence, executors=6, uncommitted_s=10.0, lost_s=seen.at_s)
    assert found == pytest.approx(recovery_by_batches_s(law, arrivals, outage)), "the same as is predicted when it happens"


@given(at_s=st.floats(0.0, 6.0), executors=st.integers(2, 40), load=st.floats(100.0, 800.0))
def test_a_loss_at_another_moment_of_the_batch_hardly_costs_more(at_s: float, executors: int, load: float) -> None:
    """All but a trigger, as a batch that ends before its trigger waits for it."""
    law = BatchLaw(overhead_s=1.0, row_s=0.001 * executors, partitions=5 * executors)
    seen = known(law, load)
    worst, outage = recovery_from_failure_s(seen, executors, 900.0), BatchOutage(
        at_s=seen.at_s, downtime_s=16.0, cadence=seen.cadence, executors=executors, lost_s=seen.at_s + at_s
    )  # fmt: skip
    assert worst is not None and recovery_by_batches_s(law, Arrivals.constant(load), outage) - at_s <= worst + 10.0


def test_executors_that_take_equally_many_waves_recover_like_the_fewest_of_them_but_one_is_alone() -> None:
    law = BatchLaw(overhead_s=1.0, row_s=0.01, partitions=12, cores_per_executor=2)
    seen, found = known(law, 500.0), dict[int, float | None]()
    for executors in range(1, 15):
        fewest = next(each for each in range(1, 15) if law.waves(each) == law.waves(executors))
        outage = BatchOutage(
            at_s=seen.at_s, downtime_s=16.0, cadence=seen.cadence, executors=fewest, lag_rows=seen.excess_lag_rows, lost_s=seen.at_s
        )  # fmt: skip
        found[executors] = recovery_from_failure_s(seen, executors, 900.0)
        assert seen.arrivals and found[executors] == recovery_by_batches_s(law, seen.arrivals, outage)
    assert found[2] == math.inf and found[3] == found[5] and found[5] > found[6]  # type: ignore[operator]
    waits, goes_on, same = (recovery_from_failure_s(known(replace(law, row_s=0.001, partitions=1), 500.0), executors, 900.0) for executors in (1, 2, 9))
    assert goes_on == same != waits


def test_what_was_never_seen_takes_what_the_paper_begins_with() -> None:
    assert [downtime_s(assessed(), kind) for kind in ("rescale_up", "rescale_down", "query_restart")] == [30.0, 15.0, 30.0]


def test_without_capacity_or_arrivals_nothing_is_charged() -> None:
    assert recovery_after_s(assessed(), 4) is None
    assert recovery_after_s(under(100.0, capacities={}), 6) is None
    assert recovery_from_failure_s(assessed(), 4, 400.0) is None


@given(load=st.floats(0, 390), more=st.floats(1, 3), executors=st.integers(1, 12), live=st.booleans())
def test_more_load_never_recovers_sooner(load: float, more: float, executors: int, live: bool) -> None:
    stops = frozenset() if live else frozenset({"rescale_up", "rescale_down"})
    before, after = (recovery_after_s(under(each, stops=stops, downtimes_s=DOWNTIMES_S), executors) for each in (load, more * load))
    assert after >= before - 1e-6


RATES = st.lists(st.floats(0, 200), min_size=4, max_size=4)


def rescale(now: float, new: float, *, lag: float = 0.0, ready: float = 30.0) -> LiveRescale:
    return LiveRescale(at_s=0.0, ready_after_s=ready, throughput_now_rows_per_s=now, throughput_new_rows_per_s=new, excess_lag_rows=lag)


def test_what_the_present_executors_cannot_do_waits_for_the_new_ones() -> None:
    assert transition_s(Arrivals.constant(120.0), rescale(100.0, 200.0)) == 30.0 + 20.0 * 30 / 80
    assert transition_s(Arrivals.constant(120.0), rescale(100.0, 200.0, lag=400.0)) == 30.0 + (400.0 + 20.0 * 30) / 80


def test_a_transition_without_lag_takes_no_time_and_too_few_new_executors_never_recover() -> None:
    assert transition_s(Arrivals.constant(80.0), rescale(100.0, 90.0)) == 0.0
    assert transition_s(Arrivals.constant(120.0), rescale(100.0, 110.0)) == math.inf


@given(RATES, st.floats(0, 200), st.floats(-20, 60), st.floats(0, 80))
def test_rows_above_a_level_are_the_integral_of_what_exceeds_it(rates: list[float], level: float, start_s: float, width_s: float) -> None:
    arrivals = Arrivals.through((0.0, 10.0, 25.0, 40.0), rates)
    moments_s = np.linspace(start_s, start_s + width_s, 801)
    over = np.maximum([arrivals.rate(float(each)) - level for each in moments_s], 0.0)
    assert rows_above(arrivals, level, start_s, start_s + width_s) == pytest.approx(float(np.trapezoid(over, moments_s)), rel=1e-3, abs=2.0)


@given(RATES, st.floats(1, 300), st.floats(0, 100))
def test_more_new_executors_never_mean_a_longer_transition(rates: list[float], new: float, more: float) -> None:
    arrivals = Arrivals.through((0.0, 10.0, 25.0, 40.0), rates)
    assert transition_s(arrivals, rescale(100.0, new + more, lag=50.0)) <= transition_s(arrivals, rescale(100.0, new, lag=50.0)) * (1 + 1e-6) + 1e-4


def test_a_rescale_that_is_ready_before_it_began_is_refused() -> None:
    with pytest.raises(ValueError, match="ready_after_s"):
        rescale(1.0, 2.0, ready=-1.0)
