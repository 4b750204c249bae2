"""What a reading teaches the models that a policy needs."""

import math
from collections.abc import Sequence
from dataclasses import replace

from penstock.core.analyze.assess import downtimes_of, priors_of, tells_work
from penstock.core.analyze.forecasts import ROUNDING_S
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.disturbance import UNANNOUNCED
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import CostChanged, CpuTaken
from penstock.core.domain.job_spec import PROMISED_SHARE
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import IN_TASKS, BatchParts, BatchReading, QueryReading, Reading, total
from penstock.core.domain.trigger import interval_of, rows_per_batch
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.core.models.anomaly.keeping_up import HALF_LIFE_S as HEALTH_HALF_LIFE_S
from penstock.core.models.anomaly.keeping_up import KeepingUp
from penstock.core.models.anomaly.recovery_watch import ABANDONED_AFTER_S, LAG_TOLERANCE_S, VISIBLE_WITHIN_S, RecoveryWatch
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors
from penstock.core.models.capacity.capacity_model import CapacityModel, CapacitySeen
from penstock.core.models.capacity.executor_lines import AVERAGING_S
from penstock.core.models.capacity.executor_use import ExecutorUse, ExecutorUses
from penstock.core.models.capacity.job_capacity import HALF_LIFE_S, WARM_UP_S, JobCapacity, Method
from penstock.core.models.capacity.pace import Pace, PaceSeen
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, ForecastMethod, LoadForecast
from penstock.core.models.forecast.series import STEP_S, LoadSeen, Series
from penstock.core.models.latency.batch_latency import BatchLatency, LatencyMeasured
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors
from penstock.core.models.latency.profile_fit import AS_IN_PAPER, ProfileReading, mark_of
from penstock.core.models.stage_rates import StageRates
from penstock.core.models.usage import is_stalled, most_tasks, plant_of, slots_of, utilization


def learn(learnt: Learnt, reading: Reading, terms: Terms, needs: frozenset[Need], decided_s: float | None = None) -> Learnt:
    """Learn arrivals from every reading, all else once in a learning interval; `decided_s` is the time of the last decision.

    An arrival rate is the mean since the reading before, so it stands in the middle of that time.
    """
    if reading.arrival_rows_per_s is not None:
        middle_s = reading.at_s - terms.config.reading_interval_s / 2
        learnt = replace(learnt, load=learnt.load.learn([LoadSeen(at_s=middle_s, rate_rows_per_s=reading.arrival_rows_per_s)]))
    if learnt.learnt_s is not None and reading.at_s - learnt.learnt_s < terms.autopilot.scaled(terms.config.learn_interval_s) - ROUNDING_S:
        return learnt
    if "forecast" in needs:
        learnt = replace(learnt, load=learnt.load.scored())
    if needs & {"capacity", "regression", "latency"} or (needs & {"profile", "stages"} and plant_of(reading) == "micro_batch"):
        learnt = _with_work(learnt, reading, terms.autopilot)
    if "stages" in needs:
        stages = {query.name: learnt.stages.get(query.name, StageRates()) for query in reading.active}
        learnt = replace(learnt, stages={query.name: stages[query.name].learn([query] if tells_work(query) else []) for query in reading.active})
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
    """Return this moment as one more row of a profile (Phoebe learns on at run time, sec. III-E); None during a recovery from an announced disturbance.

    A job that fell behind without a disturbance did not keep up with its load, nor does one that never recovers because it has too few executors: that is
    a row too. Where the job is slower than its profile, the row is what it would have been at the profile's pace.
    """
    rate, latency, waiting = reading.arrival_rows_per_s, reading.latency, reading.excess_lag_rows
    recovering = any(each.kind != UNANNOUNCED for each in learnt.health.open) and not is_overloaded(learnt, reading, terms)
    if recovering or learnt.is_warming(reading) or rate is None or latency is None or latency.p95_s <= 0 or waiting is None or reading.executors_running < 1:
        return None
    valid = waiting <= LAG_TOLERANCE_S * rate
    return ProfileSeen(executors=reading.executors_running, rate_rows_per_s=rate / learnt.pace.share, latency_s=latency.p95_s, valid=valid)


