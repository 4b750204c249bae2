"""Overload: a job that has work waiting and does less than arrives."""

from __future__ import annotations

from penstock.core.analyze.assess import downtimes_of
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.anomaly.disturbance import UNANNOUNCED
from penstock.core.models.capacity.pace import PaceSeen
from penstock.core.models.estimate import NotReady
from penstock.core.terms import Terms
from penstock.core.usage.utilization import plant_of


def pace_seen(learnt: Learnt, reading: Reading, terms: Terms) -> PaceSeen | None:
    """What this moment shows of the job's pace; None where nothing does, as around a stop, or in micro-batches, whose law tells by itself.

    It is overloaded if more than a whole window of work waits, so that the job does all it can, and yet more arrives; not while it warms up.
    """
    done, size, window_s, since_s = reading.throughput_rows_per_s, reading.executors_running, terms.config.reading_window_s, _since_stop_s(learnt, reading)
    if plant_of(reading) != "continuous" or not done or size < 1 or since_s < window_s:
        return None
    profiled = learnt.t_max.predict(size)
    if isinstance(profiled, NotReady):
        return None
    saturated = since_s >= learnt.capacity.by_utilization.warm_up_s and reading.has_work_for(window_s)
    return PaceSeen(share=done / profiled.value, overloaded=saturated and falls_short(reading))


def is_overloaded(learnt: Learnt, reading: Reading, terms: Terms) -> bool:
    """Whether a recovery is none: the job was seen to do less than arrives for some readings, or still does when it should have recovered by promise."""
    patience_s = learnt.health.abandoned_after_s if terms.promises.recovery_s is None else terms.promises.recovery_s
    began_s = min((each.at_s for each in learnt.health.open if each.kind != UNANNOUNCED), default=reading.at_s)
    return learnt.pace.is_short or (reading.at_s - began_s > patience_s and falls_short(reading))


def falls_short(reading: Reading) -> bool:
    done, rate = reading.throughput_rows_per_s, reading.arrival_rows_per_s
    return done is not None and rate is not None and done < rate


def _since_stop_s(learnt: Learnt, reading: Reading) -> float:
    """Seconds since the job runs again after what struck it last, as far as downtimes are known."""
    since_s = reading.uptime_s if reading.since_disturbance_s is None else reading.since_disturbance_s
    return since_s - max(downtimes_of(learnt.downtimes).values())
