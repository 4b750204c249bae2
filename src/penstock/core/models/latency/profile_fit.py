"""A profile turned into an expected latency and a validity anywhere: every form that Phoebe's M_L may take, fitted to the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.latency.boosting import Boosted, monotone
from penstock.core.models.latency.clusters import healthy
from penstock.core.models.latency.knee import Knee, knees
from penstock.core.models.latency.normalise import log_latency
from penstock.core.models.latency.profile import Forms, ProfileReading, ProfileSeen, ValidityForm
from penstock.core.models.latency.queueing import Queueing, queueing
from penstock.core.models.latency.validity import Ceiling, borderline, too_much


def columns(rows: Sequence[ProfileSeen]) -> tuple[Floats, Floats, Floats]:
    """Scale-outs, rates in rows/s and latencies in seconds."""
    table = np.array([(row.scaleout, row.rate_rows_per_s, row.latency_s) for row in rows], dtype=float).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def labels(rows: Sequence[ProfileSeen], reading: ProfileReading) -> Flags:
    """Which rows kept up: as given, else by the known limit, else by clusters of the latency."""
    latencies_s = columns(rows)[2]
    known = np.array([row.valid is not None for row in rows], dtype=bool)
    if known.all():
        found = np.ones(len(rows), dtype=bool)
    elif reading.threshold_s is not None:
        found = np.asarray(latencies_s <= reading.threshold_s)
    else:
        found = healthy(log_latency(latencies_s))
    return np.where(known, np.array([row.valid is True for row in rows], dtype=bool), found)


def limit_between(latencies_s: Floats, valid: Flags) -> float:
    """The latency that separates valid from invalid rows with the fewest errors, halfway in the logarithm; infinite where none is invalid.

    >>> limit_between(np.array([1.0, 4.0, 9.0]), np.array([True, True, False]))
    6.0
    """
    if bool(valid.all()):
        return inf
    order = np.argsort(latencies_s, kind="stable")
    ascending, flags = latencies_s[order], valid[order]
    errors = [int((~flags[:cut]).sum() + flags[cut:].sum()) for cut in range(len(flags) + 1)]
    cut = int(np.argmin(errors))
    if cut == 0:
        return 0.0
    return inf if cut == len(flags) else float(np.sqrt(ascending[cut - 1] * ascending[cut]))


@dataclass(frozen=True, kw_only=True, eq=False)
class ProfileFit:
    """M_L: latency and validity over (scale-out, rate), both monotone in both, in each of their forms; a form is fitted when it is first asked."""

    scaleouts: Floats
    rates_rows_per_s: Floats
    latencies_s: Floats
    kept_up: Flags
    knees: tuple[Knee, ...]

    def valid(self, form: ValidityForm, scaleouts: Floats, rates_rows_per_s: Floats) -> Flags:
        """L_C. "clusters": the expected latency falls into the valid cluster (Phoebe sec. III-D); "knee": the rate is below the knee of the scale-out."""
        if form == "clusters":
            return np.asarray(np.exp(self.boosted.at(scaleouts, rates_rows_per_s)) <= limit_between(self.latencies_s, self.kept_up))
        if self.borderline is None:
            return np.ones(len(scaleouts), dtype=bool)
        return np.asarray(rates_rows_per_s <= self.borderline.over(scaleouts))

    def latency_s(self, forms: Forms, scaleouts: Floats, rates_rows_per_s: Floats) -> Floats:
        """L_avg. "boosted": over all rows (Phoebe sec. III-D); "queueing": the physical form over valid rows; "corrected": that, times a boosted correction.

        Where the physical forms have no rows the boosted one answers. From the first rate that was too much, latency is not less than the profile saw there:
        below it nobody saw an overload, also where a rate is likelier invalid than not.
        """
        form, _ = forms
        if form == "boosted" or self.queueing is None:
            return np.asarray(np.exp(self.boosted.at(scaleouts, rates_rows_per_s)))
        physical = self.queueing.at(scaleouts, rates_rows_per_s)
        if form == "corrected" and self.correction is not None:
            physical = physical * np.exp(self.correction.at(scaleouts, rates_rows_per_s))
        overloaded = rates_rows_per_s >= self.queueing.ceiling.over(scaleouts)
        if not bool(overloaded.any()):
            return physical
        return np.where(overloaded, np.maximum(physical, np.exp(self.boosted.at(scaleouts, rates_rows_per_s))), physical)

    @cached_property
    def borderline(self) -> Ceiling | None:
        return borderline(self.knees)

    @cached_property
    def boosted(self) -> Boosted:
        """The logarithm of the latency, over all rows; to normalise it first would change nothing, see `log_latency`."""
        return monotone(self.scaleouts, self.rates_rows_per_s, np.log(self.latencies_s))

    @cached_property
    def queueing(self) -> Queueing | None:
        ceiling, kept_up = too_much(self.knees), self.kept_up
        return None if ceiling is None else queueing(ceiling, self.scaleouts[kept_up], self.rates_rows_per_s[kept_up], self.latencies_s[kept_up])

    @cached_property
    def correction(self) -> Boosted | None:
        """The logarithm of what the physical form leaves, over the rows that kept up; boosted, as no smooth leftover keeps the order of a profile."""
        if self.queueing is None:
            return None
        scaleouts, rates = self.scaleouts[self.kept_up], self.rates_rows_per_s[self.kept_up]
        return monotone(scaleouts, rates, np.log(self.latencies_s[self.kept_up] / self.queueing.at(scaleouts, rates)))


def fit(rows: Sequence[ProfileSeen], reading: ProfileReading) -> ProfileFit:
    """All forms from the same rows; at least one of them must be there."""
    scaleouts, rates, latencies_s = columns(rows)
    kept_up = labels(rows, reading)
    found = knees([(row.scaleout, row.rate_rows_per_s, bool(flag)) for row, flag in zip(rows, kept_up, strict=True)])
    return ProfileFit(scaleouts=scaleouts, rates_rows_per_s=rates, latencies_s=latencies_s, kept_up=kept_up, knees=found)
