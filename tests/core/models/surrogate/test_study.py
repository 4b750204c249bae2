import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from conformance import Case, Conformance, World

from penstock.core.models.estimate import NotReady
from penstock.core.models.latency.latency_regression import LatencyRegression, LatencySeen
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoverySeen
from penstock.core.models.score import Score
from penstock.core.models.surrogate.crossvalidation import LeaveOut
from penstock.core.models.surrogate.study import MOST_SEEN
from penstock.selftest.worlds.khaos import LATENCIES, RECOVERIES, latencies, recoveries


def recovery_seen(interval_s: float, rate: float, value: float) -> RecoverySeen:
    return RecoverySeen(interval_s=interval_s, rate_rows_per_s=rate, recovery_s=value)


def latency_seen(interval_s: float, rate: float, value: float) -> LatencySeen:
    return LatencySeen(interval_s=interval_s, rate_rows_per_s=rate, latency_s=value)


def on_a_small_grid(chance: random.Random, seen: Callable[[float, float, float], Any], truth: Callable[[float, float], float]) -> World:
    """A noisy job; the truth is one more noisy measurement at an interval that was not seen."""
    places = [(interval, rate * chance.uniform(0.98, 1.02)) for interval in (10, 40, 100) for rate in (150, 300, 450, 600)]
    chance.shuffle(places)
    noisy = [seen(interval, rate, truth(interval, rate) * chance.lognormvariate(0, 0.1)) for interval, rate in places]
    return World(seen=noisy, truth=truth(55, 400) * chance.lognormvariate(0, 0.1))


def recovery_world(chance: random.Random) -> World:
    downtime, capacity = chance.uniform(40, 80), chance.uniform(900, 1100)
    return on_a_small_grid(chance, recovery_seen, lambda interval, rate: downtime + rate * (interval + downtime) / (capacity - rate))


def latency_world(chance: random.Random) -> World:
    base, pause = chance.uniform(0.4, 0.6), chance.uniform(0.5, 2)
    return on_a_small_grid(chance, latency_seen, lambda interval, rate: base + pause / interval + rate / 5000)


