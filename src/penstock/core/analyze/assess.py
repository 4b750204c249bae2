"""The assessment that a policy decides from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.core.analyze.capacities import as_processed, batch_laws, by_slowest_query, capacities, paced, t_max_of, table_of
from penstock.core.analyze.forecasts import arrivals_of
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.cadence import Cadence
from penstock.core.domain.disturbance import RESCALES, SURVIVED, DisturbanceKind
from penstock.core.domain.reading import QueryReading, Reading, total
from penstock.core.domain.trigger import Plant, interval_of
from penstock.core.knowledge.assessment import Assessment, QueryAssessment, StageNeed
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.steering import Schedule
from penstock.core.knowledge.terms import Terms
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.recovery.downtime import LOST_EXECUTOR_S, Downtimes, Priors
from penstock.core.models.stage_rates import StageRates
from penstock.core.models.usage import cadence_of_job, plant_of, share_of, slots_of


def assess(knowledge: Knowledge, forecast: Forecast | None, at_s: float, terms: Terms, needs: frozenset[Need], executors: Sequence[int]) -> Assessment:
    """Return what is known for a decision among these numbers of executors. There must have been a reading."""
    reading, learnt, schedule = knowledge.last, knowledge.learnt, knowledge.schedule
    if reading is None:
        raise ValueError("nothing can be assessed before the first reading")
    plant, current = plant_of(reading), knowledge.steered(terms.autopilot.mode)
    cadence, queries = cadence_of_job(reading, terms.promises, terms.config.longest_batch_s), queries_of(knowledge, reading)
    batch_s = max((query.batch_s for query in queries if query.batch_s is not None), default=None) if plant == "micro_batch" else None
    load = total(query.load_rows_per_s for query in queries)
    if load is None:
        load = load_of(schedule, "", reading.arrival_rows_per_s)
    until_s = at_s + terms.autopilot.scaled(terms.config.forecast_interval_s)
    rate = peak_until(forecast, until_s, load) if needs & {"latency", "profile"} else None
    if rate is not None:
        queries = with_latencies(queries, learnt, reading, executors, rate)
    laws = batch_laws(learnt.capacity, reading)
    t_max = t_max_of(learnt, reading, laws, executors, cadence) if "profile" in needs else {}
    since_rescale_s = None if schedule.rescaled_s is None else by_readings(at_s - schedule.rescaled_s, terms.config.reading_interval_s)
    return Assessment(
        at_s=at_s,
        plant=plant,
        reading=reading,
        current=current,
        declared=knowledge.declared,
        limits=terms.limits.at_least(reading.least_executors),
        promises=terms.promises,
        cadence=cadence,
        uptime_s=by_readings(uptime_of(reading, since_rescale_s), terms.config.reading_interval_s),
        since_rescale_s=since_rescale_s,
        queries=queries,
        load_rows_per_s=load,
        batch_s=batch_s,
        slots_each=slots_of(reading),
        cpu_cores_each=terms.autopilot.executor_cpu_cores,
        capacities=capacities_now(learnt, reading, terms, executors, cadence) if needs & {"capacity", "regression"} else {},
        batch_laws=laws if needs & {"capacity", "regression", "stages", "profile"} else None,
        t_max=t_max,
        forecast=forecast,
        arrivals=arrivals_of(learnt.load.series, forecast, load, at_s, max(cadence.interval_s, batch_s or 0.0)),
        downtimes_s=downtimes(learnt, terms, plant, needs),
        stops=frozenset(RESCALES) - set(learnt.live) if plant == "continuous" else frozenset(),
        latencies={} if rate is None else job_latencies(queries, learnt, reading, executors, rate),
        table=table_of(learnt, reading, t_max) if "profile" in needs else None,
        stages=stage_needs(learnt.stages, reading) if "stages" in needs else (),
        earlier=schedule.earlier,
        memory=schedule.memory,
    )


def capacities_now(learnt: Learnt, reading: Reading, terms: Terms, executors: Sequence[int], cadence: Cadence) -> dict[int, Estimate]:
    """Return the capacity in rows/s by executors: as learnt, within what each query allows, and not less than what is processed now."""
    costs = {name: model.cost for name, model in learnt.batches.items()}
    known = by_slowest_query(capacities(learnt.capacity, executors, cadence), costs, reading, terms.promises, terms.config.longest_batch_s)
    return as_processed(known, reading, cadence)


def queries_of(knowledge: Knowledge, reading: Reading) -> tuple[QueryAssessment, ...]:
    """Return each query's own load, lag and cost."""
    models = knowledge.learnt.batches
    return tuple(
        QueryAssessment(
            name=query.name,
            trigger=query.trigger,
            load_rows_per_s=load_of(knowledge.schedule, query.name, query.arrival_rows_per_s),
            excess_lag_rows=query.excess_lag_rows,
            batch_s=None if query.batch is None else query.batch.total_s,
            cost=models[query.name].cost if query.name in models else None,
        )
        for query in reading.active
    )


