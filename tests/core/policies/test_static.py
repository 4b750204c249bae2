"""A fixed size."""

from __future__ import annotations

import pytest
from assessed import assessed, under

from penstock.core.domain.job import Limits
from penstock.core.policies.baselines import Static


@pytest.mark.parametrize("load", [0.0, 350.0, 5000.0])
def test_no_load_moves_it(load: float) -> None:
    assert Static().decide(under(load)).executors == 4


def test_it_goes_to_what_is_declared_and_says_so() -> None:
    decision = Static().decide(assessed(current=4, declared=6))
    assert (decision.executors, decision.direction, decision.why.code) == (6, "up", "as_declared")


def test_a_number_of_its_own_beats_what_is_declared() -> None:
    assert Static(executors=2).decide(assessed(declared=6)).executors == 2


def test_it_stays_within_the_limits() -> None:
    assert Static(executors=40).decide(assessed()).executors == 12
    assert Static().decide(assessed(declared=2, limits=Limits(min_executors=3, max_executors=5))).executors == 3


def test_nothing_is_learnt_for_it() -> None:
    assert Static().needs == frozenset()
