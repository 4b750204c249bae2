"""Each prediction has a size, bounds, and a time at which it can be judged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from steady_job import LEARNING, Analysed, SteadyJob, daily

from penstock.core.analyze.predictions import foresee
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import recovery_s


@pytest.fixture(scope="module")
def seen() -> Assessment:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(80)
    return analysed.seen()


def decided(executors: int, current: int = 4) -> Decision:
    return Decision(policy="p", executors=executors, current=current, why=Comparison(code="smallest_that_holds"))


def of(kind: str, made: tuple[Prediction, ...]) -> list[Prediction]:
    return [each for each in made if each.kind == kind]


def test_the_load_is_foreseen_a_minute_five_and_fifteen_ahead(seen: Assessment) -> None:
    loads = of("forecast", foresee(seen, decided(4)))
    assert [(each.about, each.due_s and each.due_s - seen.at_s) for each in loads] == [("60 s", 60.0), ("300 s", 300.0), ("900 s", 900.0)]
    assert all(each.low <= each.value <= each.high for each in loads)
    assert loads[0].value == pytest.approx(daily(seen.at_s + 52.5), rel=0.05)


def test_the_capacity_of_the_size_that_was_decided_is_foreseen(seen: Assessment) -> None:
    (capacity,) = of("capacity", foresee(seen, decided(6)))
    assert capacity.executors == 6 and capacity.value == pytest.approx(6000.0, rel=0.02) and capacity.expires_s == seen.at_s + 900.0


def test_a_prediction_names_the_policy_that_decided(seen: Assessment) -> None:
    made = foresee(seen, replace(decided(6), policy="auto:ds2"))
    assert {each.kind for each in made} >= {"forecast", "capacity", "recovery"} and {each.policy for each in made} == {"auto:ds2"}


def test_a_kept_size_needs_no_recovery(seen: Assessment) -> None:
    assert not of("recovery", foresee(seen, decided(4)))


@pytest.mark.parametrize(("executors", "kind", "downtime_s"), [(6, "rescale_up", 30.0), (3, "rescale_down", 15.0)])
def test_a_rescale_that_stops_the_job_is_an_outage(seen: Assessment, executors: int, kind: str, downtime_s: float) -> None:
    level = replace(seen, arrivals=Arrivals.constant(2000.0), forecast=None)
    (recovery,) = of("recovery", foresee(level, decided(executors)))
    truth_s = recovery_s(Arrivals.constant(2000.0), seen.at_s, 1000.0 * executors, seen.interval_s, downtime_s)
    assert recovery.about == kind and recovery.value == pytest.approx(truth_s, rel=0.05) and recovery.low <= truth_s <= recovery.high


def test_a_live_rescale_costs_what_piles_up_until_it_is_ready(seen: Assessment) -> None:
    live = replace(seen, stops=frozenset(), forecast=None, arrivals=Arrivals.constant(4400.0))
    (recovery,) = of("recovery", foresee(live, decided(6)))
    assert recovery.value == pytest.approx(30.0 + 30.0 * 400.0 / 1600.0, rel=0.1)
    assert not of("recovery", foresee(replace(live, arrivals=Arrivals.constant(3000.0)), decided(6)))


def test_a_recovery_that_never_ends_is_not_foreseen(seen: Assessment) -> None:
    overloaded = replace(seen, forecast=None, arrivals=Arrivals.constant(9000.0))
    assert not of("recovery", foresee(overloaded, decided(6)))


def test_latency_is_foreseen_of_a_size_that_keeps_up(seen: Assessment) -> None:
    known, endless = Estimate(value=2.0, low=1.5, high=3.0), Estimate(value=2.0, low=1.5, high=float("inf"))
    (average,) = of("latency", foresee(replace(seen, latencies={4: known}), decided(4)))
    assert (average.value, average.about, average.due_s) == (2.0, "average", seen.at_s + 60.0)
    (percentile,) = of("latency", foresee(replace(seen, plant="micro_batch", latencies={4: known}), decided(4)))
    assert percentile.about == "p95"
    assert not of("latency", foresee(replace(seen, latencies={4: endless}), decided(4)))


def test_of_nothing_known_nothing_is_foreseen() -> None:
    analysed = Analysed(SteadyJob(), needs=LEARNING)
    analysed.turn()
    assert foresee(analysed.seen(), decided(6)) == ()


def test_in_shadow_the_size_that_runs_is_foreseen_too_as_only_that_can_be_judged(seen: Assessment) -> None:
    known = replace(seen, latencies={size: Estimate(value=1.0, low=0.5, high=2.0) for size in (4, 6)})
    made = foresee(known, decided(6), runs=4)
    assert [(each.kind, each.executors) for each in made if each.kind in ("capacity", "latency")] == [
        ("capacity", 6), ("latency", 6), ("capacity", 4), ("latency", 4),
    ]  # fmt: skip
    assert foresee(known, decided(4), runs=4) == foresee(known, decided(4))
