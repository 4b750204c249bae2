from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pytest

from penstock.core.models.arrays import Floats
from penstock.core.models.surrogate.choice import choose, groups_of
from penstock.core.models.surrogate.crossvalidation import LeaveOut, Trials, interval_groups
from penstock.core.models.surrogate.linear import LogLinear, Plane
from penstock.core.models.surrogate.points import Points
from penstock.core.models.surrogate.study import Study

INTERVALS = np.repeat([10.0, 30.0, 60.0, 90.0], 5)
RATES = np.tile([100.0, 200.0, 300.0, 400.0, 500.0], 4)
GRID = Points(interval_s=INTERVALS, rate=RATES)
ALL = np.ones(20, dtype=bool)
LOG = LogLinear(name="log", scale="log")


@dataclass(frozen=True)
class Flat:
    """A form with a constant answer, which records the rows that it was fitted to."""

    name: str = "flat"
    shown: list[Floats] = field(default_factory=list)
    parameters: Mapping[str, float] = field(default_factory=dict)

    def fit(self, points: Points, seen: Floats) -> Self:
        self.shown.append(seen)
        return self

    def at(self, points: Points) -> Floats:
        return np.full(len(points), 100.0)


def test_the_form_that_fits_unseen_intervals_is_chosen() -> None:
    choice = choose(Trials(GRID, 3 * INTERVALS**0.5 * RATES), [Plane(), LOG, Flat()], ALL)
    assert choice.name == "log" and min(choice.errors, key=choice.errors.__getitem__) == "log"


def test_forms_that_are_equally_good_share_the_answer() -> None:
    choice = choose(Trials(GRID, np.full(20, 100.0)), [Flat(), Flat(name="other")], ALL)
    assert choice.name == "flat + other" and choice.at(GRID) == pytest.approx(np.full(20, 100.0))


def test_scoring_never_fits_a_form_to_held_out_rows() -> None:
    seen, flat = np.arange(1.0, 21.0), Flat()
    for leave_out, fold in ((LeaveOut.ONE, 1), (LeaveOut.INTERVAL, 5)):
        flat.shown.clear()
        assert Study(GRID, seen, [flat]).score(leave_out).held_out == 20
        assert max(len(shown) for shown in flat.shown) == 20 - fold


@dataclass(frozen=True)
class Endless(Flat):
    """A form whose answer for the highest rate is never."""

    def at(self, points: Points) -> Floats:
        return np.where(points.rate > 400, np.inf, 100.0)


def test_infinite_answers_are_counted_and_each_is_an_error_of_100_per_cent() -> None:
    study = Study(GRID, np.full(20, 80.0), [Endless()])
    score = study.score(LeaveOut.INTERVAL)
    assert (score.never, score.held_out) == (4, 20) and score.mape == pytest.approx((16 * 0.25 + 4 * 1.0) / 20)
    assert study.candidates(LeaveOut.INTERVAL) == {Endless().name: pytest.approx(score.mape)}


def test_identical_rows_of_one_interval_are_held_out_together() -> None:
    points = Points(interval_s=np.full(6, 30.0), rate=np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]))
    trials = Trials(points, np.array([5.0, 6.0, 7.0, 5.0, 6.0, 7.0]))
    assert groups_of(trials, np.ones(6, dtype=bool)).tolist() == [0, 1, 2, 0, 1, 2]
    assert len(np.unique(groups_of(Trials(points, np.full(6, 5.0)), points.rate == 1.0)[points.rate == 1.0])) == 2, "where all are identical, some are held out"


def test_the_interval_held_out_by_a_score_is_in_no_fit_at_all() -> None:
    seen, flat = np.asarray(interval_groups(INTERVALS) + 1.0, dtype=float), Flat()
    Study(GRID, seen, [flat]).score(LeaveOut.INTERVAL)
    assert all(len(np.unique(shown)) <= 3 for shown in flat.shown)
    assert sorted(tuple(np.unique(shown)) for shown in flat.shown if len(np.unique(shown)) == 3) == [(1, 2, 3), (1, 2, 4), (1, 3, 4), (2, 3, 4)]


def test_all_forms_have_the_same_weight_on_a_single_row() -> None:
    choice = choose(Trials(GRID, np.full(20, 70.0)), [Plane(), LOG], np.arange(20) == 3)
    assert choice.shares.tolist() == [0.5, 0.5] and choice.at(GRID) == pytest.approx(np.full(20, 70.0))


def test_rows_of_one_interval_are_held_out_row_by_row() -> None:
    seen, flat = np.arange(1.0, 21.0), Flat()
    choose(Trials(GRID, seen), [flat], INTERVALS == 30)
    assert sorted(len(shown) for shown in flat.shown) == [4, 4, 4, 4, 4, 5]


def test_a_fit_to_the_same_rows_is_made_once() -> None:
    flat, trials = Flat(), Trials(GRID, RATES)
    assert trials.fit(flat, ALL) is trials.fit(flat, ALL) and len(flat.shown) == 1
