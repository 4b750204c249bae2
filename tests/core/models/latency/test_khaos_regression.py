"""Khaos's M_L: it conforms, and it generalises to intervals it has not seen."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from conformance import Case, Conformance, World
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.bench.worlds.khaos import LATENCIES, latencies
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.regression import LatencyRegression, LatencySeen
from penstock.core.models.score import Score


def world(chance: random.Random) -> World:
    """A noisy job on a small grid; the truth is one more noisy reading at an interval that was not seen."""
    base, pause = chance.uniform(0.4, 0.6), chance.uniform(0.5, 2)

    def latency(interval_s: float, rate: float) -> float:
        return (base + pause / interval_s + rate / 5000) * chance.lognormvariate(0, 0.1)

    places = [(interval, rate * chance.uniform(0.98, 1.02)) for interval in (10, 40, 100) for rate in (150, 300, 450, 600)]
    chance.shuffle(places)
    seen = [LatencySeen(interval_s=interval, rate_rows_per_s=rate, latency_s=latency(interval, rate)) for interval, rate in places]
    return World(seen=seen, truth=latency(55, 400))


class TestLatencyRegression(Conformance):
    case = Case(empty=LatencyRegression(), world=world, ask=lambda model: model.predict(55, 400))


@pytest.mark.parametrize("kind", LATENCIES)
def test_it_predicts_an_interval_it_has_not_seen_no_worse_than_the_plane_and_better_than_the_constant(kind: str) -> None:
    scores = [LatencyRegression().learn(latencies(kind, seed)).score("interval") for seed in (1, 2, 3)]
    ours, planes, constants = (np.mean([getattr(score, name) for score in scores]) for name in ("mape", "paper_mape", "constant_mape"))
    assert ours < 1.02 * planes and ours < constants


LEARNT = LatencyRegression().learn(latencies("shaken", 5))
TOP = max(each.rate_rows_per_s for each in LEARNT.seen)


@settings(max_examples=50)
@given(st.floats(1, 1000), st.floats(0, 10))
def test_no_answer_is_negative_infinite_or_without_order(interval_s: float, share: float) -> None:
    answer = LEARNT.predict(interval_s, share * TOP)
    assert isinstance(answer, Estimate) and 0 <= answer.low <= answer.value <= answer.high < math.inf


def test_bounds_widen_where_nothing_was_seen() -> None:
    inside, outside = LEARNT.predict(45, 0.8 * TOP), LEARNT.predict(2, 0.8 * TOP)
    assert isinstance(inside, Estimate) and isinstance(outside, Estimate)
    assert outside.high / outside.low > inside.high / inside.low


def test_below_four_readings_it_says_how_many_are_missing() -> None:
    assert LatencyRegression().learn(LEARNT.seen[:2]).predict(10, 100) == NotReady(why="2 latencies seen, 4 needed")


def test_with_one_interval_it_still_learns_the_rate() -> None:
    model = LatencyRegression().learn([LatencySeen(interval_s=30, rate_rows_per_s=rate, latency_s=0.4 + rate / 1000) for rate in range(100, 900, 100)])
    answer = model.predict(30, 450)
    assert isinstance(answer, Estimate) and answer.value == pytest.approx(0.85, rel=0.05)
    assert isinstance(model.score("interval"), NotReady) and isinstance(model.score("one"), Score)


def test_latency_that_grows_with_the_interval_is_learnt_too() -> None:
    """As in micro-batches, where rows wait for the trigger."""
    rows = [LatencySeen(interval_s=i, rate_rows_per_s=r, latency_s=i / 2 + 1 + r / 500) for i in (2, 5, 10, 20) for r in (100, 300, 500)]
    model = LatencyRegression().learn(rows)
    short, long = model.predict(4, 300), model.predict(15, 300)
    assert isinstance(short, Estimate) and isinstance(long, Estimate) and short.value < long.value


@pytest.mark.parametrize("wrong", [{"interval_s": -1.0}, {"rate_rows_per_s": math.nan}, {"latency_s": 0.0}, {"scaleout": 0}])
def test_what_cannot_have_been_seen_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"latency|worker"):
        LatencySeen(**{"interval_s": 10.0, "rate_rows_per_s": 1.0, "latency_s": 0.5, **wrong})  # type: ignore[arg-type]
