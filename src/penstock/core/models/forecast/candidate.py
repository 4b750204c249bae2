"""What every candidate forecaster can do."""

from __future__ import annotations

from typing import Protocol

from penstock.core.models.forecast.series import Floats

Parameters = dict[str, float]
"""What a fit found, by name; empty for a candidate that needs none."""


class Candidate(Protocol):
    """A way to continue a series: slow work is in `fit`, which sees one history, cheap work in `paths`, which sees many."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> int:
        """The fewest values it can continue."""
        ...

    def fit(self, values: Floats) -> Parameters | None:
        """Parameters for this history; None where the candidate has nothing to say about it."""
        ...

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        """The next `horizon` values after each row of `windows`, a row each."""
        ...