def _with_work(learnt: Learnt, reading: Reading, autopilot: Autopilot) -> Learnt:
    """Learn how long batches took and how busy executors were. The cost of batches is that of the job only where it has a single query.

    Queries share executors: when one of them leaves, the costs of all others change, and are learnt afresh. One that is not there yet has not left.
    """
    left = {query.name for query in reading.queries} - {query.name for query in reading.active} if reading.active else set()
    batches, ids = dict(learnt.batches) if left.isdisjoint(learnt.batches) else {}, dict(learnt.batch_ids)
    for query in reading.active:
        new = batches_measured(query, reading, ids.get(query.name), learnt.warm_s(reading))
        if query.trigger.kind == "real_time" or query.batch_id is None or query.batch_id == ids.get(query.name) or not new:
            continue
        ids[query.name] = query.batch_id
        model = latency_of(query, reading, batches.get(query.name), new)
        if model is not None:
            batches[query.name] = model
    in_batches = plant_of(reading) == "micro_batch"
    alone = batches.get(reading.active[0].name) if len(reading.active) == 1 and in_batches else None
    capacity = replace(learnt.capacity, by_batches=None if alone is None else alone.cost, in_batches=in_batches)
    uses = executor_uses(reading, autopilot)
    if uses is not None:
        capacity = capacity.learn([CapacitySeen(uses=uses)])
    return replace(learnt, capacity=capacity, batches=batches, batch_ids=ids)


MUCH, LITTLE = 0.3, 0.15
"""Others take much of the CPU from this share on, until they take no more than the other."""


def cost_events(before: Learnt, after: Learnt, reading: Reading) -> tuple[Learnt, list[Event]]:
    """Return what has changed of the cost of batches: the overhead, the cost of a row, waits, the skew, or the time that others take."""
    events: list[Event] = []
    for name, model in after.batches.items():
        change, known = model.cost.change, before.batches.get(name)
        if change is not None and (known is None or known.cost.change != change):
            events.append(CostChanged(at_s=reading.at_s, query=name, part=change.part, before_s=change.before_s, after_s=change.after_s))
    shares = [query.batch.taken for query in reading.active if query.batch is not None and query.batch.taken is not None]
    if not shares:
        return after, events
    contended = max(shares) > (LITTLE if after.is_contended else MUCH)
    if contended != after.is_contended:
        events.append(CpuTaken(at_s=reading.at_s, share=max(shares), taken=contended))
    return replace(after, is_contended=contended), events


WARM_UP_BATCHES = 5
"""Micro-batches after a change that teach nothing, however short a job's days are."""


def prepared(learnt: Learnt, reading: Reading, terms: Terms, needs: frozenset[Need]) -> Learnt:
    """Return the models for these terms and this policy: reset under another time scale or profile, else with other priors or another method only."""
    if learnt.time_scale != terms.autopilot.time_scale:
        learnt = replace(fresh(reading, terms), applied_number=learnt.applied_number, failure_number=learnt.failure_number)
    priors = priors_of(terms.autopilot, plant_of(reading))
    if learnt.downtimes.priors != priors:
        learnt = replace(learnt, downtimes=replace(learnt.downtimes, priors=priors))
    method: Method = "daedalus" if "regression" in needs else "utilization_law"
    if learnt.capacity.by_utilization.method != method:
        by_utilization = replace(learnt.capacity.by_utilization, method=method)
        learnt = replace(learnt, capacity=replace(learnt.capacity, by_utilization=by_utilization))
    forecasting: ForecastMethod = "daedalus" if "arima" in needs else "mixture"
    if learnt.load.method != forecasting:
        learnt = replace(learnt, load=replace(learnt.load, method=forecasting))
    if needs.isdisjoint({"latency", "profile"}):
        return learnt
    return profiled(learnt, terms.profile, AS_IN_PAPER if "boosting" in needs else ProfileReading())


def profiled(learnt: Learnt, rows: tuple[ProfileSeen, ...], reading: ProfileReading) -> Learnt:
    """Return the models for this profile: reset if they come from another one, from one that is gone, or if it is to be read in another way."""
    mark = mark_of(rows)
    if learnt.profile_mark == mark and (not rows or learnt.profile.reading == reading):
        return learnt
    return replace(learnt, profile=LatencyByExecutors(reading=reading).learn(rows), t_max=CapacityByExecutors(), table=None, pace=Pace(), profile_mark=mark)


