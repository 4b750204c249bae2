import math
import random

import pytest
from conformance import World, conforming
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.models.estimate import NotReady
from penstock.core.models.recovery.downtime import Downtimes, DowntimeSeen, Priors


def losses(chance: random.Random) -> World:
    """A dozen losses of an executor with their own median and spread, rescales between them; the truth is the next loss."""
    median_s, spread = chance.uniform(5, 120), chance.uniform(0.05, 0.5)
    downtimes_s = [median_s * math.exp(chance.gauss(0, spread)) for _ in range(13)]
    seen = [DowntimeSeen(kind="executor_loss", downtime_s=each) for each in downtimes_s[:-1]]
    rescales = [DowntimeSeen(kind="rescale_up", downtime_s=chance.uniform(10, 20)) for _ in range(12)]
    return World(seen=[each for pair in zip(seen, rescales, strict=True) for each in pair], truth=downtimes_s[-1])


TestDowntimes = conforming(empty=Downtimes(), world=losses, ask=lambda model: model.predict("executor_loss"), score=lambda model: model.score("rescale_up"))


def seen(kind: DisturbanceKind, *downtimes_s: float) -> list[DowntimeSeen]:
    return [DowntimeSeen(kind=kind, downtime_s=each) for each in downtimes_s]


def test_before_any_rescale_the_numbers_of_daedalus_are_expected_within_wide_bounds() -> None:
    out, back = Downtimes().predict("rescale_up"), Downtimes().predict("rescale_down")
    assert [out.value, back.value] == pytest.approx([30.0, 15.0]) and out.high / out.low > 4


def test_a_failure_is_expected_to_take_its_detection_and_its_restart() -> None:
    model = Downtimes(priors=Priors(detection_s=20.0, restart_s={"query_restart": 15.0}))
    assert model.predict("query_restart").value == pytest.approx(35.0)
    assert isinstance(model.predict("driver_restart"), NotReady)
    assert isinstance(Downtimes(priors=Priors(restart_s={"query_restart": 15.0})).predict("query_restart"), NotReady)


def test_it_says_how_wrong_it_was_each_time_beside_the_mean_before_and_the_papers_numbers() -> None:
    model = Downtimes().learn(seen("rescale_up", 60.0, 90.0, 90.0))
    first, second = (Downtimes().learn(seen("rescale_up", *before)).predict("rescale_up").value for before in ((60.0,), (60.0, 90.0)))
    score = model.score("rescale_up")
    assert score.held_out == 2 and score.paper_mape == pytest.approx(abs(30 / 90 - 1))
    assert score.mape == pytest.approx((abs(first / 90 - 1) + abs(second / 90 - 1)) / 2)
    assert score.constant_mape == pytest.approx((abs(60 / 90 - 1) + abs(75 / 90 - 1)) / 2)
    assert isinstance(model.score("rescale_down"), NotReady)
    assert Downtimes().learn(seen("executor_loss", 60.0, 90.0)).score("executor_loss").paper_mape is None, "the paper says nothing of a loss"


def test_each_kind_learns_by_itself() -> None:
    model = Downtimes().learn(seen("rescale_up", 60.0, 60.0))
    assert model.predict("rescale_up").value > 45 and isinstance(model.predict("task_retry"), NotReady)
    assert model.predict("rescale_down") == Downtimes().predict("rescale_down")


def test_one_downtime_moves_the_expectation_a_part_of_the_way_and_five_nearly_all_of_it() -> None:
    first, fifth = (Downtimes().learn(seen("rescale_up", *[110.0] * count)).predict("rescale_up").value for count in (1, 5))
    assert 40 < first < 80 and fifth == pytest.approx(110.0, rel=0.03)


def test_what_is_seen_narrows_the_bounds_as_far_as_it_agrees() -> None:
    alike, apart = (Downtimes().learn(seen("rescale_up", *each * 5)) for each in ((30.0, 31.0), (15.0, 60.0)))
    widths = [answer.high / answer.low for answer in (alike.predict("rescale_up"), apart.predict("rescale_up"), Downtimes().predict("rescale_up"))]
    assert widths[0] < widths[2] and widths[0] < widths[1] / 2


def test_old_downtimes_fade_when_the_cluster_has_changed() -> None:
    model = Downtimes().learn(seen("executor_loss", *[20.0] * 40, *[80.0] * 30))
    assert model.predict("executor_loss").value == pytest.approx(80.0, rel=0.2)


def test_a_kind_without_prior_is_known_after_one_with_honest_doubt_and_no_downtime_at_all_can_be_learnt() -> None:
    answer = Downtimes().learn(seen("task_retry", 2.0)).predict("task_retry")
    assert answer.value == pytest.approx(2.0) and answer.low < 1.0 and answer.high > 4.0
    assert 0 < Downtimes().learn(seen("task_retry", 0.0, 0.0, 0.0)).predict("task_retry").value < 0.1


@pytest.mark.parametrize("downtime_s", [-1.0, math.nan, math.inf])
def test_what_is_no_downtime_is_refused(downtime_s: float) -> None:
    with pytest.raises(ValueError, match="downtime"):
        DowntimeSeen(kind="task_retry", downtime_s=downtime_s)


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=30))
def test_the_expectation_lies_among_what_was_seen(downtimes_s: list[float]) -> None:
    answer = Downtimes().learn(seen("driver_restart", *downtimes_s)).predict("driver_restart")
    lowest, highest = (max(each(downtimes_s), 0.05) for each in (min, max))
    assert lowest * (1 - 1e-9) <= answer.value <= highest * (1 + 1e-9)
    assert 0 < answer.low <= answer.value <= answer.high < math.inf
