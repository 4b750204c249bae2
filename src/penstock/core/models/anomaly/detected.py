"""How wrong a detector is about how long a job needed to recover, where the truth is known: in experiments, and on generated data."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.models.anomaly.recovered import RecoveryMeasured
from penstock.core.models.estimate import NotReady
from penstock.core.models.score import Score, mape

FEWEST = 2
"""A constant is the mean of the others: with a single one there is none."""


def score_detected(true: Sequence[RecoveryMeasured], found: Sequence[RecoveryMeasured], plain: Sequence[RecoveryMeasured]) -> Score | NotReady:
    """Errors of the recoveries found, beside the mean of all others and those that the paper's plain detector found.

    Each true one is held against the longest that overlaps with it. One that nobody found counts as an error of 100 %.

    >>> true = [RecoveryMeasured(kind="executor_loss", started_s=at_s, recovered_s=at_s + 100.0) for at_s in (0.0, 1000.0)]
    >>> found = [RecoveryMeasured(kind="unannounced", started_s=4.0, recovered_s=94.0)]
    >>> score_detected(true, found, plain=[])
    Score(mape=0.55, constant_mape=0.0, paper_mape=1.0, held_out=2, never=1)
    """
    if len(true) < FEWEST:
        return NotReady(why=f"{len(true)} recoveries are known, {FEWEST} are needed")
    took_s = [each.recovery_s for each in true]
    others_s = [(sum(took_s) - each) / (len(took_s) - 1) for each in took_s]
    measured_s = [_longest_s(each, found) for each in true]
    return Score(
        mape=mape([each or 0.0 for each in measured_s], took_s),
        constant_mape=mape(others_s, took_s),
        paper_mape=mape([_longest_s(each, plain) or 0.0 for each in true], took_s),
        held_out=len(true),
        never=sum(each is None for each in measured_s),
    )


def _longest_s(true: RecoveryMeasured, found: Sequence[RecoveryMeasured]) -> float | None:
    within = (each for each in found if each.started_s < true.recovered_s and each.recovered_s > true.started_s)
    return max((each.recovery_s for each in within), default=None)
