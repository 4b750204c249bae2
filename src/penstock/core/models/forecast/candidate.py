"""What every candidate forecaster can do."""

from __future__ import annotations

from typing import Protocol

from penstock.core.models.arrays import Floats

Parameters = dict[str, float]
"""What a fit found, by name; empty for a candidate that needs none."""


class Candidate(Protocol):
    """A way to continue a series, many of them at once."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> int:
        """The fewest values it can continue."""
        ...

    def paths(self, parameters: Parameters, windows: Floats, horizon: int) -> Floats:
        """The next `horizon` values after each row of `windows`, a row each."""
        ...


class Learner(Candidate, Protocol):
    """A candidate with parameters, which are slow to find and quick to use."""

    def applies(self, values: Floats) -> bool:
        """Whether it has something to say about this history; quick."""
        ...

    def fit(self, values: Floats) -> Parameters:
        """Parameters for a history to which it applies."""
        ...
