"""What one profiling run measured, and how a profile is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal
from zlib import crc32

from penstock.core.models.once import once

LatencyForm = Literal["boosted", "queueing", "corrected"]
ValidityForm = Literal["clusters", "knee"]

Forms = tuple[LatencyForm, ValidityForm]

LATENCY_FORMS: tuple[LatencyForm, ...] = ("boosted", "queueing", "corrected")
VALIDITY_FORMS: tuple[ValidityForm, ...] = ("knee", "clusters")
"""The first of equally good ones is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSeen:
    """The average latency of one scale-out at one rate; `valid` where somebody knows whether it kept up."""

    scaleout: int
    rate_rows_per_s: float
    latency_s: float
    valid: bool | None = None

    def __post_init__(self) -> None:
        if self.scaleout < 1:
            raise ValueError(f"a scale-out of {self.scaleout}: it starts at 1")
        if not (isfinite(self.rate_rows_per_s) and self.rate_rows_per_s >= 0):
            raise ValueError(f"a rate of {self.rate_rows_per_s} rows/s: it must be a number from 0")
        if not (isfinite(self.latency_s) and self.latency_s > 0):
            raise ValueError(f"a latency of {self.latency_s} s: it must be a number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReading:
    """How a profile is read: a latency that is known to be the limit makes clusters needless; a form left open is chosen by held-out error.

    Phoebe's text names 1 s as the latency of a healthy job, its data do not show it (median 1.2 s at 24 workers), so there is no default.
    """

    threshold_s: float | None = None
    latency_form: LatencyForm | None = None
    validity_form: ValidityForm | None = None


@once(4)
def mark_of(rows: tuple[ProfileSeen, ...]) -> int:
    """The number that a profile is known by, the same for the same rows; 0 for one without any."""
    values = [(row.scaleout, float(row.rate_rows_per_s), float(row.latency_s), row.valid) for row in rows]
    return crc32(repr(values).encode()) if rows else 0
