"""What a fit has found: slow to find, plain to keep."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.core.models.forecast.candidate import Parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Parameters of one candidate, None where the fit failed on its numbers."""

    parameters: Parameters | None
    at: int
    """Number of the bin after the newest one it saw."""
    values: int
    """How many it saw."""
    promised: float | None
    """Its WAPE over the first steps of a forecast, on the history it was fitted to."""


Fits = dict[str, Fit]
"""By the name of the candidate."""
