"""What a reading teaches the models that a policy needs."""

from __future__ import annotations

from dataclasses import replace

from penstock.core.analyze.batches import batch_measured, cost_of, latency_of
from penstock.core.analyze.forecasts import ROUNDING_S
from penstock.core.analyze.overload import is_overloaded, pace_seen
from penstock.core.analyze.stages import tells_work
from penstock.core.analyze.workers import workers_reading
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import UNANNOUNCED
from penstock.core.models.anomaly.recovery_watch import LAG_TOLERANCE_S
from penstock.core.models.capacity.batch_cost import BatchMeasured
from penstock.core.models.capacity.capacity_model import CapacitySeen
from penstock.core.models.forecast.series import LoadSeen
from penstock.core.models.stage_rates import StageRates
from penstock.core.policies.policy import Need
from penstock.core.terms import Terms
from penstock.core.usage.utilization import plant_of


def learn(learnt: Learnt, reading: Reading, terms: Terms, needs: frozenset[Need], decided_s: float | None = None) -> Learnt:
    """Arrivals from every reading, all else once in a learning interval; `decided_s` is when something was last decided.

    An arrival rate is the mean since the reading before, so it stands in the middle of that time.
    """
    if reading.arrival_rows_per_s is not None:
        middle_s = reading.at_s - terms.config.reading_interval_s / 2
        learnt = replace(learnt, load=learnt.load.learn([LoadSeen(at_s=middle_s, rate_rows_per_s=reading.arrival_rows_per_s)]))
    if learnt.learnt_s is not None and reading.at_s - learnt.learnt_s < terms.autopilot.scaled(terms.config.learn_interval_s) - ROUNDING_S:
        return learnt
    if "forecast" in needs:
        learnt = replace(learnt, load=learnt.load.scored())
    if needs & {"capacity", "regression", "latency"} or ("profile" in needs and plant_of(reading) == "micro_batch"):
        learnt = _with_work(learnt, reading, terms.autopilot, needs)
    if "stages" in needs:
        stages = {query.name: learnt.stages.get(query.name, StageRates()) for query in reading.queries}
        learnt = replace(learnt, stages={query.name: stages[query.name].learn([query] if tells_work(query) else []) for query in reading.queries})
    if "profile" in needs and terms.profile:
        learnt = _with_profile(learnt, reading, terms, decided=decided_s is not None and learnt.learnt_s is not None and learnt.learnt_s <= decided_s)
    return replace(learnt, learnt_s=reading.at_s)


def _with_profile(learnt: Learnt, reading: Reading, terms: Terms, *, decided: bool) -> Learnt:
    """Learn the pace that this reading shows, and add one row to the profile after each decision."""
    shown = pace_seen(learnt, reading, terms)
    learnt = replace(learnt, pace=learnt.pace.interrupted() if shown is None else learnt.pace.learn([shown]))
    row = profile_row(learnt, reading, terms) if decided else None
    return learnt if row is None else replace(learnt, profile=learnt.profile.learn([row]))


def profile_row(learnt: Learnt, reading: Reading, terms: Terms) -> ProfileSeen | None:
    """This moment as one more row of a profile (Phoebe learns on at run time, sec. III-E); None during a recovery from anything that was announced.

    A job that fell behind without a disturbance did not keep up with its load, nor does one that never recovers because it has too few executors: that is
    a row too. Where the job is slower than its profile, the row is what it would have been at the profile's pace.
    """
    rate, latency, waiting = reading.arrival_rows_per_s, reading.latency, reading.excess_lag_rows
    recovering = any(each.kind != UNANNOUNCED for each in learnt.health.open) and not is_overloaded(learnt, reading, terms)
    if recovering or learnt.is_warming(reading) or rate is None or latency is None or latency.p50_s <= 0 or waiting is None or reading.executors_running < 1:
        return None
    valid = waiting <= LAG_TOLERANCE_S * rate
    return ProfileSeen(scaleout=reading.executors_running, rate_rows_per_s=rate / learnt.pace.share, latency_s=latency.p50_s, valid=valid)


def _with_work(learnt: Learnt, reading: Reading, autopilot: Autopilot, needs: frozenset[Need]) -> Learnt:
    """Learn how long batches took and how busy the executors were. The cost of batches is that of the job only where it has a single query."""
    capacity, latencies, ids = learnt.capacity, dict(learnt.batches), dict(learnt.batch_ids)
    by_batches = capacity.by_batches if len(reading.queries) == 1 and plant_of(reading) == "micro_batch" else None
    fresh_batches: list[BatchMeasured] = []
    for query in reading.queries:
        batch = batch_measured(query, reading, warming=learnt.is_warming(reading))
        if query.trigger.kind == "real_time" or query.batch_id is None or query.batch_id == ids.get(query.name) or batch is None:
            continue
        ids[query.name] = query.batch_id
        model = latency_of(query, reading, latencies.get(query.name), batch) if "latency" in needs else None
        if model is not None:
            latencies[query.name] = model
        if len(reading.queries) == 1:
            by_batches = cost_of(query, reading, by_batches)
            fresh_batches.append(batch)
    capacity, workers = replace(capacity, by_batches=by_batches), workers_reading(reading, autopilot)
    if workers is not None:
        capacity = capacity.learn([CapacitySeen(workers=workers, batches=tuple(fresh_batches))])
    elif by_batches is not None:
        capacity = replace(capacity, by_batches=by_batches.learn(fresh_batches))
    return replace(learnt, capacity=capacity, batches=latencies, batch_ids=ids)