def load_of(schedule: Schedule, query: str, arrival_rows_per_s: float | None) -> float | None:
    """Return the mean load since the last decision; before any reading is counted, the arrival rate of the reading."""
    known = schedule.loads.get(query)
    return arrival_rows_per_s if known is None else known.mean_rows_per_s


def by_readings(since_s: float, interval_s: float) -> float:
    """Return the seconds that a timer has run; up to half a reading interval more where that makes whole intervals.

    A decision is made at the reading nearest to its time (`is_due`), and readings come a little early or late: without this a timer of three periods
    would often last for four.

    >>> by_readings(179.9, 5.0), by_readings(180.1, 5.0), by_readings(177.4, 5.0)
    (180.0, 180.1, 177.4)
    """
    return max(since_s, interval_s * round(since_s / interval_s))


def uptime_of(reading: Reading, since_rescale_s: float | None) -> float:
    """Return the seconds since the start, the last disturbance or the last rescale, whichever was last."""
    return min(each for each in (reading.uptime_s, reading.since_disturbance_s, since_rescale_s) if each is not None)


def downtimes(learnt: Learnt, terms: Terms, plant: Plant, needs: frozenset[Need]) -> dict[str, float]:
    """Return downtimes as learnt, or as declared if none is learnt. In micro-batches a loss is counted when it is detected, so `detection_s` is added."""
    if needs or learnt.downtimes.learnt:
        found = downtimes_of(replace(learnt.downtimes, priors=priors_of(terms.autopilot, plant)))
    else:
        found = declared_downtimes(terms.autopilot, plant)
    if plant == "micro_batch" and "executor_loss" in found:
        found["executor_loss"] += terms.autopilot.detection_s
    return found


def downtimes_of(downtimes: Downtimes) -> dict[str, float]:
    """Return downtimes in seconds by kind of disturbance; a kind without data takes as long as a scale-up (Daedalus sec. 3.4)."""
    known = {kind: downtimes.predict(kind) for kind in KINDS}
    values = {kind: each.value for kind, each in known.items() if isinstance(each, Estimate)}
    return {kind: values.get(kind, values["rescale_up"]) for kind in known}


KINDS: tuple[DisturbanceKind, ...] = (*SURVIVED, *RESCALES, "reconfiguration")
"""Those whose downtime a decision rests on."""


def priors_of(autopilot: Autopilot, plant: Plant) -> Priors:
    """Return the downtimes declared by kind, else for any stop, else those of the papers' rescales. A lost executor does not stop micro-batches.

    >>> said = priors_of(Autopilot(downtime_s=110.0), "micro_batch")
    >>> said.of("query_restart"), said.of("rescale_down"), said.of("executor_loss")
    (110.0, 110.0, 2.0)
    >>> unsaid = priors_of(Autopilot(), "continuous")
    >>> unsaid.of("query_restart"), unsaid.of("rescale_down"), unsaid.of("executor_loss")
    (None, 15.0, None)
    """
    usual, known_s = Priors(), declared_downtimes(autopilot, plant)
    restart_s = {kind: known_s[kind] for kind in SURVIVED if kind in known_s}
    if plant == "micro_batch":
        restart_s.setdefault("executor_loss", LOST_EXECUTOR_S)
    return Priors(
        rescale_up_s=known_s.get("rescale_up", usual.rescale_up_s),
        rescale_down_s=known_s.get("rescale_down", usual.rescale_down_s),
        detection_s=0.0 if restart_s else None,
        restart_s=restart_s,
    )


