import random

import pytest
from conformance import World, conforming
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.models.capacity.pace import SHORT_READINGS, Pace, PaceSeen
from penstock.core.models.estimate import NotReady


def overload(*shares: float) -> list[PaceSeen]:
    return [PaceSeen(share=share, overloaded=True) for share in shares]


def health(*shares: float) -> list[PaceSeen]:
    return [PaceSeen(share=share, overloaded=False) for share in shares]


def world(rng: random.Random) -> World:
    return World(seen=[*health(0.2, 0.3), *overload(*(rng.gauss(0.5, 0.03) for _ in range(20)))], truth=0.5)


TestConformance = conforming(empty=Pace(), world=world)


def test_the_share_is_one_until_an_overload_was_seen() -> None:
    assert Pace().share == 1.0 and Pace().learn(health(0.1, 0.4, 0.9)).share == 1.0


def test_a_few_readings_of_overload_do_not_count() -> None:
    glitch = Pace().learn(overload(0.1, 0.1) + health(0.4) + overload(0.1, 0.1))
    assert SHORT_READINGS == 3 and glitch.share == 1.0 and not glitch.is_short


def test_the_mean_over_an_overload_counts() -> None:
    pace = Pace().learn(overload(0.4, 0.5, 0.6, 0.5))
    assert pace.share == pytest.approx(0.5) and pace.is_short


def test_what_is_done_afterwards_raises_it_again_but_never_above_the_profile() -> None:
    pace = Pace().learn([*overload(0.1, 0.1, 0.1), *health(0.05, 0.8, 0.3)])
    assert pace.share == 0.8 and not pace.is_short
    assert pace.learn(health(1.7)).share == 1.0


def test_the_newest_overload_counts() -> None:
    pace = Pace().learn([*overload(0.4, 0.4, 0.4), *health(0.9), *overload(0.5, 0.5)])
    assert pace.share == 0.9
    assert pace.learn(overload(0.5)).share == pytest.approx(0.5)


def test_readings_on_both_sides_of_a_stop_are_not_in_a_row() -> None:
    assert Pace().learn(overload(0.5, 0.5)).interrupted().learn(overload(0.5)).share == 1.0
    assert Pace().learn(overload(0.5, 0.5, 0.5)).interrupted().share == 0.5


@given(st.lists(st.builds(PaceSeen, share=st.floats(0.001, 3.0), overloaded=st.booleans()), max_size=30))
def test_the_share_is_within_its_bounds_and_never_above_one(seen: list[PaceSeen]) -> None:
    pace = Pace().learn(seen)
    answer = pace.predict()
    assert 0.0 < pace.share <= 1.0
    assert isinstance(answer, NotReady) or answer.low - 1e-12 <= answer.value <= answer.high + 1e-12


def test_its_error_is_that_about_the_next_reading_of_overload_beside_a_profile_taken_as_it_is() -> None:
    score = Pace().learn([*health(0.2), *overload(*[0.5] * 5)]).score()
    assert (score.mape, score.constant_mape, score.paper_mape, score.held_out) == (0.5, 0.0, 1.0, 4)
