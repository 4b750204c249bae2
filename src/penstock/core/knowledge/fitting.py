"""Slow work that a turn asks for and a later turn takes in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import LoadForecast, fit
from penstock.core.models.forecast.refit import Fits
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.core.models.latency.latency_table import LatencyTable, tabulate
from penstock.core.models.recovery.recovery_regression import RecoveryRegression, RecoveryTable, tabulated


@dataclass(frozen=True, slots=True, kw_only=True)
class FitAsked:
    """The models to be fitted, None or nothing for those that need no fit; a table of latencies is made for `executor_counts` and rates up to
    `most_rows_per_s`, tables of recoveries for `interval_s`."""

    number: int
    load: LoadForecast | None = None
    profile: LatencyByExecutors | None = None
    executor_counts: tuple[int, ...] = ()
    most_rows_per_s: float = 0.0
    recoveries: Mapping[DisturbanceKind, RecoveryRegression] = field(default_factory=dict)
    interval_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FitDone:
    """The result of a fit; `error` says what failed, and why. `took_s` is 0 until the caller, who has a clock, sets it.

    `t_max` is the capacity over executors that the profile shows, made with its table.
    """

    number: int
    took_s: float
    fits: Fits | None = None
    table: LatencyTable | None = None
    t_max: CapacityByExecutors | None = None
    recovery_tables: Mapping[DisturbanceKind, RecoveryTable] = field(default_factory=dict)
    error: str = ""


def fitted(asked: FitAsked) -> FitDone:
    """Run the fits that are asked for; pure and slow (seconds), for a background task."""
    tables = {kind: table for kind, model in asked.recoveries.items() if isinstance(table := tabulated(model, asked.interval_s), RecoveryTable)}
    done = FitDone(number=asked.number, took_s=0.0, fits=None if asked.load is None else fit(asked.load), recovery_tables=tables)
    return done if asked.profile is None else _with_profile(done, asked.profile, asked)


def _with_profile(done: FitDone, profile: LatencyByExecutors, asked: FitAsked) -> FitDone:
    table = tabulate(profile, asked.executor_counts, asked.most_rows_per_s)
    if isinstance(table, NotReady):
        return replace(done, error=table.why)
    too_much = ((knee.executors, knee.first_unstable_rows_per_s) for knee in profile.knees())
    measured = [CapacityMeasured(executors=executors, throughput_rows_per_s=rate) for executors, rate in too_much if rate]
    return replace(done, table=table, t_max=CapacityByExecutors().learn(measured))
