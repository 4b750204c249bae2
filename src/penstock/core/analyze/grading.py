"""Grade predictions by measured values."""

import math
from collections.abc import Sequence
from dataclasses import replace

from penstock.core.analyze.learn import LITTLE, batch_measured
from penstock.core.domain.decision import Decision, asked_policy
from penstock.core.domain.events.autopilot_events import Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.steering import LAST_ERRORS
from penstock.core.knowledge.terms import Terms
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.capacity.batch_cost import TELLING
from penstock.core.models.capacity.capacity_model import CapacityModel
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.series import Series
from penstock.core.models.usage import cadence_of_job, plant_of

MOST_PENDING = 64
"""Predictions that wait; older ones are given up."""
RECOVERIES = ("recovery", "recovery_bound", "learnt_recovery")
LARGEST_ERROR = 2.0
"""What one of them counts at most: a single odd recovery proves nothing about the rest."""


def grade(
    knowledge: Knowledge, at_s: float, terms: Terms, reading: Reading | None = None, measured: Sequence[RecoveryMeasured] = ()
) -> tuple[Knowledge, list[Event]]:
    """Grade the predictions that are due, by what is known now and the recoveries just measured; drop those that can no longer be graded."""
    pending, errors = knowledge.predictions, knowledge.trust.errors
    if not pending:
        return knowledge, []
    waiting: list[Prediction] = []
    events: list[Event] = []
    for number, each in enumerate(pending):
        if any(later.replaces(each) for later in pending[number + 1 :]):
            continue
        actual = _actual(each, knowledge, at_s, terms, reading, measured)
        if actual is not None:
            graded = _graded(each, at_s, actual)
            events.append(graded)
            errors = (*errors, _error(graded, terms))[-LAST_ERRORS:] if _blames(each, knowledge.schedule.last) else errors
        elif _may_wait(each, knowledge, at_s, measured):
            waiting.append(each)
    return replace(knowledge, predictions=tuple(waiting[-MOST_PENDING:]), trust=replace(knowledge.trust, errors=errors)), events


def _graded(made: Prediction, at_s: float, actual: float) -> Graded:
    return Graded(
        at_s=at_s, policy=made.policy, decision_id=made.decision, prediction=made.id, kind=made.kind, about=made.about, made_s=made.made_s,
        predicted=made.value, low=made.low, high=made.high, actual=actual, configuration=made.configuration,
    )  # fmt: skip


def _blames(made: Prediction, last: Decision | None) -> bool:
    """Return whether its error counts against the policy that decides now; predictions made by other policies are ignored."""
    own = not made.policy or (last is not None and asked_policy(made.policy) == asked_policy(last.policy))
    return own and made.kind in ("capacity", "recovery", "recovery_bound")


def _error(graded: Graded, terms: Terms) -> float:
    """Return the relative error; 0 for a recovery that is off by less than readings can show."""
    within = graded.kind in RECOVERIES and abs(graded.predicted - graded.actual) <= unseen_s(terms)
    return 0.0 if within else min(graded.error, LARGEST_ERROR)


def _actual(made: Prediction, knowledge: Knowledge, at_s: float, terms: Terms, reading: Reading | None, measured: Sequence[RecoveryMeasured]) -> float | None:
    """Return the actual value of a prediction; None as long as it is not known."""
    if (made.due_s is not None and at_s < made.due_s) or _is_overtaken(made, knowledge):
        return None
    match made.kind:
        case "forecast":
            return None if made.due_s is None else rate_before(knowledge.learnt.load.series, made.due_s)
        case "recovery" | "recovery_bound" | "learnt_recovery":
            mine = next((each for each in measured if made.cause and each.cause == made.cause), None)
            return mine.recovery_s if mine is not None and mine.alone else None
        case "capacity":
            return _at_work(made, knowledge, terms, reading)
        case "latency":
            return _in_health(made, knowledge, reading)


