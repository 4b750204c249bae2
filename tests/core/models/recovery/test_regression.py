"""Khaos's M_R: what is special about recovery."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.recovery.regression import RecoveryRegression, RecoverySeen
from penstock.selftest.worlds.khaos import recoveries


def test_at_a_rate_beyond_the_capacity_it_never_recovers() -> None:
    model = RecoveryRegression().learn(recoveries("worst_case", 3))
    answer = model.predict(60, 100 * max(each.rate_rows_per_s for each in model.seen))
    assert isinstance(answer, Estimate) and answer.value == answer.high == math.inf
    assert 0 < answer.low < math.inf


def test_the_physical_form_is_among_the_candidates() -> None:
    assert {"physical", "physical, free replay"} <= set(RecoveryRegression().learn(recoveries("bent", 5)[::2]).candidates())


def test_over_several_scaleouts_more_workers_recover_sooner() -> None:
    def recovery(interval: float, rate: float, size: int) -> float:
        return 60 + rate * (interval + 60) / (250 * size - rate)

    seen = [
        RecoverySeen(interval_s=interval, rate_rows_per_s=share * 250 * size, recovery_s=recovery(interval, share * 250 * size, size), scaleout=size)
        for interval in (10, 60, 120) for size in (2, 4, 8) for share in (0.2, 0.5, 0.7)
    ]  # fmt: skip
    model = RecoveryRegression().learn(seen)
    five, seven = (model.predict(60, 800, scaleout=size) for size in (5, 7))
    assert isinstance(five, Estimate) and isinstance(seven, Estimate)
    assert five.value > seven.value
    assert five.value == pytest.approx(recovery(60, 800, 5), rel=0.1)
    assert isinstance(model.predict(60, 800), NotReady)
    assert model.inside(60, 800, 5) and not model.inside(60, 800, 16)


def test_of_one_scaleout_it_answers_for_that_one_when_none_is_named() -> None:
    model = RecoveryRegression().learn([replace(each, scaleout=4) for each in recoveries("worst_case", 1)])
    rate = 0.7 * max(each.rate_rows_per_s for each in model.seen)
    assert model.predict(60, rate) == model.predict(60, rate, scaleout=4)


def test_a_recovery_without_a_worker_is_refused() -> None:
    with pytest.raises(ValueError, match="had a worker"):
        RecoverySeen(interval_s=10, rate_rows_per_s=1, recovery_s=60, scaleout=0)
