import math
from dataclasses import replace

import pytest

from penstock.core.models.estimate import NotReady
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen, RecoveryTable, tabulated
from penstock.selftest.worlds.khaos import recoveries
from penstock.stores.codec import decode, encode


def test_at_a_rate_beyond_the_capacity_it_never_recovers() -> None:
    model = RecoveryRegression().learn(recoveries("worst_case", 3))
    answer = model.predict(60, 100 * max(each.rate_rows_per_s for each in model.seen))
    assert 0 < answer.low < answer.value == answer.high == math.inf


def test_the_physical_form_is_among_the_candidates() -> None:
    assert {"physical", "physical, free replay"} <= set(RecoveryRegression().learn(recoveries("bent", 5)[::2]).candidates())


def test_more_executors_recover_sooner() -> None:
    def recovery(interval: float, share: float) -> float:
        return 60 + share * (interval + 60) / (1 - share)

    seen = [
        RecoverySeen(interval_s=interval, rate_rows_per_s=share * 250 * executors, recovery_s=recovery(interval, share), executors=executors)
        for interval in (10, 60, 120) for executors in (2, 4, 8) for share in (0.2, 0.5, 0.7)
    ]  # fmt: skip
    model = RecoveryRegression().learn(seen)
    five, seven = (model.predict(60, 800, executors=executors) for executors in (5, 7))
    assert pytest.approx(recovery(60, 800 / (250 * 5)), rel=0.1) == five.value > seven.value
    assert isinstance(model.predict(60, 800), NotReady)
    assert model.inside(60, 800, 5) and not model.inside(60, 800, 16)


def test_learnt_with_constant_executors_it_predicts_for_them_by_default() -> None:
    model = RecoveryRegression().learn([replace(each, executors=4) for each in recoveries("worst_case", 1)])
    rate = 0.7 * max(each.rate_rows_per_s for each in model.seen)
    assert model.predict(60, rate) == model.predict(60, rate, executors=4)


def test_a_recovery_without_an_executor_is_refused() -> None:
    with pytest.raises(ValueError, match="had an executor"):
        RecoverySeen(interval_s=10, rate_rows_per_s=1, recovery_s=60, executors=0)


def truth_s(rate: float, executors: int, interval_s: float = 10.0) -> float:
    return 40.0 + rate * (interval_s + 40.0) / (1000.0 * executors - rate)


PLACES = [(rate, executors) for executors in (2, 4) for rate in (600.0, 900.0, 1200.0, 1500.0)]
SEEN = [RecoverySeen(interval_s=10.0, rate_rows_per_s=rate, recovery_s=truth_s(rate, executors), executors=executors) for rate, executors in PLACES]
MODEL = RecoveryRegression().learn(SEEN)
TABLE = tabulated(MODEL, 10.0)


def test_it_says_what_the_regression_says_where_recoveries_were_seen() -> None:
    assert TABLE.executor_counts == (2, 4) and TABLE.rows == 8
    for rate in (650.0, 1000.0, 1450.0):
        said, model = TABLE.predict(10.0, rate, 4), MODEL.predict(10.0, rate, 4)
        assert [said.value, said.low, said.high] == pytest.approx([model.value, model.low, model.high], rel=0.03)


@pytest.mark.parametrize(("interval_s", "rate", "executors"), [(30.0, 1000.0, 4), (10.0, 500.0, 4), (10.0, 1600.0, 4), (10.0, 1000.0, 3)])
def test_elsewhere_it_says_nothing(interval_s: float, rate: float, executors: int) -> None:
    assert isinstance(TABLE.predict(interval_s, rate, executors), NotReady)


def test_a_recovery_at_a_rate_beyond_the_capacity_never_ends_and_the_state_goes_through_json() -> None:
    row = (50.0, 80.0, math.inf)
    made = RecoveryTable(interval_s=10.0, executor_counts=(2,), rates_rows_per_s=(1, 2, 3), recovery_s=(row,), low_s=((40, 60, 80),), high_s=(row,), rows=4)
    never = made.predict(10.0, 2.5, 2)
    assert never.value == math.inf and never.low == 70.0
    assert decode(RecoveryTable, encode(made)) == made


def test_without_enough_recoveries_there_is_none() -> None:
    assert isinstance(tabulated(RecoveryRegression().learn(SEEN[:3]), 10.0), NotReady)
    assert isinstance(tabulated(RecoveryRegression(), 10.0), NotReady)
