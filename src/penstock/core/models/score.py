"""How wrong a model is on what it has not seen, beside two models that anyone could have had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Errors on held-out rows: of the model, of the constant one (the mean of what was seen), and of the paper's plain regression where there is one."""

    mape: float
    constant_mape: float
    paper_mape: float | None
    held_out: int
    never: int = 0
    """Of these, rows of which the model said that it never ends: each counts as an error of 100 %."""


def mape(predicted: Sequence[float], actual: Sequence[float]) -> float:
    """Mean absolute error as a share of the truth; every truth must be positive.

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
