from dataclasses import replace
from typing import Any

import pytest
from assessed import about, under
from changes import scaled_to
from steady_job import LEARNING, Analysed, SteadyJob, daily

from penstock.core.domain.job_spec import Promises
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.policy import predicted_by
from penstock.core.knowledge.predicting import identified, latency_prediction, load_predictions
from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import recovery_s
from penstock.core.policies.auto import Auto
from penstock.core.policies.baselines import Static, Twres
from penstock.core.policies.daedalus import Daedalus
from penstock.core.policies.hpa import Hpa
from penstock.core.policies.phoebe import Phoebe

TABLE = LatencyTable(executor_counts=(1,), rates_rows_per_s=(0.0, 5000.0), latency_s=((1.5, 1.5),), valid=((True, True),), rows=50)
PROFILED: dict[str, Any] = {"table": TABLE, "t_max": {executors: about(80.0 * executors) for executors in range(1, 13)}}


@pytest.fixture(scope="module")
def seen() -> Assessment:
    analysed = Analysed(SteadyJob(load=daily))
    analysed.turns(80)
    return analysed.seen()


def predicted(policy: Any, seen: Assessment, executors: int, decider: str = "") -> dict[str, Prediction]:
    return {each.kind: each for each in predicted_by(policy, seen, scaled_to(executors), decider)}


def test_the_load_is_predicted_a_minute_five_and_fifteen_ahead(seen: Assessment) -> None:
    loads = list(load_predictions(seen, scaled_to(4)))
    assert [(each.about, each.due_s and each.due_s - seen.at_s) for each in loads] == [("60 s", 60.0), ("300 s", 300.0), ("900 s", 900.0)]
    assert all(each.kind == "forecast" and each.low <= each.value <= each.high for each in loads)
    assert loads[0].value == pytest.approx(daily(seen.at_s + 52.5), rel=0.05)
    assert list(load_predictions(replace(seen, forecast=None), scaled_to(4))) == []


def test_latency_is_predicted_of_executors_that_keep_up_and_after_a_change_it_waits(seen: Assessment) -> None:
    known, endless = Estimate(value=2.0, low=1.5, high=3.0), Estimate(value=2.0, low=1.5, high=float("inf"))
    (made,) = latency_prediction(seen, known, scaled_to(4), changes=False)
    assert (made.value, made.about, made.due_s, made.expires_s) == (2.0, "p95", seen.at_s + 60.0, None)
    (changed,) = latency_prediction(seen, known, scaled_to(6), changes=True)
    assert (changed.due_s, changed.expires_s) == (seen.at_s + 60.0, seen.at_s + 180.0)
    for unknown in (endless, None):
        assert latency_prediction(seen, unknown, scaled_to(4), changes=False) == ()


def test_predictions_have_an_identity_of_the_decision_they_were_made_with(seen: Assessment) -> None:
    made = identified(load_predictions(seen, scaled_to(4)), "decision 7", decision=7, policy="auto:ds2")
    assert [(each.id, each.decision, each.policy) for each in made] == [(f"decision 7.{number}", 7, "auto:ds2") for number in (1, 2, 3)]


def test_daedalus_predicts_the_capacity_that_it_decides_by(seen: Assessment) -> None:
    capacity = predicted(Daedalus(), seen, 6)["capacity"]
    assert capacity.configuration == scaled_to(6) and capacity.value == pytest.approx(6000.0, rel=0.02) and capacity.expires_s == seen.at_s + 900.0


def test_kept_executors_need_no_recovery_from_a_change_and_are_judged_by_a_failure() -> None:
    made, kept = predicted(Daedalus(), under(350.0), 4), Daedalus().decide(under(350.0)).candidates[-1]
    assert "recovery" not in made and kept.executors == 4
    assert (made["recovery_bound"].about, made["recovery_bound"].value) == ("query_restart", kept.recovery_s)


@pytest.mark.parametrize(("executors", "kind", "downtime_s"), [(6, "rescale_up", 30.0), (3, "rescale_down", 15.0)])
def test_a_rescale_that_stops_the_job_is_an_outage(seen: Assessment, executors: int, kind: str, downtime_s: float) -> None:
    level = replace(seen, arrivals=Arrivals.constant(2000.0), forecast=None)
    recovery = predicted(Daedalus(), level, executors)["recovery"]
    truth_s = recovery_s(Arrivals.constant(2000.0), seen.at_s, 1000.0 * executors, seen.cadence.interval_s, downtime_s)
    assert recovery.about == kind and recovery.value == pytest.approx(truth_s, rel=0.05) and recovery.low <= truth_s <= recovery.high
    assert "recovery_bound" not in predicted(Daedalus(), level, executors), "the paper looks at the change alone"
    assert "recovery_bound" in predicted(Daedalus(failures_too=True), level, executors)


def test_a_live_rescale_is_graded_by_both_that_it_was_judged_by_its_transition_and_a_failure(seen: Assessment) -> None:
    live = replace(seen, stops=frozenset(), forecast=None, arrivals=Arrivals.constant(4400.0))
    made = predicted(Daedalus(), live, 6)
    assert made["recovery"].value == pytest.approx(30.0 + 30.0 * 400.0 / 1600.0, rel=0.1)
    assert made["recovery_bound"].about == "query_restart"
    without_lag = predicted(Daedalus(), replace(live, arrivals=Arrivals.constant(3000.0)), 6)
    assert "recovery" not in without_lag and "recovery_bound" in without_lag


def test_a_recovery_that_never_ends_is_not_predicted(seen: Assessment) -> None:
    overloaded = replace(seen, forecast=None, arrivals=Arrivals.constant(9000.0))
    assert predicted(Daedalus(), overloaded, 6).keys() == {"capacity"}


def test_of_nothing_known_nothing_is_predicted() -> None:
    analysed = Analysed(SteadyJob(), needs=LEARNING)
    analysed.turn()
    assert predicted(Daedalus(), analysed.seen(), 6) == {} == predicted(Phoebe(), analysed.seen(), 6)
    assert predicted(Static(), analysed.seen(), 6) == {} == predicted(Hpa(), analysed.seen(), 6), "they have no models"


def test_phoebe_and_twres_predict_the_largest_rate_of_the_profile_and_not_the_capacity_that_is_measured() -> None:
    profiled = under(350.0, **PROFILED)
    made, of_twres = predicted(Phoebe(), profiled, 5), predicted(Twres(), profiled, 5)
    assert made["capacity"].value == of_twres["capacity"].value == 400.0
    assert made["recovery_bound"].value == pytest.approx(30.0 + 40.0 * 350.0 / 50.0) and made["recovery_bound"].about == "query_restart"
    assert (made["latency"].value, made["latency"].about) == (1.5, "p95") and of_twres.keys() == {"capacity"}


@pytest.mark.parametrize(("promises", "capacity"), [(Promises(latency_p95_s=5.0), 320.0), (Promises(), 400.0)])
def test_under_auto_the_model_of_the_policy_that_decided_is_graded(promises: Promises, capacity: float) -> None:
    profiled = under(150.0, promises=promises, executors=4, **PROFILED)
    decision = Auto().decide(profiled)
    assert decision.policy == ("auto:phoebe" if promises.latency_p95_s else "auto:daedalus")
    assert predicted(Auto(), profiled, 4, decision.policy)["capacity"].value == capacity
    assert predicted(Auto(), profiled, 4, "auto:hpa") == {} == predicted(Auto(), profiled, 4, "auto")