def fresh(reading: Reading, terms: Terms) -> Learnt:
    """Return models that have learnt nothing: their windows are those of a real day times the time scale, but never below what readings can show."""
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
        query_failures=reading.query_failures,
    )


def warm_up_s(reading: Reading, terms: Terms) -> float:
    """Return how long after a change nothing is learnt: as long as executors warm up, and while a window may still hold one of the first batches."""
    if plant_of(reading) == "continuous":
        return terms.autopilot.scaled(WARM_UP_S)
    first_batches_s = WARM_UP_BATCHES * max((interval_of(query.trigger, query.rate_limit_rows_per_s) for query in reading.active), default=0.0)
    return max(terms.autopilot.scaled(WARM_UP_S), first_batches_s + terms.config.reading_window_s)


FIRST = 3
"""Batches after the start of a query that teach nothing, however long they take: classes are loaded, Python workers start, code is compiled."""


def batches_measured(query: QueryReading, reading: Reading, known_id: int | None, warm_s: float = -math.inf) -> tuple[BatchMeasured, ...]:
    """Return the batches of the window that are newer than the one of `known_id`; the average batch where the reading does not list them.

    Those that began before the executors were warm, at `warm_s`, are warming, and the first of a query.
    """
    average = batch_measured(query, reading, warming=reading.at_s < warm_s)
    if average is None or query.batch is None or query.batch_id is None:
        return ()
    each = query.batch.each[-(query.batch_id - known_id) :] if known_id is not None and query.batch_id > known_id else query.batch.each
    return tuple(batch_of(batch, reading.at_s, average, warm_s) for batch in each if batch.took_s > 0) or (average,)


def batch_of(batch: BatchReading, at_s: float, average: BatchMeasured, warm_s: float) -> BatchMeasured:
    """Return one batch of a reading; its executors and tasks are those of the average one."""
    return replace(
        average,
        rows=batch.rows,
        duration_s=batch.took_s,
        warming=batch.number <= FIRST or at_s - batch.since_s - batch.took_s < warm_s,
        at_s=at_s - batch.since_s,
        taken=batch.taken,
        outside_s=batch.outside_s,
        task_row_s=None if batch.run_s is None or not batch.rows else batch.run_s * (1.0 - batch.taken) / batch.rows,
        cpu_row_s=None if batch.cpu_s is None or not batch.rows else batch.cpu_s / batch.rows,
    )


def batch_measured(query: QueryReading, reading: Reading, *, warming: bool) -> BatchMeasured | None:
    """Return the average batch of the window; None where it is not known.

    Where its rows are not counted, it takes those that arrived during its cycle, which is the interval or, in overload, the batch before it.
    """
    if query.batch is None or query.batch.total_s <= 0 or query.throughput_rows_per_s is None or reading.executors_running < 1:
        return None
    taken = query.batch.taken or 0.0
    run_s_per_s = total(stage.run_time_s_per_s for stage in query.stages)
    return BatchMeasured(
        rows=query.throughput_rows_per_s * query.cycle_s if query.batch.rows is None else query.batch.rows,
        duration_s=query.batch.total_s,
        executors=reading.executors_running,
        tasks=most_tasks(query),
        warming=warming,
        at_s=reading.at_s,
        taken=taken,
        outside_s=outside_s(query.batch),
        task_row_s=for_a_row(query, None if run_s_per_s is None else run_s_per_s * (1.0 - taken)),
        cpu_row_s=for_a_row(query, total(stage.cpu_s_per_s for stage in query.stages)),
    )


def for_a_row(query: QueryReading, per_s: float | None) -> float | None:
    """Return what is spent per second as seconds for each row; None where that is not known."""
    return per_s / query.throughput_rows_per_s if per_s is not None and query.throughput_rows_per_s else None


def outside_s(batch: BatchParts) -> float | None:
    """Return the time of a batch outside of its tasks; None where its parts are not known."""
    return batch.total_s - batch.parts_s[IN_TASKS] if IN_TASKS in batch.parts_s else None


