"""The choice of forms, weighted by their error on held-out intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.surrogate.correction import Corrected
from penstock.core.models.surrogate.crossvalidation import Groups, Trials, different_rows, interval_groups, row_groups
from penstock.core.models.surrogate.points import Fitted, Form, Points

SHARPNESS = 8.0
"""A form with twice the error of the best has a weight 2 to this power smaller."""

LEAST_SHARE = 0.05
"""Forms with a smaller weight are left out."""

LEAST_ERROR = 1e-4
"""Errors below this count as equal."""

WORST = float(np.log(10.0))
"""Errors are clipped to an answer ten times too high or too low; an infinite answer counts as this."""

INTERVALS_HELD_OUT = 8
ROWS_HELD_OUT = 10
"""The most parts into which rows are divided for the choice: by interval, or by row if there is only one interval."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chosen:
    """The chosen forms, the best first, fitted and weighted, and the held-out error of every form that was tried."""

    forms: tuple[Form, ...]
    fits: tuple[Fitted, ...]
    shares: Floats
    errors: Mapping[str, float]

    @property
    def name(self) -> str:
        """The names of the forms; a corrected form is not named beside its base."""
        return " + ".join(form.name for form in self.forms if not (isinstance(form, Corrected) and form.base in self.forms))

    def fitted_to(self, trials: Trials, rows: Flags) -> Self:
        """Return the same forms with the same weights, fitted to other rows."""
        return replace(self, fits=tuple(trials.fit(form, rows) for form in self.forms))

    def at(self, points: Points) -> Floats:
        return together([fit.at(points) for fit in self.fits], self.shares)

    def apart_at(self, points: Points) -> tuple[Floats, Floats]:
        """Return the least and the greatest answer of the chosen forms; they differ far from the rows."""
        table = np.array([fit.at(points) for fit in self.fits])
        return table.min(axis=0), table.max(axis=0)


def choose(trials: Trials, forms: Sequence[Form], rows: Flags) -> Chosen:
    """Weight each form by its error on held-out intervals of these rows (equally for a single row), and fit the chosen ones to all of the rows."""
    groups, known = groups_of(trials, rows), trials.seen[rows]
    errors = LEAST_ERROR + np.array([log_error(trials.held_out(form, rows, groups), known) if len(known) > 1 else 0.0 for form in forms])
    shares = errors**-SHARPNESS / (errors**-SHARPNESS).sum()
    chosen = [int(index) for index in np.argsort(errors, kind="stable") if shares[index] >= LEAST_SHARE]
    return Chosen(
        forms=tuple(forms[index] for index in chosen),
        fits=tuple(trials.fit(forms[index], rows) for index in chosen),
        shares=shares[chosen],
        errors={form.name: float(error) for form, error in zip(forms, errors, strict=True)},
    )


def groups_of(trials: Trials, rows: Flags) -> Groups:
    """Return the groups to hold out: intervals where these rows have two or more, else rows."""
    groups = interval_groups(trials.points.interval_s, most=INTERVALS_HELD_OUT)
    if len(np.unique(groups[rows])) == 1:
        groups[rows] = by_row(trials.points.where(rows), trials.seen[rows])
    return groups


def by_row(points: Points, seen: Floats) -> Groups:
    """Return groups of rows in which identical rows are together, unless all rows are identical."""
    different = different_rows(points, seen)
    return np.asarray(different % ROWS_HELD_OUT) if np.any(different) else row_groups(len(seen), most=ROWS_HELD_OUT)


def log_error(predicted: Floats, actual: Floats) -> float:
    """Return the mean absolute error of the logarithm: 0.1 is about ten per cent either way.

    >>> round(log_error(np.array([110.0, np.inf]), np.array([100.0, 100.0])), 3)
    1.199
    """
    return float(np.minimum(np.abs(np.log(predicted) - np.log(actual)), WORST).mean())


def together(answers: Sequence[Floats], shares: Floats) -> Floats:
    """Return the weighted median of the finite answers, interpolated in the logarithm; infinite where more than half of the weight says so.

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
