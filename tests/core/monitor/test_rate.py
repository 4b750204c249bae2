"""The rate of a counter does not depend on how often somebody looks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.monitor.window import Samples, rate_per_s, sampled

LEAST_S = 2.5


@given(rate=st.floats(0.0, 1e5), gaps_s=st.lists(st.floats(0.001, 20.0), min_size=1, max_size=30))
@settings(deadline=None)
def test_a_counter_of_whole_rows_has_its_rate_within_a_row_or_two_however_often_it_is_read(rate: float, gaps_s: list[float]) -> None:
    samples: Samples = ()
    at_s = began_s = 50.0
    for gap_s in (0.0, *gaps_s):
        at_s += gap_s
        samples = sampled(samples, at_s, math.floor(rate * at_s), LEAST_S)
    found = rate_per_s(samples, LEAST_S)
    assert found == pytest.approx(rate, abs=1.001 / min(LEAST_S, at_s - began_s), rel=1e-9)


@given(st.lists(st.floats(0.001, 20.0), max_size=100))
@settings(deadline=None)
def test_only_samples_that_are_still_needed_are_kept(gaps_s: list[float]) -> None:
    samples: Samples = ()
    at_s = 0.0
    for gap_s in gaps_s:
        at_s += gap_s
        samples = sampled(samples, at_s, at_s, LEAST_S)
    assert sum(at_s - sample[0] >= LEAST_S for sample in samples) <= 1


def test_one_sample_is_no_rate_and_neither_are_two_of_the_same_moment() -> None:
    once = sampled((), 1.0, 10.0, LEAST_S)
    assert rate_per_s(once, LEAST_S) is None
    assert rate_per_s(sampled(once, 1.0, 11.0, LEAST_S), LEAST_S) is None


def test_a_counter_that_does_not_tell_has_no_rate_and_begins_anew() -> None:
    known = sampled(sampled((), 0.0, 0.0, LEAST_S), 5.0, 50.0, LEAST_S)
    assert sampled(known, 10.0, None, LEAST_S) == ()


def test_a_counter_that_went_back_stands_still() -> None:
    assert rate_per_s(((0.0, 100.0), (5.0, 0.0)), LEAST_S) == 0.0
