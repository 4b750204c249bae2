"""Khaos's M_R: it conforms, it generalises to intervals it has not seen, and it is sane where data are few or strange."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from conformance import Case, Conformance, World
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.bench.worlds.khaos import RECOVERIES, recoveries
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.recovery.regression import RecoveryRegression, RecoverySeen
from penstock.core.models.score import Score
from penstock.core.models.surrogate.study import MOST_SEEN


def world(chance: random.Random) -> World:
    """A noisy job on a small grid; the truth is one more noisy recovery at an interval that was not seen."""
    downtime, capacity = chance.uniform(40, 80), chance.uniform(900, 1100)

    def recovery(interval_s: float, rate: float) -> float:
        return (downtime + rate * (interval_s + downtime) / (capacity - rate)) * chance.lognormvariate(0, 0.1)

    places = [(interval, rate * chance.uniform(0.98, 1.02)) for interval in (10, 40, 100) for rate in (150, 300, 450, 600)]
    chance.shuffle(places)
    seen = [RecoverySeen(interval_s=interval, rate_rows_per_s=rate, recovery_s=recovery(interval, rate)) for interval, rate in places]
    return World(seen=seen, truth=recovery(55, 400))


class TestRecoveryRegression(Conformance):
    case = Case(empty=RecoveryRegression(), world=world, ask=lambda model: model.predict(55, 400))


@pytest.mark.parametrize("kind", RECOVERIES)
def test_it_predicts_an_interval_it_has_not_seen_better_than_the_plane_and_far_better_than_the_constant(kind: str) -> None:
    score = RecoveryRegression().learn(recoveries(kind, 2)).score("interval")
    assert isinstance(score, Score) and score.held_out == 60
    assert score.paper_mape is not None and score.mape < score.paper_mape and score.mape < 0.6 * score.constant_mape


def test_at_a_rate_beyond_the_capacity_it_never_recovers() -> None:
    model = RecoveryRegression().learn(recoveries("worst_case", 3))
    answer = model.predict(60, 100 * max(each.rate_rows_per_s for each in model.seen))
    assert isinstance(answer, Estimate) and answer.value == answer.high == math.inf
    assert 0 < answer.low < math.inf


LEARNT = RecoveryRegression().learn(recoveries("bent", 5))
TOP = max(each.rate_rows_per_s for each in LEARNT.seen)


@settings(max_examples=50)
@given(st.floats(1, 1000), st.floats(0, 10))
def test_no_answer_is_negative_or_without_order(interval_s: float, share: float) -> None:
    answer = LEARNT.predict(interval_s, share * TOP)
    assert isinstance(answer, Estimate) and 0 <= answer.low <= answer.value <= answer.high


def test_it_flags_what_lies_outside_of_the_recorded_rates_and_intervals() -> None:
    assert LEARNT.inside(45, 0.8 * TOP)
    assert not LEARNT.inside(45, 1.1 * TOP) and not LEARNT.inside(5, 0.8 * TOP) and not LEARNT.inside(130, 0.8 * TOP)
    assert not RecoveryRegression().inside(45, 100)


def test_below_four_recoveries_it_says_how_many_are_missing() -> None:
    model = RecoveryRegression().learn(recoveries("worst_case", 1)[:3])
    assert model.predict(10, 100) == model.score() == NotReady(why="3 recoveries seen, 4 needed")
    assert model.form is None and not model.parameters and not model.candidates()


@pytest.mark.parametrize("rows", [4, 5, 7])
def test_a_handful_of_recoveries_gives_an_answer_of_their_size(rows: int) -> None:
    seen = recoveries("worst_case", 6)[::9][:rows]
    answer = RecoveryRegression().learn(seen).predict(seen[1].interval_s, seen[1].rate_rows_per_s)
    assert isinstance(answer, Estimate) and answer.value == pytest.approx(seen[1].recovery_s, rel=0.4)


def test_with_one_interval_it_still_learns_the_rate_but_has_none_to_leave_out() -> None:
    model = RecoveryRegression().learn([each for each in recoveries("worst_case", 2) if each.interval_s == 60][::2])
    low, high = (model.predict(60, share * TOP_OF_TWO) for share in (0.5, 0.95))
    assert isinstance(low, Estimate) and isinstance(high, Estimate) and low.value < high.value
    assert isinstance(model.score("interval"), NotReady) and isinstance(model.score("one"), Score)


TOP_OF_TWO = max(each.rate_rows_per_s for each in recoveries("worst_case", 2))


def test_rows_seen_twice_change_little() -> None:
    seen = recoveries("worst_case", 8)
    once, twice = (RecoveryRegression().learn(rows).predict(45, 0.6 * max(each.rate_rows_per_s for each in seen)) for rows in (seen, seen * 2))
    assert isinstance(once, Estimate) and isinstance(twice, Estimate)
    assert twice.value == pytest.approx(once.value, rel=0.05)


def test_identical_rows_are_a_constant() -> None:
    answer = RecoveryRegression().learn([RecoverySeen(interval_s=10, rate_rows_per_s=100, recovery_s=77)] * 6).predict(10, 100)
    assert isinstance(answer, Estimate) and answer.value == pytest.approx(77, rel=0.02)


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


def test_it_names_its_form_and_the_error_of_every_candidate() -> None:
    assert LEARNT.form is not None and set(LEARNT.form.split(" + ")) <= set(LEARNT.candidates())
    assert {"plane", "physical", "log interaction"} <= set(LEARNT.candidates()) and LEARNT.parameters


@pytest.mark.parametrize("wrong", [{"interval_s": 0.0}, {"rate_rows_per_s": -1.0}, {"recovery_s": math.inf}, {"recovery_s": math.nan}, {"scaleout": 0}])
def test_what_cannot_have_been_seen_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="recover"):
        RecoverySeen(**{"interval_s": 10.0, "rate_rows_per_s": 1.0, "recovery_s": 60.0, **wrong})  # type: ignore[arg-type]


@settings(max_examples=5)
@given(
    st.lists(
        st.builds(RecoverySeen, interval_s=st.floats(0.1, 1e4), rate_rows_per_s=st.floats(0, 1e7), recovery_s=st.floats(1e-3, 1e5)), min_size=4, max_size=6
    )
)
def test_whatever_was_seen_it_answers_in_order_and_scores(seen: list[RecoverySeen]) -> None:
    model = RecoveryRegression().learn(seen)
    answer = model.predict(seen[0].interval_s, seen[0].rate_rows_per_s)
    assert isinstance(answer, Estimate) and 0 <= answer.low <= answer.value <= answer.high
    score = model.score("interval")
    assert isinstance(score, NotReady) or score.mape >= 0


def test_only_the_newest_rows_are_kept() -> None:
    seen = [RecoverySeen(interval_s=10, rate_rows_per_s=number, recovery_s=60) for number in range(MOST_SEEN + 5)]
    assert RecoveryRegression().learn(seen[:7]).learn(seen[7:]).seen == tuple(seen[5:])
