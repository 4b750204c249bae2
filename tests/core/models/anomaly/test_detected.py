"""The error of a detector is that of the recoveries it measures, against those that are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from disturbed_plant import DisturbedPlant

from penstock.core.models.anomaly.announced import named
from penstock.core.models.anomaly.detected import score_detected
from penstock.core.models.anomaly.disturbance import UNANNOUNCED, Disturbance
from penstock.core.models.anomaly.flow import FlowSeen
from penstock.core.models.anomaly.khaos import ThroughputAndLag
from penstock.core.models.anomaly.recovered import RecoveryMeasured, RecoveryWatch
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score

OUTAGES = ((600.0, 20.0), (1200.0, 60.0), (2000.0, 120.0))
KHAOS = ThroughputAndLag(training_s=300.0)


def world(seed: int) -> tuple[list[FlowSeen], list[RecoveryMeasured]]:
    seen, ends = DisturbedPlant(seed=seed, outages=OUTAGES).run(3000.0)
    return list(seen), [RecoveryMeasured(kind="executor_loss", started_s=at_s, recovered_s=end_s) for (at_s, _), end_s in zip(OUTAGES, ends, strict=True)]


def watched(seen: list[FlowSeen]) -> list[RecoveryMeasured]:
    watch, measured = RecoveryWatch(), []
    for each in seen:
        watch, more = watch.read(each)
        measured += more
    return measured


def plain(seen: list[FlowSeen]) -> tuple[RecoveryMeasured, ...]:
    """The plain reading of Khaos: throughput alone, and the model follows what it sees."""
    return replace(KHAOS, follow=True).learn([replace(each, lag_rows=None) for each in seen]).measured


@pytest.mark.parametrize("seed", range(3))
def test_both_detectors_are_nearer_to_the_truth_than_a_constant_and_the_plain_reading_of_the_paper(seed: int) -> None:
    seen, true = world(seed)
    for found in (watched(seen), KHAOS.learn(seen).measured):
        score = score_detected(true, found, plain(seen))
        assert isinstance(score, Score) and score.paper_mape is not None
        assert score.mape < 0.05 < min(score.constant_mape, score.paper_mape) and score.never == 0


def test_one_that_nobody_found_is_an_error_of_all_of_it() -> None:
    _, true = world(0)
    score = score_detected(true, [], true)
    assert isinstance(score, Score) and (score.mape, score.paper_mape, score.never) == (1.0, 0.0, 3)
    assert isinstance(score_detected(true[:1], [], []), NotReady)


def test_a_recovery_that_coincides_with_a_failure_that_is_known_gets_its_name_and_its_beginning() -> None:
    seen, true = world(1)
    known = [Disturbance(kind="executor_loss", at_s=each.started_s) for each in true]
    found = [named(each, known, within_s=5.0) for each in KHAOS.learn(seen).measured if each.recovery_s > 10.0]
    assert [(each.kind, each.started_s, each.alone) for each in found] == [("executor_loss", each.started_s, True) for each in true]


def test_without_one_it_stays_unannounced_and_with_several_it_is_not_alone() -> None:
    one = RecoveryMeasured(kind=UNANNOUNCED, started_s=100.0, recovered_s=200.0)
    loss, restart = Disturbance(kind="executor_loss", at_s=98.0), Disturbance(kind="query_restart", at_s=150.0)
    assert named(one, [], 15.0) == named(one, [replace(loss, at_s=50.0)], 15.0) == one
    both = named(one, [loss, restart], 15.0)
    assert (both.kind, both.alone) == ("executor_loss", False)
