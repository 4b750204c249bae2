"""How wrong each form of M_L is on rows it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from penstock.core.models.latency.boosting import plain
from penstock.core.models.latency.profile import LATENCY_FORMS, VALIDITY_FORMS, LatencyForm, ProfileReading, ProfileSeen, ValidityForm
from penstock.core.models.latency.profile_fit import columns, fit, labels
from penstock.core.models.score import mape

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CHOICE_FOLDS = 5
"""Parts that a profile is held out in, to choose a form and to know its bounds."""
SCORE_FOLDS = 200
"""Parts for a score: every point of a profile by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Each row predicted by a fit that has not seen its point; `latency_s` only where `valid` says that it kept up, the others are 0."""

    truth_s: Floats
    valid: Flags
    latency_s: dict[LatencyForm, Floats]
    found_valid: dict[ValidityForm, Flags]
    constant_s: Floats
    paper_s: Floats | None

    def latency_form(self) -> LatencyForm:
        """The form with the smallest error on rows that kept up: past the knee latency grows with time, and no form of rate can know it."""
        return min(self.latency_s, key=lambda form: self.mape(self.latency_s[form]))

    def validity_form(self) -> ValidityForm:
        return max(self.found_valid, key=self.accuracy)

    def mape(self, predicted_s: Floats) -> float:
        return mape(predicted_s[self.valid].tolist(), self.truth_s[self.valid].tolist())

    def accuracy(self, form: ValidityForm) -> float:
        return float(np.mean(self.found_valid[form] == self.valid))

    def log_errors(self, form: LatencyForm) -> tuple[float, ...]:
        """ln(truth / predicted) of the rows that kept up, ascending."""
        return tuple(np.sort(np.log(self.truth_s[self.valid] / self.latency_s[form][self.valid])).tolist())


def point_groups(rows: Sequence[ProfileSeen], most: int) -> npt.NDArray[np.int64]:
    """The part that each row is held out with: rows of one (scale-out, rate) together, neighbours apart.

    >>> rows = [ProfileSeen(scaleout=s, rate_rows_per_s=r, latency_s=1.0) for s, r in [(1, 10.0), (1, 20.0), (1, 10.0), (2, 10.0)]]
    >>> point_groups(rows, most=2).tolist()
    [0, 1, 0, 0]
    """
    points = sorted({(row.scaleout, row.rate_rows_per_s) for row in rows})
    number = {point: index % most for index, point in enumerate(points)}
    return np.array([number[row.scaleout, row.rate_rows_per_s] for row in rows])


@lru_cache(maxsize=32)
def trial(rows: tuple[ProfileSeen, ...], reading: ProfileReading, most: int = CHOICE_FOLDS, with_paper: bool = False) -> Trial:
    """Hold out each part in turn. The truth of the validity is what was given, else what the clusters of the whole profile say."""
    scaleouts, rates, truth_s = columns(rows)
    valid = labels(rows, reading)
    groups = point_groups(rows, most)
    validities = VALIDITY_FORMS if reading.validity_form is None else (reading.validity_form,)
    forms = LATENCY_FORMS if reading.latency_form is None else (reading.latency_form,)
    latency_s: dict[LatencyForm, Floats] = {form: np.zeros(len(rows)) for form in forms}
    found_valid: dict[ValidityForm, Flags] = {form: np.zeros(len(rows), dtype=bool) for form in validities}
    constant_s, paper_s = np.zeros(len(rows)), np.zeros(len(rows))
    for group in np.unique(groups):
        held, kept = groups == group, groups != group
        fitted = fit.__wrapped__(tuple(row for row, keep in zip(rows, kept, strict=True) if keep), reading)
        judged = held & valid
        for latency in forms:
            if bool(judged.any()):
                latency_s[latency][judged] = fitted.latency_s(latency, validities[0], scaleouts[judged], rates[judged])
        for validity in validities:
            found_valid[validity][held] = fitted.valid(validity, scaleouts[held], rates[held])
        seen = kept & valid if bool((kept & valid).any()) else kept
        constant_s[held] = truth_s[seen].mean()
        if with_paper:
            paper_s[held] = np.exp(plain(scaleouts[kept], rates[kept], np.log(truth_s[kept])).at(scaleouts[held], rates[held]))
    return Trial(truth_s=truth_s, valid=valid, latency_s=latency_s, found_valid=found_valid, constant_s=constant_s, paper_s=paper_s if with_paper else None)
