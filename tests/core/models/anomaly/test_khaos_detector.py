import random
from dataclasses import replace

import pytest
from conformance import DETECTS, World, conforming
from disturbed_plant import DisturbedPlant, watched

from penstock.core.domain.disturbance import UNANNOUNCED, Disturbance
from penstock.core.models.anomaly.keeping_up import FlowSeen
from penstock.core.models.anomaly.khaos_detector import ThroughputAndLag, named, score_detected
from penstock.core.models.anomaly.online_arima import OnlineArima
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score
from penstock.stores.codec import decode, encode

STRUCK_S = 400.0
OUTAGE_S = 60.0
QUICK = ThroughputAndLag(training_s=300.0)
SMALL = ThroughputAndLag(throughput=OnlineArima(lags=3), lag=OnlineArima(lags=3, differences=0, least=1.0), training_s=30.0)


def world(rng: random.Random) -> World:
    """Health, an outage and health again; the truth is the next healthy throughput."""
    *seen, last = DisturbedPlant(seed=rng.randrange(10**6), outages=((35.0, 3.0),)).run(75.0)[0]
    return World(seen=seen, truth=last.throughput_rows_per_s)


TestConformance = conforming(empty=SMALL, world=world, unscored=DETECTS)


@pytest.mark.parametrize(("seed", "missing"), [(0, False), (1, False), (2, False), (4, True)])
def test_the_anomaly_lasts_from_the_outage_until_the_backlog_is_gone_even_where_readings_are_missing(seed: int, missing: bool) -> None:
    seen, (end_s,) = DisturbedPlant(seed=seed, outages=((STRUCK_S, OUTAGE_S),)).run(700.0)
    if missing:
        seen = [replace(each, throughput_rows_per_s=None, lag_rows=None) if STRUCK_S + 5 < each.at_s < STRUCK_S + 50 else each for each in seen]
    longest = max(QUICK.learn(seen).measured, key=lambda each: each.recovery_s)
    assert longest.started_s == pytest.approx(STRUCK_S, abs=1.0) and longest.recovered_s == pytest.approx(end_s, abs=3.0)


def test_following_the_anomaly_ends_it_within_the_outage() -> None:
    seen, (end_s,) = DisturbedPlant(seed=0, outages=((STRUCK_S, OUTAGE_S),)).run(700.0)
    with_throughput_only = [replace(each, lag_rows=None) for each in seen]
    first = next(each for each in replace(QUICK, follow=True).learn(with_throughput_only).measured if each.started_s >= STRUCK_S)
    assert first.recovered_s < STRUCK_S + OUTAGE_S < end_s


def test_nothing_is_judged_while_it_trains() -> None:
    seen, _ = DisturbedPlant(seed=1, outages=((500.0, OUTAGE_S),)).run(600.0)
    detector = ThroughputAndLag().learn(seen)
    assert detector.measured == () and detector.anomalous_since_s is None


def test_health_gives_few_and_short_false_alarms() -> None:
    seen, _ = DisturbedPlant(seed=2, outages=()).run(1300.0)
    assert sum(each.recovery_s for each in QUICK.learn(seen).measured) < 0.02 * 1000.0


def test_an_outage_that_lasts_stays_open_and_the_state_goes_through_json_in_the_middle_of_it() -> None:
    seen, _ = DisturbedPlant(seed=3, outages=((STRUCK_S, 5000.0),)).run(600.0)
    half = QUICK.learn(seen[:450])
    assert half.anomalous_since_s == pytest.approx(STRUCK_S, abs=1.0)
    again = decode(ThroughputAndLag, encode(half))
    assert again == half and again.learn(seen[450:]) == QUICK.learn(seen)


OUTAGES = ((600.0, 20.0), (1200.0, 60.0), (2000.0, 120.0))


def three_outages(seed: int) -> tuple[list[FlowSeen], list[RecoveryMeasured]]:
    seen, ends = DisturbedPlant(seed=seed, outages=OUTAGES).run(3000.0)
    return list(seen), [RecoveryMeasured(kind="executor_loss", started_s=at_s, recovered_s=end_s) for (at_s, _), end_s in zip(OUTAGES, ends, strict=True)]


@pytest.mark.parametrize("seed", range(3))
def test_both_detectors_are_nearer_to_the_truth_than_a_constant_and_the_plain_reading_of_the_paper(seed: int) -> None:
    """The plain reading of Khaos: throughput alone, and the model follows what it sees."""
    seen, true = three_outages(seed)
    plain = replace(QUICK, follow=True).learn([replace(each, lag_rows=None) for each in seen]).measured
    for found in (watched(seen)[1], QUICK.learn(seen).measured):
        score = score_detected(true, found, plain)
        assert score.mape < 0.05 < min(score.constant_mape, score.paper_mape) and score.never == 0


def test_a_recovery_that_was_not_found_is_an_error_of_100_percent() -> None:
    _, true = three_outages(0)
    score = score_detected(true, [], true)
    assert isinstance(score, Score) and (score.mape, score.paper_mape, score.never) == (1.0, 0.0, 3)
    assert isinstance(score_detected(true[:1], [], []), NotReady)


def test_a_recovery_that_coincides_with_a_failure_that_is_known_gets_its_name_and_its_beginning() -> None:
    seen, true = three_outages(1)
    known = [Disturbance(kind="executor_loss", at_s=each.started_s) for each in true]
    found = [named(each, known, within_s=5.0) for each in QUICK.learn(seen).measured if each.recovery_s > 10.0]
    assert [(each.kind, each.started_s, each.alone) for each in found] == [("executor_loss", each.started_s, True) for each in true]


def test_without_one_it_stays_unannounced_and_with_several_it_is_not_alone() -> None:
    one = RecoveryMeasured(kind=UNANNOUNCED, started_s=100.0, recovered_s=200.0)
    loss, restart = Disturbance(kind="executor_loss", at_s=98.0), Disturbance(kind="query_restart", at_s=150.0)
    assert named(one, [], 15.0) == named(one, [replace(loss, at_s=50.0)], 15.0) == one
    both = named(one, [loss, restart], 15.0)
    assert (both.kind, both.alone) == ("executor_loss", False)
