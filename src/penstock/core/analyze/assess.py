"""The assessment that a policy decides from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.analyze.capacities import capacities
from penstock.core.analyze.forecasts import arrivals_of, current_forecast
from penstock.core.analyze.job_shape import batch_of, interval_of, slots_of
from penstock.core.analyze.latencies import latencies, peak_until
from penstock.core.analyze.priors import KINDS, declared_downtimes, priors_of
from penstock.core.analyze.profiled import t_max_of, table_of
from penstock.core.analyze.stages import stage_needs
from penstock.core.assessment import Assessment
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Plant
from penstock.core.knowledge import Knowledge
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import RESCALES
from penstock.core.models.capacity.batch_law import LikelyLaws
from penstock.core.models.estimate import Estimate
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.recovery.downtime import Downtimes
from penstock.core.policies.policy import Need
from penstock.core.terms import Terms
from penstock.core.usage.utilization import plant_of


def assess(knowledge: Knowledge, at_s: float, terms: Terms, needs: frozenset[Need]) -> tuple[Knowledge, Assessment]:
    """What is known for a decision about all allowed sizes and the present one; the knowledge comes back as it keeps the forecast."""
    knowledge, forecast = current_forecast(knowledge, at_s, terms, needs) if needs else (knowledge, None)
    sizes = {*range(terms.limits.min_executors, terms.limits.max_executors + 1), knowledge.steered_executors(terms.autopilot.mode)}
    return knowledge, assessment(knowledge, forecast, at_s, terms, needs, sorted(sizes))


def assessment(knowledge: Knowledge, forecast: Forecast | None, at_s: float, terms: Terms, needs: frozenset[Need], sizes: Sequence[int]) -> Assessment:
    """The same, of these sizes only and with this forecast. There must have been a reading."""
    reading, learnt, steering = knowledge.last, knowledge.learnt, knowledge.steering
    if reading is None:
        raise ValueError("nothing can be assessed before the first reading")
    plant, current = plant_of(reading), knowledge.steered_executors(terms.autopilot.mode)
    interval_s, batch_s = interval_of(reading, terms.promises), batch_of(reading)
    load = steering.load.mean_rows_per_s if steering.load.count else reading.arrival_rows_per_s
    until_s = at_s + terms.autopilot.scaled(terms.config.forecast_interval_s)
    rate = peak_until(forecast, until_s, load) if needs & {"latency", "profile"} else None
    t_max = t_max_of(learnt, reading, sizes, interval_s) if "profile" in needs else {}
    since_rescale_s = None if steering.rescaled_s is None else by_readings(at_s - steering.rescaled_s, terms.config.reading_interval_s)
    return Assessment(
        at_s=at_s,
        plant=plant,
        reading=reading,
        current=current,
        declared=knowledge.declared.executors,
        limits=terms.limits.at_least(reading.least_executors),
        promises=terms.promises,
        interval_s=interval_s,
        uptime_s=by_readings(uptime_of(reading, since_rescale_s), terms.config.reading_interval_s),
        since_rescale_s=since_rescale_s,
        load_rows_per_s=load,
        batch_s=batch_s,
        slots_each=slots_of(reading),
        cpu_cores_each=terms.autopilot.executor_cpu_cores,
        capacities=capacities(learnt.capacity, sizes, interval_s) if needs & {"capacity", "regression"} else {},
        batch_laws=_batch_laws(learnt) if plant == "micro_batch" and needs & {"capacity", "regression"} else None,
        t_max=t_max,
        forecast=forecast,
        arrivals=arrivals_of(learnt.load.series, forecast, load, at_s, max(interval_s, batch_s or 0.0)),
        downtimes_s=downtimes(learnt, terms, plant, needs),
        stops=frozenset(RESCALES) - set(learnt.live) if plant == "continuous" else frozenset(),
        latencies={} if rate is None else latencies(learnt, reading, sizes, rate),
        table=table_of(learnt, reading, t_max) if "profile" in needs else None,
        stages=stage_needs(learnt.stages, reading) if "stages" in needs else (),
        earlier=steering.earlier,
        memo=steering.memo,
    )


def by_readings(since_s: float, interval_s: float) -> float:
    """Seconds that a timer has run; up to half a reading interval more where that makes whole intervals.

    A decision is made at the reading nearest to its time (`is_due`), and readings come a little early or late: without this a timer of three periods
    would often last for four.

    >>> by_readings(179.9, 5.0), by_readings(180.1, 5.0), by_readings(177.4, 5.0)
    (180.0, 180.1, 177.4)
    """
    return max(since_s, interval_s * round(since_s / interval_s))


def uptime_of(reading: Reading, since_rescale_s: float | None) -> float:
    """Seconds since the start, the last disturbance or the last rescale, whichever was last."""
    return min(each for each in (reading.uptime_s, reading.since_disturbance_s, since_rescale_s) if each is not None)


def downtimes(learnt: Learnt, terms: Terms, plant: Plant, needs: frozenset[Need]) -> dict[str, float]:
    """As learnt, or declared where nothing is learnt. A micro-batch job learns of a loss when it is noticed; to the owner it began before that."""
    if needs or learnt.downtimes.learnt:
        found = downtimes_of(replace(learnt.downtimes, priors=priors_of(terms.autopilot, plant)))
    else:
        found = declared_downtimes(terms.autopilot, plant)
    if plant == "micro_batch" and "executor_loss" in found:
        found["executor_loss"] += terms.autopilot.detection_s
    return found


def downtimes_of(downtimes: Downtimes) -> dict[str, float]:
    """Seconds by kind of disturbance; a failure of which nothing is known yet takes what scaling out does (Daedalus sec. 3.4)."""
    known = {kind: downtimes.predict(kind) for kind in KINDS}
    values = {kind: each.value for kind, each in known.items() if isinstance(each, Estimate)}
    return {kind: values.get(kind, values["rescale_up"]) for kind in known}


def _batch_laws(learnt: Learnt) -> LikelyLaws | None:
    laws = None if learnt.capacity.by_batches is None else learnt.capacity.by_batches.laws()
    return laws if isinstance(laws, LikelyLaws) else None
