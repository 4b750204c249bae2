"""Fits of forms to parts of the rows, each made once."""

from __future__ import annotations

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.surrogate.candidate import Derived, Fitted, Form
from penstock.core.models.surrogate.crossvalidation import Groups, folds
from penstock.core.models.surrogate.points import Points


class Trials:
    """The rows, and what was fitted to which of them: nested loops ask for the same part again and again."""

    def __init__(self, points: Points, seen: Floats) -> None:
        self.points = points
        self.seen = seen
        self._fits: dict[tuple[str, bytes], Fitted] = {}
        self._parts: dict[bytes, Points] = {}

    def fit(self, form: Form, rows: Flags) -> Fitted:
        """The form fitted to these rows and no others."""
        part_key = rows.tobytes()
        key = (form.name, part_key)
        if key not in self._fits:
            part, seen = self._parts.setdefault(part_key, self.points.where(rows)), self.seen[rows]
            self._fits[key] = form.derive(self.fit(form.base, rows), part, seen) if isinstance(form, Derived) else form.fit(part, seen)
        return self._fits[key]

    def held_out(self, form: Form, rows: Flags, groups: Groups) -> Floats:
        """Predictions of the form for these rows, each by a fit to the others that are not of its group; in the order of the rows."""
        predicted = np.full(len(self.seen), np.nan)
        for held in (held & rows for held in folds(groups) if np.any(held & rows)):
            predicted[held] = self.fit(form, rows & ~held).at(self.points.where(held))
        return predicted[rows]