class Regression(Conformance):
    """A subclass provides the empty model, an observation, the kinds of worlds, and a world."""

    empty: RecoveryRegression | LatencyRegression
    seen: Callable[[float, float, float], Any]
    kinds: Sequence[str]
    rows: Callable[..., list[Any]]

    @pytest.mark.parametrize("grid", [{}, {"intervals_s": (10.0, 40.0, 80.0, 120.0), "rates": 4}])
    def test_it_predicts_an_interval_it_has_not_seen_better_than_the_plane_and_the_constant(self, grid: dict[str, Any]) -> None:
        """Over all kinds of worlds, on a full grid and on sixteen rows."""
        scores = [self.empty.learn(self.rows(kind, 1, **grid)).score(LeaveOut.INTERVAL) for kind in self.kinds]
        ours, plane, constant = (float(np.mean([getattr(score, name) for score in scores])) for name in ("mape", "paper_mape", "constant_mape"))
        assert ours < 0.95 * plane and ours < constant

    def test_below_four_rows_it_says_how_many_are_missing(self) -> None:
        model = self.empty.learn(self.rows(self.kinds[0], 1)[:3])
        assert model.predict(10, 100) == model.score() and "3 " in model.score().why and "4 needed" in model.score().why
        assert model.form is None and not model.parameters and not model.candidates() and not model.inside(45, 100)

    @pytest.mark.parametrize("rows", [4, 5, 7])
    def test_a_handful_of_rows_gives_an_answer_of_their_size(self, rows: int) -> None:
        places = [(10.0, 200.0), (60.0, 400.0), (120.0, 300.0), (30.0, 500.0), (90.0, 100.0), (10.0, 500.0), (120.0, 500.0)][:rows]
        model = self.empty.learn([self.seen(interval, rate, 50 + interval / 2 + rate / 10) for interval, rate in places])
        assert model.predict(60, 300).value == pytest.approx(110, rel=0.25)

    def test_with_one_interval_it_still_learns_the_rate_but_has_none_to_leave_out(self) -> None:
        model = self.empty.learn([self.seen(30, rate, 40 + rate / 10) for rate in range(100, 900, 100)])
        assert model.predict(30, 450).value == pytest.approx(85, rel=0.06)
        assert isinstance(model.score(LeaveOut.INTERVAL), NotReady) and isinstance(model.score(LeaveOut.ONE), Score)

    def test_with_one_rate_it_still_learns_the_interval(self) -> None:
        model = self.empty.learn([self.seen(interval, 500, 30 + interval / 2) for interval in (10, 20, 40, 60, 90, 120)])
        assert model.predict(50, 500).value == pytest.approx(55, rel=0.1)

    def test_rows_seen_twice_change_little_and_are_held_out_together(self) -> None:
        seen = self.rows(self.kinds[0], 8)[::4]
        rate = 0.6 * max(each.rate_rows_per_s for each in seen)
        once, twice = self.empty.learn(seen), self.empty.learn(seen * 2)
        assert twice.predict(45, rate).value == pytest.approx(once.predict(45, rate).value, rel=0.05)
        assert twice.score(LeaveOut.ONE).mape == pytest.approx(once.score(LeaveOut.ONE).mape, rel=0.2)
        assert twice.study.parts(LeaveOut.ONE) == once.study.parts(LeaveOut.ONE)

    def test_identical_rows_are_a_constant_and_leave_none_to_predict(self) -> None:
        model = self.empty.learn([self.seen(10, 100, 77)] * 6)
        assert model.predict(10, 100).value == pytest.approx(77, rel=0.02)
        assert isinstance(model.score(LeaveOut.ONE), NotReady)

    def test_it_flags_what_lies_outside_of_the_recorded_rates_and_intervals(self) -> None:
        model = self.empty.learn(self.rows(self.kinds[0], 5))
        top = max(each.rate_rows_per_s for each in model.seen)
        assert model.inside(45, 0.8 * top)
        assert not model.inside(45, 1.1 * top) and not model.inside(5, 0.8 * top) and not model.inside(130, 0.8 * top)

    def test_bounds_widen_where_nothing_was_seen(self) -> None:
        model = self.empty.learn(self.rows(self.kinds[0], 5))
        rate = 0.8 * max(each.rate_rows_per_s for each in model.seen)
        inside, outside = model.predict(45, rate), model.predict(2, rate)
        assert outside.high / outside.low > inside.high / inside.low

    def test_no_answer_is_negative_or_without_order(self) -> None:
        model = self.empty.learn(self.rows(self.kinds[-1], 5))
        top = max(each.rate_rows_per_s for each in model.seen)
        for interval in np.geomspace(1, 1000, 7):
            for share in (0.0, 0.3, 1.0, 1.5, 10.0):
                assert model.predict(float(interval), share * top).low >= 0

    def test_whatever_was_seen_it_answers_in_order_and_scores(self) -> None:
        rng = np.random.default_rng(0)
        for rows in (4, 5, 6):
            table = np.column_stack([10 ** rng.uniform(-1, 4, rows), 10 ** rng.uniform(-1, 7, rows) * rng.integers(0, 2, rows), 10 ** rng.uniform(-3, 5, rows)])
            model = self.empty.learn([self.seen(*row) for row in table.tolist()])
            assert model.predict(*table[0, :2].tolist()).low >= 0
            assert isinstance(score := model.score(), NotReady) or score.mape >= 0

    def test_it_names_its_form_and_the_error_of_every_candidate(self) -> None:
        model = self.empty.learn(self.rows(self.kinds[0], 5))
        assert set(model.form.split(" + ")) <= set(model.candidates()) and model.parameters
        assert {"plane", "log interaction"} <= set(model.candidates())

    def test_only_the_newest_rows_are_kept(self) -> None:
        seen = [self.seen(10, number, 60) for number in range(MOST_SEEN + 5)]
        assert self.empty.learn(seen[:7]).learn(seen[7:]).seen == tuple(seen[5:])

    @pytest.mark.parametrize("wrong", [(0.0, 1.0, 1.0), (-1.0, 1.0, 1.0), (10.0, -1.0, 1.0), (10.0, math.nan, 1.0), (10.0, 1.0, 0.0), (10.0, 1.0, math.inf)])
    def test_what_cannot_have_been_seen_is_refused(self, wrong: tuple[float, float, float]) -> None:
        with pytest.raises(ValueError, match="needs a positive interval"):
            self.seen(*wrong)


class TestRecovery(Regression):
    empty, seen, kinds, rows = RecoveryRegression(), staticmethod(recovery_seen), tuple(RECOVERIES), staticmethod(recoveries)
    case = Case(empty=RecoveryRegression(), world=recovery_world, ask=lambda model: model.predict(55, 400))


class TestLatency(Regression):
    empty, seen, kinds, rows = LatencyRegression(), staticmethod(latency_seen), tuple(LATENCIES), staticmethod(latencies)
    case = Case(empty=LatencyRegression(), world=latency_world, ask=lambda model: model.predict(55, 400))
