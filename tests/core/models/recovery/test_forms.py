"""The forms that a regression of recovery times chooses from."""

from __future__ import annotations

import numpy as np

from penstock.core.models.recovery.forms import FORMS, WithinCapacity
from penstock.core.models.recovery.physical import PhysicalRecovery
from penstock.core.models.surrogate.linear import Plane
from penstock.core.models.surrogate.points import Points

GRID = Points(interval_s=np.repeat([10.0, 60.0, 120.0], 6), rate=np.tile(np.linspace(200, 800, 6), 3))
SEEN = PhysicalRecovery(downtime_s=60, capacity_rows_per_s=1000).at(GRID)


def test_beyond_the_capacity_every_form_says_never_and_at_what_was_seen_none_does() -> None:
    beyond = Points(interval_s=np.array([60.0]), rate=np.array([3000.0]))
    for form in FORMS:
        fitted = form.fit(GRID, SEEN)
        assert np.isfinite(fitted.at(GRID)).all() and np.isinf(fitted.at(beyond)).all(), form.name


def test_within_the_capacity_a_regression_says_what_it_says_by_itself() -> None:
    assert WithinCapacity(inner=Plane()).fit(GRID, SEEN).at(GRID).tolist() == Plane().fit(GRID, SEEN).at(GRID).tolist()


def test_no_two_forms_have_the_same_name() -> None:
    assert len({form.name for form in FORMS}) == len(FORMS)
