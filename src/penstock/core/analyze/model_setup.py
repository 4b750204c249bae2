"""Models made for the pace of a job."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.analyze.priors import priors_of
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.keeping_up import HALF_LIFE_S as HEALTH_HALF_LIFE_S
from penstock.core.models.anomaly.keeping_up import KeepingUp
from penstock.core.models.anomaly.recovery_watch import ABANDONED_AFTER_S, VISIBLE_WITHIN_S, RecoveryWatch
from penstock.core.models.capacity.capacity_model import CapacityModel
from penstock.core.models.capacity.job_capacity import HALF_LIFE_S, WARM_UP_S, JobCapacity, Method
from penstock.core.models.capacity.pace import Pace
from penstock.core.models.capacity.scaleout_capacity import ScaleoutCapacity
from penstock.core.models.capacity.worker_lines import AVERAGING_S
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, LoadForecast
from penstock.core.models.forecast.series import STEP_S, Series
from penstock.core.models.latency.profile_fit import mark_of
from penstock.core.models.latency.scaleout_latency import ScaleoutLatency
from penstock.core.policies.policy import Need
from penstock.core.terms import Terms
from penstock.core.usage.utilization import plant_of

WARM_UP_BATCHES = 5
"""Micro-batches after a change that teach nothing, however short a job's days are."""


def prepared(learnt: Learnt, reading: Reading, terms: Terms, needs: frozenset[Need]) -> Learnt:
    """The models as these terms and this policy want them: begun anew under another time scale or profile, else only asked in another way."""
    if learnt.time_scale != terms.autopilot.time_scale:
        learnt = replace(fresh(reading, terms), rescale_number=learnt.rescale_number)
    priors = priors_of(terms.autopilot, plant_of(reading))
    if learnt.downtimes.priors != priors:
        learnt = replace(learnt, downtimes=replace(learnt.downtimes, priors=priors))
    method: Method = "daedalus" if "regression" in needs else "utilization_law"
    if learnt.capacity.by_utilization.method != method:
        by_utilization = replace(learnt.capacity.by_utilization, method=method)
        learnt = replace(learnt, capacity=replace(learnt.capacity, by_utilization=by_utilization))
    return learnt if needs.isdisjoint({"latency", "profile"}) else profiled(learnt, terms.profile)


def profiled(learnt: Learnt, rows: tuple[ProfileSeen, ...]) -> Learnt:
    """The models by this profile: begun anew where they are by another, or by one that is gone."""
    mark = mark_of(rows)
    if learnt.profile_mark == mark:
        return learnt
    return replace(learnt, profile=ScaleoutLatency().learn(rows), t_max=ScaleoutCapacity(), table=None, pace=Pace(), profile_mark=mark)


def fresh(reading: Reading, terms: Terms) -> Learnt:
    """Models that have learnt nothing: their windows are those of a real day times the time scale, but never below what readings can show."""
    scaled, config = terms.autopilot.scaled, terms.config
    return Learnt(
        load=LoadForecast(history_s=scaled(HISTORY_S), horizon_s=scaled(HORIZON_S), series=Series(step_s=max(scaled(STEP_S), config.reading_interval_s))),
        capacity=CapacityModel(
            by_utilization=JobCapacity(
                warm_up_s=warm_up_s(reading, terms), half_life_s=scaled(HALF_LIFE_S), averaging_s=max(scaled(AVERAGING_S), config.reading_window_s)
            )
        ),
        health=RecoveryWatch(
            visible_within_s=max(scaled(VISIBLE_WITHIN_S), 2 * config.reading_window_s),
            abandoned_after_s=scaled(ABANDONED_AFTER_S),
            keeping_up=KeepingUp(half_life_s=scaled(HEALTH_HALF_LIFE_S)),
        ),
        time_scale=terms.autopilot.time_scale,
        failures=reading.failures,
        query_failures=sum(query.failures for query in reading.queries),
    )


def warm_up_s(reading: Reading, terms: Terms) -> float:
    """How long after a change nothing is learnt: as long as executors warm up, and while a window may still hold one of the first batches."""
    if plant_of(reading) == "continuous":
        return terms.autopilot.scaled(WARM_UP_S)
    first_batches_s = WARM_UP_BATCHES * max((query.trigger.interval_s for query in reading.queries), default=0.0)
    return max(terms.autopilot.scaled(WARM_UP_S), first_batches_s + terms.config.reading_window_s)
