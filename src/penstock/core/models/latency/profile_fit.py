"""Latency and validity over (executors, rate), fitted to a profile in every form that Phoebe's M_L may take."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Literal
from zlib import crc32

import numpy as np

from penstock.core.domain.profile import ProfileSeen
from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.latency.boosting import Boosted, monotone
from penstock.core.models.latency.clusters import healthy, log_latency
from penstock.core.models.latency.knee import Ceiling, Knee, borderline, knees, too_much
from penstock.core.models.once import once
from penstock.core.models.surrogate.parts import Prior, fit_parts

LatencyForm = Literal["boosted", "queueing", "corrected"]
ValidityForm = Literal["clusters", "knee"]

Forms = tuple[LatencyForm, ValidityForm]

LATENCY_FORMS: tuple[LatencyForm, ...] = ("boosted", "queueing", "corrected")
VALIDITY_FORMS: tuple[ValidityForm, ...] = ("knee", "clusters")
"""The first of equally good ones is taken."""
BUSIEST = 0.95
"""Highest utilisation at which the queueing form is evaluated: its pole at 1 was not measured."""
PRIORS = (Prior(),) * 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReading:
    """How a profile is read: a known `threshold_s` of valid latencies replaces the clusters; a form that is None is chosen by held-out error.

    `by_latency_alone` ignores whether the lag grew.

    Phoebe's text calls 1 s the latency of a healthy job; its data do not show it (median 1.2 s at 24 workers), so there is no default.
    """

    threshold_s: float | None = None
    latency_form: LatencyForm | None = None
    validity_form: ValidityForm | None = None
    by_latency_alone: bool = False


AS_IN_PAPER = ProfileReading(latency_form="boosted", validity_form="clusters", by_latency_alone=True)
"""Gradient boosting, and two clusters by Birch (Phoebe sec. III-D); monotone, and one cluster where all latencies are alike (PAPER-NOTES)."""


@once(4)
def mark_of(rows: tuple[ProfileSeen, ...]) -> int:
    """Return a checksum that identifies a profile; 0 for one without rows."""
    values = [(row.executors, float(row.rate_rows_per_s), float(row.latency_s), row.valid) for row in rows]
    return crc32(repr(values).encode()) if rows else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Queueing:
    """L = base + work*u + queue*u/(1-u), with u = rate / T_max(executors): a fixed delay, work, and waiting in a queue.

    All three are at least 0, so the latency rises with the rate and falls with the number of executors; it is never below `least_s`, the smallest seen.
    """

    base_s: float
    work_s: float
    queue_s: float
    ceiling: Ceiling
    least_s: float = 0.0

    def at(self, executor_counts: Floats, rates_rows_per_s: Floats) -> Floats:
        """Return the latency in seconds.

        >>> form = Queueing(base_s=1.0, work_s=0.0, queue_s=0.5, ceiling=Ceiling(points=((2, 100.0),), carried=()))
        >>> form.at(np.array([2.0]), np.array([50.0])).tolist()
        [1.5]
        """
        latency_s = _columns(self.ceiling, executor_counts, rates_rows_per_s) @ np.array([self.base_s, self.work_s, self.queue_s])
        return np.asarray(np.maximum(self.least_s, latency_s))


def queueing(ceiling: Ceiling, executor_counts: Floats, rates_rows_per_s: Floats, latencies_s: Floats) -> Queueing | None:
    """Fit the form by robust least squares of relative errors; None where the rows do not determine its three parameters.

    >>> ceiling = Ceiling(points=((1, 10.0),), carried=())
    >>> fitted = queueing(ceiling, np.ones(4), np.array([0.0, 2.0, 5.0, 8.0]), np.array([1.0, 1.25, 2.0, 5.0]))
    >>> round(fitted.base_s, 3), round(fitted.work_s, 3), round(fitted.queue_s, 3)
    (1.0, 0.0, 1.0)
    """
    columns = _columns(ceiling, executor_counts, rates_rows_per_s)
    if len(np.unique(columns[:, 1])) < len(PRIORS):
        return None
    base_s, work_s, queue_s = (float(amount) for amount in fit_parts(lambda _: columns[None], latencies_s, PRIORS)[1])
    return Queueing(base_s=base_s, work_s=work_s, queue_s=queue_s, ceiling=ceiling, least_s=float(np.min(latencies_s)))


def _columns(ceiling: Ceiling, executor_counts: Floats, rates_rows_per_s: Floats) -> Floats:
    utilisation = np.minimum(BUSIEST, rates_rows_per_s / ceiling.over(executor_counts))
    return np.column_stack([np.ones(len(utilisation)), utilisation, utilisation / (1 - utilisation)])


def columns(rows: Sequence[ProfileSeen]) -> tuple[Floats, Floats, Floats]:
    """Return numbers of executors, rates in rows/s and latencies in seconds."""
    table = np.array([(row.executors, row.rate_rows_per_s, row.latency_s) for row in rows], dtype=float).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def labels(rows: Sequence[ProfileSeen], reading: ProfileReading) -> Flags:
    """Mark the rows that kept up: as given, else by the threshold, else by clusters of the latency."""
    latencies_s = columns(rows)[2]
    known = np.array([row.valid is not None and not reading.by_latency_alone for row in rows], dtype=bool)
    if known.all():
        found = np.ones(len(rows), dtype=bool)
    elif reading.threshold_s is not None:
        found = np.asarray(latencies_s <= reading.threshold_s)
    else:
        found = healthy(log_latency(latencies_s))
    return np.where(known, np.array([row.valid is True for row in rows], dtype=bool), found)


def limit_between(latencies_s: Floats, valid: Flags) -> float:
    """Return the latency that separates valid from invalid rows with the fewest errors, halfway in the logarithm; infinite where none is invalid.

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
    """M_L: latency and validity over (executors, rate), monotone in both, in each of their forms; a form is fitted when it is first used."""

    executor_counts: Floats
    rates_rows_per_s: Floats
    latencies_s: Floats
    kept_up: Flags
    knees: tuple[Knee, ...]

    def valid(self, form: ValidityForm, executor_counts: Floats, rates_rows_per_s: Floats) -> Flags:
        """Return L_C. "clusters": the expected latency is in the valid cluster (Phoebe sec. III-D); "knee": the rate is below the knee of the executors."""
        if form == "clusters":
            return np.asarray(np.exp(self.boosted.at(executor_counts, rates_rows_per_s)) <= limit_between(self.latencies_s, self.kept_up))
        if self.borderline is None:
            return np.ones(len(executor_counts), dtype=bool)
        return np.asarray(rates_rows_per_s <= self.borderline.over(executor_counts))

    def latency_s(self, forms: Forms, executor_counts: Floats, rates_rows_per_s: Floats) -> Floats:
        """Return L_avg. "boosted": over all rows (Phoebe sec. III-D); "queueing": over valid rows; "corrected": the latter times a boosted correction.

        Where the physical forms have no rows the boosted one is used. From the first unstable rate on, latency is not below that of the profile there;
        below that rate no overload was seen, even where a rate is more likely invalid than valid.
        """
        form, _ = forms
        if form == "boosted" or self.queueing is None:
            return np.asarray(np.exp(self.boosted.at(executor_counts, rates_rows_per_s)))
        physical = self.queueing.at(executor_counts, rates_rows_per_s)
        if form == "corrected" and self.correction is not None:
            physical = physical * np.exp(self.correction.at(executor_counts, rates_rows_per_s))
        overloaded = rates_rows_per_s >= self.queueing.ceiling.over(executor_counts)
        if not bool(overloaded.any()):
            return physical
        return np.where(overloaded, np.maximum(physical, np.exp(self.boosted.at(executor_counts, rates_rows_per_s))), physical)

    @cached_property
    def borderline(self) -> Ceiling | None:
        return borderline(self.knees)

    @cached_property
    def boosted(self) -> Boosted:
        """The logarithm of the latency over all rows; normalising it first would change nothing, see `log_latency`."""
        return monotone(self.executor_counts, self.rates_rows_per_s, np.log(self.latencies_s))

    @cached_property
    def queueing(self) -> Queueing | None:
        ceiling, kept_up = too_much(self.knees), self.kept_up
        return None if ceiling is None else queueing(ceiling, self.executor_counts[kept_up], self.rates_rows_per_s[kept_up], self.latencies_s[kept_up])

    @cached_property
    def correction(self) -> Boosted | None:
        """The logarithm of measured over physical latency, over the rows that kept up; boosted, so that it is monotone too."""
        if self.queueing is None:
            return None
        executor_counts, rates = self.executor_counts[self.kept_up], self.rates_rows_per_s[self.kept_up]
        return monotone(executor_counts, rates, np.log(self.latencies_s[self.kept_up] / self.queueing.at(executor_counts, rates)))


def fit(rows: Sequence[ProfileSeen], reading: ProfileReading) -> ProfileFit:
    """Prepare all forms on the same rows, of which there must be at least one."""
    executor_counts, rates, latencies_s = columns(rows)
    kept_up = labels(rows, reading)
    found = knees([(row.executors, row.rate_rows_per_s, bool(flag)) for row, flag in zip(rows, kept_up, strict=True)])
    return ProfileFit(executor_counts=executor_counts, rates_rows_per_s=rates, latencies_s=latencies_s, kept_up=kept_up, knees=found)
