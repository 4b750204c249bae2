"""Which forms to believe: each as much as it was right on intervals it had not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.surrogate.correction import Corrected
from penstock.core.models.surrogate.crossvalidation import Groups, Trials, different_rows, interval_groups, row_groups
from penstock.core.models.surrogate.points import Fitted, Form, Points

SHARPNESS = 8.0
"""A form with twice the error of the best has two to the power of this less to say."""

LEAST_SHARE = 0.05
"""Forms with less than this share of the say are left out."""

LEAST_ERROR = 1e-4
"""Errors below this are equally good: the rest is arithmetic."""

WORST = float(np.log(10.0))
"""No single row speaks louder than an answer ten times too high or too low: an infinite one counts as this."""

INTERVALS_HELD_OUT = 8
ROWS_HELD_OUT = 10
"""The most parts into which rows are divided for the choice, by interval or, if there is but one interval, row by row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """The forms that have a say, the best first, fitted; and the held-out error of every form that was tried."""

    forms: tuple[Form, ...]
    fits: tuple[Fitted, ...]
    shares: Floats
    errors: Mapping[str, float]

    @property
    def name(self) -> str:
        """A corrected form is not named beside the form itself."""
        return " + ".join(form.name for form in self.forms if not (isinstance(form, Corrected) and form.base in self.forms))

    def fitted_to(self, trials: Trials, rows: Flags) -> Chosen:
        """The same forms with the same say, fitted to other rows."""
        return replace(self, fits=tuple(trials.fit(form, rows) for form in self.forms))

    def at(self, points: Points) -> Floats:
        return together([fit.at(points) for fit in self.fits], self.shares)

    def apart_at(self, points: Points) -> tuple[Floats, Floats]:
        """The least and the greatest answer of the forms that have a say: far from the rows they part, each with its own idea of how things go on."""
        table = np.array([fit.at(points) for fit in self.fits])
        return table.min(axis=0), table.max(axis=0)


def choose(trials: Trials, forms: Sequence[Form], rows: Flags) -> Chosen:
    """Give each form its say by leaving one interval of these rows out after the other; then fit those that have one to all of the rows."""
    errors = LEAST_ERROR + np.array([_held_out_error(trials, form, rows) for form in forms])
    shares = errors**-SHARPNESS / (errors**-SHARPNESS).sum()
    chosen = [int(index) for index in np.argsort(errors, kind="stable") if shares[index] >= LEAST_SHARE]
    return Chosen(
        forms=tuple(forms[index] for index in chosen),
        fits=tuple(trials.fit(forms[index], rows) for index in chosen),
        shares=shares[chosen],
        errors={form.name: float(error) for form, error in zip(forms, errors, strict=True)},
    )


def groups_of(trials: Trials, rows: Flags) -> Groups:
    """By interval where these rows have two or more, else row by row."""
    groups = interval_groups(trials.points.interval_s, most=INTERVALS_HELD_OUT)
    if len(np.unique(groups[rows])) == 1:
        groups[rows] = by_row(trials.points.where(rows), trials.seen[rows])
    return groups


def by_row(points: Points, seen: Floats) -> Groups:
    """Each row by itself or with some others, those that are the same together; where all are, nothing else is left than to hold out some of them."""
    different = different_rows(points, seen)
    return np.asarray(different % ROWS_HELD_OUT) if np.any(different) else row_groups(len(seen), most=ROWS_HELD_OUT)


def _held_out_error(trials: Trials, form: Form, rows: Flags) -> float:
    """Zero for a single row, of which nothing can be held out: all forms then have the same say."""
    return log_error(trials.held_out(form, rows, groups_of(trials, rows)), trials.seen[rows]) if rows.sum() > 1 else 0.0


def log_error(predicted: Floats, actual: Floats) -> float:
    """Mean absolute error of the logarithm: 0.1 is about ten per cent, whichever way.

    >>> round(log_error(np.array([110.0, np.inf]), np.array([100.0, 100.0])), 3)
    1.199
    """
    return float(np.minimum(np.abs(np.log(predicted) - np.log(actual)), WORST).mean())


def together(answers: Sequence[Floats], shares: Floats) -> Floats:
    """The weighted median of the finite answers, which one form that goes astray cannot move far; infinite where more than half of the say is for that.

    Between the two answers in the middle it is interpolated in the logarithm.

    >>> together([np.array([4.0, np.inf]), np.array([9.0, 9.0]), np.array([5.0, np.inf])], np.ones(3)).round(6).tolist()
    [5.0, inf]
    """
    table = np.array(answers)
    finite = np.isfinite(table)
    logs = np.log(np.where(finite, table, 1.0))
    never = finite.T @ shares < 0.5 * shares.sum()
    middle = [_weighted_median(logs[known, column], shares[known]) if not never[column] else np.inf for column, known in enumerate(finite.T)]
    return np.asarray(np.exp(middle), dtype=float)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    ranks = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(0.5 * weights.sum(), ranks, values[order]))