def cost_of(query: QueryReading, reading: Reading, known: BatchCost | None) -> BatchCost | None:
    """Return the cost of this query's batches with the partitions, slots and limit that it has now; None before a stage was seen."""
    partitions, limit = most_tasks(query), query.rate_limit_rows_per_s
    if partitions is None:
        return known
    limit_rows = None if limit is None else rows_per_batch(query.trigger, limit)
    known = known or BatchCost(partitions=partitions)
    return replace(known, partitions=partitions, cores_per_executor=slots_of(reading), limit_rows=limit_rows)


def latency_of(query: QueryReading, reading: Reading, known: BatchLatency | None, batches: Sequence[BatchMeasured]) -> BatchLatency | None:
    """Return the latency of this query's batches after some more of them, and after the latency measured with it where the job kept up and was warm."""
    cost = cost_of(query, reading, known.cost if known else None)
    if cost is None:
        return None
    model = replace(known, cost=cost) if known else BatchLatency(cost=cost, quantile=PROMISED_SHARE)
    seen: list[LatencyMeasured | BatchMeasured] = [*batches]
    rate, latency = query.arrival_rows_per_s, query.latency
    if rate is not None and latency is not None and latency.p95_s > 0 and query.excess_lag_rows == 0 and not batches[-1].warming:
        interval_s = interval_of(query.trigger, query.rate_limit_rows_per_s)
        seen.append(LatencyMeasured(interval_s=interval_s, rate_rows_per_s=rate, latency_s=latency.p95_s, executors=batches[-1].executors))
    return model.learn(seen)


def executor_uses(reading: Reading, autopilot: Autopilot) -> ExecutorUses | None:
    """Return all executors at one moment; None where anything about any of them is unknown: a sum over less is not the job.

    Tasks run longer while others take the CPU, which is not the use of the job.
    """
    if is_stalled(reading):
        return None
    plant, uses = plant_of(reading), []
    own = 1.0 - max((query.batch.taken or 0.0 for query in reading.active if query.batch is not None), default=0.0) if plant == "micro_batch" else 1.0
    for executor in reading.executors:
        busy = utilization(executor, plant, autopilot.executor_cpu_cores)
        if busy is None or executor.throughput_rows_per_s is None:
            return None
        uses.append(ExecutorUse(executor=executor.executor_id, utilization=own * busy, throughput_rows_per_s=executor.throughput_rows_per_s))
    if not uses:
        return None
    return ExecutorUses(at_s=reading.at_s, executors=len(uses), since_change_s=reading.since_disturbance_s, uses=tuple(uses))


def pace_seen(learnt: Learnt, reading: Reading, terms: Terms) -> PaceSeen | None:
    """Return the pace that this moment shows; None around a stop, and in micro-batches, whose law contains it.

    The job is overloaded if more than a window of work waits, so that it does all it can, and yet more arrives; not while it warms up.
    """
    done, executors, window_s, since_s = reading.throughput_rows_per_s, reading.executors_running, terms.config.reading_window_s, _since_stop_s(learnt, reading)
    if plant_of(reading) != "continuous" or not done or executors < 1 or since_s < window_s:
        return None
    profiled = learnt.t_max.predict(executors)
    if isinstance(profiled, NotReady):
        return None
    saturated = since_s >= learnt.capacity.by_utilization.warm_up_s and reading.has_work_for(window_s)
    return PaceSeen(share=done / profiled.value, overloaded=saturated and falls_short(reading))


def is_overloaded(learnt: Learnt, reading: Reading, terms: Terms) -> bool:
    """Return whether an open recovery is an overload: throughput is below arrivals for some readings, or still is after the time a recovery may take."""
    patience_s = learnt.health.abandoned_after_s if terms.promises.recovery_s is None else terms.promises.recovery_s
    began_s = min((each.at_s for each in learnt.health.open if each.kind != UNANNOUNCED), default=reading.at_s)
    return learnt.pace.is_short or (reading.at_s - began_s > patience_s and falls_short(reading))


def falls_short(reading: Reading) -> bool:
    done, rate = reading.throughput_rows_per_s, reading.arrival_rows_per_s
    return done is not None and rate is not None and done < rate


def _since_stop_s(learnt: Learnt, reading: Reading) -> float:
    """Return the seconds since the job runs again after its last disturbance, as far as downtimes are known."""
    since_s = reading.uptime_s if reading.since_disturbance_s is None else reading.since_disturbance_s
    return since_s - max(downtimes_of(learnt.downtimes).values())
