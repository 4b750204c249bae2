from typing import Any

import pytest
from assessed import NOW_S, about, assessed, expecting, under
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.cadence import cadence_of
from penstock.core.domain.decision import Decision
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.policies.phoebe import Phoebe

EXECUTOR_COUNTS = tuple(range(1, 13))
RATES = tuple(30.0 * number for number in range(50))
FALLING = [800.0 - 50.0 * number for number in range(10)]
UNBOUND = Promises(recovery_s=86400.0)


def table(share: float = 0.9) -> LatencyTable:
    valid = tuple(tuple(rate <= share * 100.0 * executors for rate in RATES) for executors in EXECUTOR_COUNTS)
    latency_s = tuple(tuple(1.0 if kept_up else 60.0 for kept_up in row) for row in valid)
    return LatencyTable(executor_counts=EXECUTOR_COUNTS, rates_rows_per_s=RATES, latency_s=latency_s, valid=valid, rows=600)


PROFILED: dict[str, Any] = {"table": table(), "t_max": {executors: about(100.0 * executors) for executors in EXECUTOR_COUNTS}}


def refusals(decision: Decision) -> list[str]:
    return [each.refused.code for each in decision.candidates if each.refused is not None]


def average_of(decision: Decision) -> float | None:
    """T_avg, as the last executors that were refused for their latency show it."""
    return next((each.refused.limit for each in reversed(decision.candidates) if each.refused and each.refused.code == "latency_invalid"), None)


def test_the_fewest_executors_that_recover_in_time_and_keep_up_are_chosen() -> None:
    assert Phoebe().decide(under(350.0, promises=Promises(recovery_s=100.0), **PROFILED)).executors == 6, "a promise takes the place of the target"
    decision = Phoebe().decide(under(350.0, **PROFILED))
    assert (decision.executors, decision.why.code) == (5, "smallest_that_holds")
    assert refusals(decision) == ["recovery_above_target"] * 4
    assert decision.candidates[-1].recovery_s == pytest.approx(30.0 + 40.0 * 350.0 / 150.0)


def test_executors_whose_latency_is_not_normal_are_refused() -> None:
    decision = Phoebe().decide(under(350.0, **{**PROFILED, "table": table(share=0.6)}))
    assert (decision.executors, refusals(decision)[-1]) == (6, "latency_invalid")


@pytest.mark.parametrize(
    ("limit", "batch_s", "repeated_s"), [(None, 2.0, 4.0), (5000.0, 2.0, 4.0), (5000.0, 0.5, 1.5), (None, None, 10.0), (5000.0, None, 1.0)]
)
def test_as_soon_as_possible_a_failure_repeats_two_batches_and_under_a_limit_at_least_a_second(
    limit: float | None, batch_s: float | None, repeated_s: float
) -> None:
    """While no batch is known, the longest allowed, or the second."""
    cadence = cadence_of(Trigger(), Promises(), rate_limit_rows_per_s=limit)
    decision = Phoebe().decide(under(350.0, plant="micro_batch", stops=frozenset(), batch_s=batch_s, cadence=cadence, **PROFILED))
    assert (decision.executors, decision.why.code) == (4, "smallest_that_holds")
    assert decision.candidates[-1].recovery_s == pytest.approx(2.0 + (repeated_s + 2.0) * 350.0 / 50.0)


def test_if_none_passes_it_is_the_largest() -> None:
    decision = Phoebe().decide(under(1190.0, **PROFILED))
    assert (decision.executors, decision.why.code, len(refusals(decision))) == (12, "none_passes", 12)


def test_below_its_period_it_waits_a_whole_one() -> None:
    decision = Phoebe().decide(under(350.0, uptime_s=599.0, **PROFILED))
    assert (decision.direction, decision.why.code, decision.next_after_s) == ("keep", "uptime_below_period", 600.0)
    assert Phoebe().decide(under(350.0, uptime_s=600.0, **PROFILED)).next_after_s is None


@pytest.mark.parametrize("missing", ["table", "t_max", "arrivals"])
def test_without_a_profile_or_a_load_it_keeps_the_executors(missing: str) -> None:
    known = {**PROFILED, "arrivals": under(350.0).arrivals}
    decision = Phoebe().decide(assessed(**{key: value for key, value in known.items() if key != missing}))
    assert (decision.direction, decision.why.code) == ("keep", "not_ready")


@pytest.mark.parametrize("path", [FALLING, FALLING[::-1]], ids=["falling", "rising"])
def test_the_closest_bin_counts_when_the_load_falls_and_the_furthest_when_it_rises(path: list[float]) -> None:
    """Half of the bin is at 800 rows/s, half on the way to 775."""
    decision = Phoebe().decide(expecting(path[0], path, promises=UNBOUND, **{**PROFILED, "table": table(share=0.7)}))
    assert average_of(decision) == pytest.approx((800.0 + 787.5) / 2)
    assert decision.executors == 12


def test_one_bin_is_the_mean_of_the_whole_horizon() -> None:
    decision = Phoebe(bins=1).decide(expecting(FALLING[0], FALLING, promises=UNBOUND, **PROFILED))
    assert average_of(decision) == pytest.approx(sum(FALLING) / len(FALLING), rel=0.01)


def test_the_lag_that_is_there_does_not_count() -> None:
    assert Phoebe().decide(under(350.0, lag_rows=1e6, **PROFILED)) == Phoebe().decide(under(350.0, **PROFILED))


@settings(max_examples=20)
@given(path=st.lists(st.floats(10, 900), min_size=10, max_size=10))
def test_the_worst_moment_never_asks_for_less_than_the_present_one(path: list[float]) -> None:
    seen = expecting(path[0], path, **PROFILED)
    faithful, worst = Phoebe().decide(seen), Phoebe(worst_case=1).decide(seen)
    assert worst.executors >= faithful.executors
    assert all((low.recovery_s or 0.0) <= (high.recovery_s or 0.0) + 1e-6 for low, high in zip(faithful.candidates, worst.candidates, strict=False))


def test_a_load_that_will_rise_is_met_before_by_the_worst_moment() -> None:
    rising = [200.0 + 30.0 * number for number in range(20)]
    seen = expecting(200.0, rising, **PROFILED)
    assert Phoebe(worst_case=1).decide(seen).executors > Phoebe().decide(seen).executors


@given(load=st.floats(1, 1100))
def test_the_decision_does_not_depend_on_the_present_executors(load: float) -> None:
    assert len({Phoebe().decide(under(load, executors=current, **PROFILED)).executors for current in (1, 5, 12)}) == 1


@pytest.mark.parametrize("current", [3, 5, 8])
def test_micro_batches_whose_cost_is_known_recover_batch_by_batch(current: int) -> None:
    """T_max is the capacity under the promise; a job that catches up does so at its saturated throughput, here four times as much."""
    law = BatchLaw(overhead_s=1.0, row_s=0.0025, partitions=1200)
    seen = under(350.0, executors=current, plant="micro_batch", stops=frozenset(), batch_s=6.0, batch_laws=LikelyLaws(best=law, drawn=(law,)), **PROFILED)
    (found,) = (each for each in Phoebe(target_recovery_s=1.0).decide(seen).candidates if each.executors == current)
    outage = BatchOutage(at_s=NOW_S, downtime_s=2.0, cadence=seen.cadence, executors=current, lost_s=NOW_S)
    assert found.recovery_s == recovery_by_batches_s(law, Arrivals.constant(350.0), outage) < 12.0
