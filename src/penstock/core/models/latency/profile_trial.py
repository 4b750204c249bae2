"""Choose the forms of M_L by their error on held-out rows, and score the choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from penstock.core.domain.profile import ProfileSeen
from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.latency.boosting import plain
from penstock.core.models.latency.profile_fit import LATENCY_FORMS, VALIDITY_FORMS, Forms, ProfileReading, ValidityForm, columns, fit, labels
from penstock.core.models.score import Score, mape

CHOICE_PARTS = 5
"""Parts of a profile for cross-validation, to choose the forms and to compute their bounds."""
SCORE_PARTS = 10
"""Parts of a profile for a score, each with its own choice of forms."""
SAME_RATE = 0.03
"""Rates within this share of each other are repetitions of one nominal rate."""
FEWEST_POINTS = 4
"""Different (executors, rate) needed for cross-validation."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """Cross-validated predictions: latencies of the rows that kept up (0 for the others), and the validity of all."""

    truth_s: Floats
    valid: Flags
    latency_s: dict[Forms, Floats]
    found_valid: dict[ValidityForm, Flags]

    @property
    def forms(self) -> Forms:
        """The validity form with the fewest errors, and with it the latency form with the smallest error on rows that kept up.

        Past the knee latency grows with time, which no form of the rate predicts.
        """
        validity = max(self.found_valid, key=self.accuracy)
        return min((forms for forms in self.latency_s if forms[1] == validity), key=self.mape)

    def mape(self, forms: Forms) -> float:
        """Return the error of a pair of forms; 0 where no row kept up."""
        return mape(self.latency_s[forms][self.valid].tolist(), self.truth_s[self.valid].tolist()) if bool(self.valid.any()) else 0.0

    def accuracy(self, form: ValidityForm) -> float:
        return float(np.mean(self.found_valid[form] == self.valid))

    @property
    def log_errors(self) -> Floats:
        """ln(truth / predicted) of the rows that kept up, by the chosen forms."""
        return np.asarray(np.log(self.truth_s[self.valid] / self.latency_s[self.forms][self.valid]))


def trial(rows: Sequence[ProfileSeen], reading: ProfileReading) -> Trial:
    """Hold out each part in turn; the true validity is the given one, else that by clusters of the whole profile."""
    executor_counts, rates, truth_s = columns(rows)
    valid = labels(rows, reading)
    validities = VALIDITY_FORMS if reading.validity_form is None else (reading.validity_form,)
    latencies = LATENCY_FORMS if reading.latency_form is None else (reading.latency_form,)
    latency_s: dict[Forms, Floats] = {forms: np.zeros(len(rows)) for forms in product(latencies, validities)}
    found_valid: dict[ValidityForm, Flags] = {form: np.zeros(len(rows), dtype=bool) for form in validities}
    for held, others in parts(rows, CHOICE_PARTS):
        fitted, judged = fit(others, reading), held & valid
        for forms, predicted_s in latency_s.items():
            predicted_s[judged] = fitted.latency_s(forms, executor_counts[judged], rates[judged]) if bool(judged.any()) else 0.0
        for validity, found in found_valid.items():
            found[held] = fitted.valid(validity, executor_counts[held], rates[held])
    return Trial(truth_s=truth_s, valid=valid, latency_s=latency_s, found_valid=found_valid)


def left_out(rows: Sequence[ProfileSeen], reading: ProfileReading) -> tuple[Score, float]:
    """Return the score of latencies on rows that kept up, and the share of rows with the right validity, held out from the choice of the forms too.

    The score compares with the mean of the rows that kept up and with plain gradient boosting.
    """
    executor_counts, rates, truth_s = columns(rows)
    valid = labels(rows, reading)
    found_valid, predicted_s = np.zeros(len(rows), dtype=bool), np.zeros((3, len(rows)))
    for held, others in parts(rows, SCORE_PARTS):
        forms, fitted = chosen(others, reading), fit(others, reading)
        known = columns(others)
        predicted_s[0, held] = fitted.latency_s(forms, executor_counts[held], rates[held])
        predicted_s[1, held] = known[2][fitted.kept_up if bool(fitted.kept_up.any()) else slice(None)].mean()
        predicted_s[2, held] = np.exp(plain(known[0], known[1], np.log(known[2])).at(executor_counts[held], rates[held]))
        found_valid[held] = fitted.valid(forms[1], executor_counts[held], rates[held])
    ours, constant, paper = (mape(each[valid].tolist(), truth_s[valid].tolist()) for each in predicted_s)
    score = Score(mape=ours, constant_mape=constant, paper_mape=paper, held_out=int(valid.sum()))
    return score, float(np.mean(found_valid == valid))


def chosen(rows: Sequence[ProfileSeen], reading: ProfileReading) -> Forms:
    """Return the requested forms, else those chosen by a trial, else the first ones where there are too few points for a trial."""
    if reading.latency_form is not None and reading.validity_form is not None:
        return reading.latency_form, reading.validity_form
    if points(rows) < FEWEST_POINTS:
        return reading.latency_form or LATENCY_FORMS[0], reading.validity_form or VALIDITY_FORMS[0]
    return trial(rows, reading).forms


def points(rows: Sequence[ProfileSeen]) -> int:
    """Count the different (executors, rate) that were profiled."""
    return int(point_numbers(rows).max()) + 1 if rows else 0


def point_numbers(rows: Sequence[ProfileSeen]) -> npt.NDArray[np.int64]:
    """Number the different (executors, rate) in their order and return the number of each row; rates that hardly differ are repetitions.

    >>> rows = [ProfileSeen(executors=s, rate_rows_per_s=r, latency_s=1.0) for s, r in [(2, 10.1), (1, 20.0), (2, 10.0), (1, 10.0)]]
    >>> point_numbers(rows).tolist()
    [2, 1, 2, 0]
    """
    numbers = np.zeros(len(rows), dtype=np.int64)
    number, executors, lowest = -1, 0, 0.0
    for place in sorted(range(len(rows)), key=lambda each: (rows[each].executors, rows[each].rate_rows_per_s)):
        row = rows[place]
        if row.executors != executors or row.rate_rows_per_s > lowest * (1 + SAME_RATE):
            number, executors, lowest = number + 1, row.executors, row.rate_rows_per_s
        numbers[place] = number
    return numbers


def parts(rows: Sequence[ProfileSeen], most: int) -> Iterator[tuple[Flags, list[ProfileSeen]]]:
    """Yield which rows are held out, and the others; rows of one (executors, rate) stay together, neighbours are apart.

    >>> rows = [ProfileSeen(executors=s, rate_rows_per_s=r, latency_s=1.0) for s, r in [(1, 10.0), (1, 20.0), (1, 10.0), (2, 10.0)]]
    >>> [held.tolist() for held, _ in parts(rows, most=2)]
    [[True, False, True, True], [False, True, False, False]]
    """
    groups = point_numbers(rows) % most
    for group in np.unique(groups):
        yield groups == group, [row for row, each in zip(rows, groups, strict=True) if each != group]
