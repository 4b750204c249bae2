"""The error of a model on data it has not seen, beside the errors of a constant and of the paper's plain model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.models.estimate import NotReady


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Errors on held-out rows: of the model, of the constant one (the mean of what was seen), and of the paper's plain regression where there is one."""

    mape: float
    constant_mape: float
    paper_mape: float | None
    held_out: int
    never: int = 0
    """Rows among these for which the model predicted an infinite duration: each counts as an error of 100 %."""


def mape(predicted: Sequence[float], actual: Sequence[float]) -> float:
    """Return mean absolute error as a share of the truth; every truth must be positive.

    >>> mape([90.0, 110.0], [100.0, 100.0])
    0.1
    """
    truth = np.asarray(actual, dtype=float)
    return float(np.mean(np.abs(np.asarray(predicted, dtype=float) - truth) / truth))


def wape(predicted: Sequence[float], actual: Sequence[float]) -> float:
    """Sum of absolute errors over the sum of the truth.

    >>> wape([1.0, 3.0], [2.0, 2.0])
    0.5
    """
    truth = np.asarray(actual, dtype=float)
    return float(np.abs(np.asarray(predicted, dtype=float) - truth).sum() / np.abs(truth).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class PrequentialErrors:
    """Sums of relative errors in predicting the next value before learning it: for models that keep no rows to hold out.

    Beside the model, they are those of the mean of all values before and of the paper's plain model.

    >>> errors = PrequentialErrors().with_one(10.0, None, 8.0).with_one(20.0, 15.0, 10.0)
    >>> errors.score()
    Score(mape=0.25, constant_mape=0.5, paper_mape=0.5, held_out=1, never=0)
    """

    seen: int = 0
    mean: float = 0.0
    """Mean of the values seen: the constant's next prediction."""
    scored: int = 0
    error: float = 0.0
    constant_error: float = 0.0
    paper_error: float | None = 0.0
    """None where the paper has no prediction."""

    def with_one(self, truth: float, predicted: float | None, by_paper: float | None) -> Self:
        """Add a true value above 0; it is scored if the model had a prediction and a value was seen before."""
        more = replace(self, seen=self.seen + 1, mean=self.mean + (truth - self.mean) / (self.seen + 1))
        if predicted is None or not self.seen:
            return more
        paper_error = None if by_paper is None or self.paper_error is None else self.paper_error + abs(by_paper / truth - 1.0)
        errors = self.error + abs(predicted / truth - 1.0), self.constant_error + abs(self.mean / truth - 1.0)
        return replace(more, scored=self.scored + 1, error=errors[0], constant_error=errors[1], paper_error=paper_error)

    def score(self) -> Score | NotReady:
        if not self.scored:
            return NotReady(why=f"{self.seen} seen so far, none of which was predicted")
        paper = None if self.paper_error is None else self.paper_error / self.scored
        return Score(mape=self.error / self.scored, constant_mape=self.constant_error / self.scored, paper_mape=paper, held_out=self.scored)
