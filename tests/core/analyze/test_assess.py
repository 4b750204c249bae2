"""What a policy is shown of a job whose truth is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from steady_job import LEARNING, TERMS, Analysed, SteadyJob, daily

from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.policy import Need

REGRESSION: frozenset[Need] = LEARNING | {"regression"}


@pytest.mark.parametrize("needs", [LEARNING, REGRESSION])
def test_the_present_size_is_measured_and_others_are_carried(needs: frozenset[Need]) -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=needs)
    analysed.turns(60)
    seen = analysed.seen()
    assert analysed.knowledge.learnt.capacity.by_batches is None
    assert (analysed.knowledge.learnt.capacity.by_utilization.method == "daedalus") == ("regression" in needs)
    assert set(seen.capacities) == set(range(1, 9))
    for size, estimate in seen.capacities.items():
        assert estimate.value == pytest.approx(1000.0 * size, rel=0.02)
    spread = {size: (each.high - each.low) / each.value for size, each in seen.capacities.items()}
    assert spread[4] < spread[3] < spread[1] and spread[4] < spread[8]


def test_a_policy_without_needs_sees_the_reading_alone() -> None:
    analysed = Analysed(SteadyJob(load=daily), needs=frozenset())
    analysed.turns(30)
    before, seen = analysed.knowledge, analysed.seen()
    assert analysed.knowledge is before and not seen.capacities and seen.forecast is None and not seen.downtimes_s
    assert seen.load_rows_per_s == before.last.arrival_rows_per_s if before.last else False


def test_the_size_is_the_desired_one_and_its_own_in_shadow() -> None:
    analysed = Analysed(SteadyJob())
    analysed.turn()
    steering = replace(analysed.knowledge.steering, shadow_executors=7)
    analysed.knowledge = replace(analysed.knowledge, steering=steering)
    sizes = []
    for mode in ("active", "shadow"):
        analysed.terms = replace(TERMS, autopilot=replace(TERMS.autopilot, mode=mode))
        sizes.append(analysed.seen().current)
    assert sizes == [4, 7]


def test_a_size_beyond_the_limits_is_assessed_too() -> None:
    analysed = Analysed(SteadyJob(executors=10, load=daily))
    analysed.turns(20)
    assert set(analysed.seen().capacities) == {*range(1, 9), 10}


def test_uptime_begins_anew_with_failures_and_rescales() -> None:
    analysed = Analysed(SteadyJob())
    analysed.turns(4)
    assert analysed.seen().uptime_s == 60.0 and analysed.seen().since_rescale_s is None
    analysed.job.fail()
    analysed.turns(2)
    assert analysed.seen().uptime_s == 30.0
    analysed.rescale(5)
    analysed.turn()
    assert analysed.seen().uptime_s == analysed.seen().since_rescale_s == 15.0


def test_a_trigger_without_interval_counts_as_half_the_promised_latency() -> None:
    analysed = Analysed(SteadyJob())
    analysed.turn()
    assert analysed.knowledge.last is not None
    assert analysed.seen().interval_s == 10.0
    asap = _asap(analysed.knowledge.last)
    analysed.turn(reading=replace(asap, at_s=asap.at_s + 15.0))
    intervals = []
    for promised_s in (None, 8.0):
        analysed.terms = replace(TERMS, promises=Promises(latency_p95_s=promised_s))
        intervals.append(analysed.seen().interval_s)
    assert intervals == [10.0, 4.0]


def test_nothing_is_assessed_before_the_first_reading() -> None:
    with pytest.raises(ValueError, match="first reading"):
        Analysed(SteadyJob()).seen()


def _asap(reading: Reading) -> Reading:
    return replace(reading, queries=tuple(replace(query, trigger=Trigger()) for query in reading.queries))


def test_a_timer_is_over_at_the_reading_nearest_to_its_end() -> None:
    """Decisions are made at the reading nearest to their time; a grace of three periods must not last for four because the third reading came early."""
    analysed = Analysed(SteadyJob())
    analysed.turns(4)
    for late_s, since_s in ((0.1, 60.0), (7.4, 60.0), (7.6, 52.4)):
        steering = replace(analysed.knowledge.steering, rescaled_s=late_s)
        analysed.knowledge = replace(analysed.knowledge, steering=steering)
        seen = analysed.seen()
        assert (seen.since_rescale_s, seen.uptime_s) == (pytest.approx(since_s), pytest.approx(since_s))