def _at_work(made: Prediction, knowledge: Knowledge, terms: Terms, reading: Reading | None) -> float | None:
    """Return the capacity that a job shows which runs with the configuration of the prediction: its throughput if it is saturated, or by its batches."""
    if reading is None or not _runs(made, reading):
        return None
    model = knowledge.learnt.capacity
    if model.by_batches is not None and plant_of(reading) == "micro_batch":
        return capacity_shown(model, reading, terms)
    return reading.throughput_rows_per_s if is_saturated(reading, knowledge, terms) else None


def capacity_shown(model: CapacityModel, reading: Reading, terms: Terms) -> float | None:
    """Return the capacity at the cost of a row that the batches of a reading show; None where these are mostly overhead, or others took much of the CPU."""
    laws = model.laws()
    measured = [batch_measured(query, reading, warming=False) for query in reading.active]
    batch = measured[0] if len(measured) == 1 else None
    if isinstance(laws, NotReady) or batch is None or batch.rows <= 0 or batch.taken > LITTLE:
        return None
    base_s = laws.best.base_s(batch.executors)
    if batch.own_s - base_s < TELLING * batch.own_s:
        return None
    cadence = cadence_of_job(reading, terms.promises, terms.config.longest_batch_s)
    shown = replace(laws.best, row_s=laws.best.row_s * (batch.own_s - base_s) / (laws.best.row_cost_s(batch.executors) * batch.rows))
    return shown.capacity_rows_per_s(batch.executors, cadence)


def _in_health(made: Prediction, knowledge: Knowledge, reading: Reading | None) -> float | None:
    """Return the latency of a job without an open recovery that runs with the configuration of the prediction."""
    if reading is None or reading.latency is None or not _runs(made, reading) or knowledge.learnt.health.open:
        return None
    return reading.latency.p95_s


def _runs(made: Prediction, reading: Reading) -> bool:
    """Return whether the job runs with the configuration of a prediction, all its executors included."""
    return made.configuration.holds_in(replace(reading.configuration, executors=reading.executors_running))


def _may_wait(made: Prediction, knowledge: Knowledge, at_s: float, measured: Sequence[RecoveryMeasured]) -> bool:
    """Return whether it can still be graded. Without a disturbance to wait for, it is void once its configuration is neither desired nor proposed."""
    if (made.void_from_s is not None and at_s >= made.void_from_s) or _is_overtaken(made, knowledge):
        return False
    if made.cause:
        return all(each.cause != made.cause for each in measured)
    proposal = knowledge.proposals.open
    meant = (knowledge.desired,) if proposal is None else (knowledge.desired, proposal.configuration)
    return made.kind == "forecast" or any(made.configuration.holds_in(each) for each in meant)


def _is_overtaken(made: Prediction, knowledge: Knowledge) -> bool:
    """Return whether it is of a configuration whose queries have changed since, other than by its own decision."""
    if made.kind not in ("capacity", "latency"):
        return False
    return any(each.change.queries and each.at_s > made.made_s and each.decision_id != made.decision for each in knowledge.applied)


def unseen_s(terms: Terms) -> float:
    """Return the longest delay in seconds until a reading shows an event: two reading intervals, and the window that a reading averages over."""
    return 2 * terms.config.reading_interval_s + terms.config.reading_window_s


def is_saturated(reading: Reading, knowledge: Knowledge, terms: Terms) -> bool:
    """Return whether the job, past warm-up, has more than a whole window of work before it: its throughput is then its capacity."""
    works = (reading.throughput_rows_per_s or 0.0) > 0
    return works and not knowledge.learnt.is_warming(reading) and reading.has_work_for(terms.config.reading_window_s)


def rate_before(series: Series, end_s: float) -> float | None:
    """Return the mean rate of the bin that ends at a time; None where nothing was seen in it.

    >>> rate_before(Series(first=2, sums=(10.0, 0.0, 9.0), counts=(2, 0, 1)), 30.0), rate_before(Series(), 30.0)
    (5.0, None)
    """
    return series.rate_in(math.floor(end_s / series.step_s - 0.5))
