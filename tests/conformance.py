import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.score import Score
from penstock.stores.codec import decode, encode

SEEDS = range(40)
COVERED_AT_LEAST, COVERED_AT_MOST = 0.65, 0.95
"""Bounds that promise 0.8 and are honest fall below the first once in a hundred suites, and exceed the second more seldom still."""
DETECTS = "it says when a job is not as it was: its error is that of the recoveries measured by it (test_khaos_detector.py)"


@dataclass(frozen=True, kw_only=True)
class World:
    """Data with a known truth: what was seen, and the answer to what `ask` asks after all of it was learnt."""

    seen: Sequence[Any]
    truth: float


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model under test: empty, a world for each seed, and the question; `wide` says why its bounds hold more often than they promise, where they may.

    `score` asks for its errors; `taught` teaches it what is scored, where that takes more than `learn` of what was seen; `unscored` says why it has none.
    """

    empty: Any
    world: Callable[[random.Random], World]
    ask: Callable[[Any], Estimate | NotReady] = lambda model: model.predict()
    wide: str = ""
    score: Callable[[Any], Score | NotReady] = lambda model: model.score()
    taught: Callable[[Any, Sequence[Any]], Any] = lambda model, seen: model.learn(seen)
    unscored: str = ""


class Conformance:
    """The checks; inherit them and give `case` where a class has more of its own, else use `conforming`."""

    case: Case

    def test_before_anything_was_learnt_it_says_not_ready_and_why(self) -> None:
        answer = self.case.ask(self.case.empty)
        assert isinstance(answer, NotReady) and answer.why

    def test_it_learns_the_same_in_any_batching(self) -> None:
        seen = list(self.case.world(random.Random(1)).seen)
        whole = self.answer(self.case.empty.learn(seen))
        for size in (1, 3, 7):
            model = self.case.empty
            for start in range(0, len(seen), size):
                model = model.learn(seen[start : start + size])
            pieces = self.answer(model)
            assert [pieces.value, pieces.low, pieces.high] == pytest.approx([whole.value, whole.low, whole.high], rel=1e-6)

    def test_learning_leaves_the_old_model_as_it_was(self) -> None:
        seen = self.case.world(random.Random(2)).seen
        model = self.case.empty.learn(seen[: len(seen) // 2])
        before = encode(model)
        model.learn(seen[len(seen) // 2 :])
        assert encode(model) == before

    def test_its_state_goes_through_json_and_back(self) -> None:
        model = self.case.empty.learn(self.case.world(random.Random(3)).seen)
        again = decode(type(model), encode(model))
        assert again == model
        assert self.case.ask(again) == self.case.ask(model)

    def test_its_bounds_hold_the_truth_as_often_as_they_promise(self) -> None:
        worlds = [self.case.world(random.Random(seed)) for seed in SEEDS]
        answers = [self.answer(self.case.empty.learn(world.seen)) for world in worlds]
        covered = sum(answer.low <= world.truth <= answer.high for answer, world in zip(answers, worlds, strict=True)) / len(worlds)
        assert covered >= COVERED_AT_LEAST, f"the bounds promise 0.8 and held {covered:.0%}"
        assert self.case.wide or covered <= COVERED_AT_MOST, f"the bounds promise 0.8 and held {covered:.0%}: too wide to be of use"

    def test_it_reports_its_error_beside_that_of_a_constant_and_that_of_the_paper(self) -> None:
        if self.case.unscored:
            assert not hasattr(self.case.empty, "score"), "it has a score: let it be asked for"
            return
        nothing = self.case.score(self.case.empty)
        assert isinstance(nothing, NotReady) and nothing.why
        model = self.case.taught(self.case.empty, self.case.world(random.Random(4)).seen)
        score = self.case.score(model)
        assert isinstance(score, Score), score
        errors = score.mape, score.constant_mape, score.paper_mape
        assert score.held_out > 0 and all(error is not None and math.isfinite(error) and error >= 0.0 for error in errors)
        assert self.case.score(decode(type(model), encode(model))) == score

    def answer(self, model: Any) -> Estimate:
        answer = self.case.ask(model)
        assert isinstance(answer, Estimate), answer
        return answer


def conforming(**case: Any) -> type[Conformance]:
    """Return the checks of one model, which pytest collects by the name that a test module gives them."""
    return type("Conforming", (Conformance,), {"case": Case(**case)})