def declared_downtimes(autopilot: Autopilot, plant: Plant) -> dict[str, float]:
    """Return the downtimes that the owner declares, by kind; that of any stop does not apply to an executor lost in micro-batches.

    >>> declared_downtimes(Autopilot(downtime_s=110.0, downtimes_s={"rescale_down": 20.0}), "micro_batch")
    {'query_restart': 110.0, 'rescale_down': 20.0, 'rescale_up': 110.0, 'reconfiguration': 110.0}
    """
    stops = [kind for kind in KINDS if plant == "continuous" or kind != "executor_loss"] if autopilot.downtime_s is not None else []
    return {**{kind: autopilot.downtime_s for kind in stops if autopilot.downtime_s is not None}, **autopilot.downtimes_s}


def with_latencies(
    queries: tuple[QueryAssessment, ...], learnt: Learnt, reading: Reading, executors: Sequence[int], rate: Estimate
) -> tuple[QueryAssessment, ...]:
    """Return the queries with the 95th percentile of their latency in s by executors, at their share of this rate of arrivals.

    The bounds are those of a single reading, not of the mean of many: a prediction is graded by a single reading.
    """
    if plant_of(reading) == "continuous":
        return queries
    found = []
    for query, read in zip(queries, reading.active, strict=True):
        model, interval_s = learnt.batches.get(query.name), interval_of(read.trigger, read.rate_limit_rows_per_s)
        arriving = rate.times(share_of(read, reading))
        answer = None if model is None else model.predict_each(rate_rows_per_s=arriving, interval_s=interval_s, executor_counts=executors)
        found.append(query if answer is None or isinstance(answer, NotReady) else replace(query, latencies=answer))
    return tuple(found)


def job_latencies(queries: Sequence[QueryAssessment], learnt: Learnt, reading: Reading, executors: Sequence[int], rate: Estimate) -> dict[int, Estimate]:
    """Return the latency of the job by executors: the worst of its queries; where tasks run all the time, that of a profile."""
    if plant_of(reading) == "continuous":
        table = paced(learnt)
        return {} if table is None else {each: _by_table(table, each, rate.value) for each in executors}
    if not queries or not all(query.latencies for query in queries):
        return {}
    return {each: max((query.latencies[each] for query in queries), key=lambda known: known.value) for each in executors}


def peak_until(forecast: Forecast | None, until_s: float, load_rows_per_s: float | None) -> Estimate | None:
    """Return the largest rate expected before a time, with bounds that hold for all rates until then; the load without a forecast."""
    if forecast is None:
        return None if load_rows_per_s is None else Estimate.exactly(load_rows_per_s)
    soon = forecast.first(max(1, math.ceil((until_s - forecast.start_s) / forecast.step_s)))
    peak, low, high = max(soon.mean), min(soon.at(LOW_LEVEL)), max(soon.at(HIGH_LEVEL))
    return Estimate(value=peak, low=max(0.0, min(peak, low)), high=max(peak, high))


def _by_table(table: LatencyTable, executors: int, rate_rows_per_s: float) -> Estimate:
    expected = table.at(executors, rate_rows_per_s)
    return Estimate(value=expected.latency_s, low=expected.latency_s, high=expected.latency_s if expected.valid else math.inf)


ALWAYS = 0.9
"""Tasks that run for such a share of the time run all the time."""


def stage_needs(models: Mapping[str, StageRates], reading: Reading) -> tuple[StageNeed, ...]:
    """Return every stage of every query, of which both the rate of a busy slot and the rows for each row of all sources are known; empty unless all are."""
    needs: list[StageNeed] = []
    for query in reading.active:
        share, model = share_of(query, reading), models.get(query.name, StageRates())
        for stage in query.stages:
            rate, selectivity = model.predict(stage.position), model.predict_selectivity(stage.position)
            if not isinstance(rate, Estimate) or not isinstance(selectivity, Estimate) or rate.value <= 0:
                return ()
            needs.append(StageNeed(position=len(needs), name=stage.name, rate_rows_per_s=rate.value, selectivity=share * selectivity.value))
    return tuple(needs)


def tells_work(query: QueryReading) -> bool:
    """Return whether the run time of its stages measures work: tasks that run all the time may be waiting, unless rows pile up.

    Flink reports how long tasks were busy, Spark in Real-Time Mode how long they ran, except for the pauses between batches.
    """
    if query.trigger.kind != "real_time" or query.excess_lag_rows:
        return True
    running = 1.0 - min(1.0, (query.boundary_pause_s or 0.0) / query.trigger.interval_s) if query.trigger.interval_s > 0 else 1.0
    return all(stage.run_time_s_per_s < ALWAYS * running * stage.tasks for stage in query.stages)
