"""Predictions held against what came."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from penstock.core.analyze.predictions import AVERAGE
from penstock.core.domain.decision import Decision, asked_policy
from penstock.core.domain.events.autopilot import Graded
from penstock.core.domain.events.event import Event
from penstock.core.domain.prediction import Prediction
from penstock.core.domain.reading import Reading
from penstock.core.knowledge import Knowledge
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.forecast.series import Series
from penstock.core.steering import LAST_ERRORS
from penstock.core.terms import Terms

MOST_PENDING = 64
"""Predictions that wait; older ones are given up."""
LARGEST_ERROR = 2.0
"""What one of them counts at most: a single odd recovery says nothing about the rest."""


def grade(
    knowledge: Knowledge, at_s: float, terms: Terms, reading: Reading | None = None, measured: Sequence[RecoveryMeasured] = ()
) -> tuple[Knowledge, list[Event]]:
    """Judge the predictions whose time has come, by what is known now and the recoveries just measured; drop those that nothing can judge any more."""
    pending, errors = knowledge.steering.predictions, knowledge.steering.graded
    if not pending:
        return knowledge, []
    waiting: list[Prediction] = []
    events: list[Event] = []
    for number, each in enumerate(pending):
        if _superseded(each, pending[number + 1 :]):
            continue
        actual = _actual(each, knowledge, at_s, terms, reading, measured)
        if actual is not None:
            graded = _graded(each, at_s, actual)
            events.append(graded)
            errors = (*errors, _error(graded, terms))[-LAST_ERRORS:] if _blames(each, knowledge.steering.last) else errors
        elif _may_wait(each, knowledge, at_s, terms, measured):
            waiting.append(each)
    return replace(knowledge, steering=replace(knowledge.steering, predictions=tuple(waiting[-MOST_PENDING:]), graded=errors)), events


def _graded(made: Prediction, at_s: float, actual: float) -> Graded:
    return Graded(
        at_s=at_s,
        policy=made.policy,
        kind=made.kind,
        about=made.about,
        made_s=made.made_s,
        predicted=made.value,
        low=made.low,
        high=made.high,
        actual=actual,
        executors=made.executors,
    )


def _blames(made: Prediction, last: Decision | None) -> bool:
    """Whether its error speaks against the policy that decides now: not if another one made it."""
    own = not made.policy or (last is not None and asked_policy(made.policy) == asked_policy(last.policy))
    return own and made.kind in ("capacity", "recovery")


def _error(graded: Graded, terms: Terms) -> float:
    """Relative; none for a recovery that is off by less than readings can tell."""
    within = graded.kind == "recovery" and abs(graded.predicted - graded.actual) <= unseen_s(terms)
    return 0.0 if within else min(graded.error, LARGEST_ERROR)


def _superseded(made: Prediction, later: Sequence[Prediction]) -> bool:
    """Whether a later prediction of the same size's capacity replaces it: else one overload would grade a quarter of an hour of them."""
    return made.kind == "capacity" and any(each.kind == "capacity" and each.executors == made.executors for each in later)


def _actual(made: Prediction, knowledge: Knowledge, at_s: float, terms: Terms, reading: Reading | None, measured: Sequence[RecoveryMeasured]) -> float | None:
    """What came of a prediction; None as long as nobody knows."""
    if made.due_s is not None and at_s < made.due_s:
        return None
    match made.kind:
        case "forecast":
            return None if made.due_s is None else rate_before(knowledge.learnt.load.series, made.due_s)
        case "recovery" | "learnt_recovery":
            mine = next((each for each in measured if is_about(made, each, terms)), None)
            return mine.recovery_s if mine is not None and mine.alone else None
        case "capacity":
            return _at_work(made, knowledge, terms, reading)
        case "latency":
            return _in_health(made, knowledge, reading)


def _at_work(made: Prediction, knowledge: Knowledge, terms: Terms, reading: Reading | None) -> float | None:
    """The throughput of a job that works at its capacity, at the size that was meant."""
    if reading is None or reading.executors_running != made.executors or not is_saturated(reading, knowledge, terms):
        return None
    return reading.throughput_rows_per_s


def _in_health(made: Prediction, knowledge: Knowledge, reading: Reading | None) -> float | None:
    """The latency that was meant, outside of any recovery, at the size that was meant."""
    if reading is None or reading.latency is None or reading.executors_running != made.executors or knowledge.learnt.health.open:
        return None
    return reading.latency.p50_s if made.about == AVERAGE else reading.latency.p95_s


def _may_wait(made: Prediction, knowledge: Knowledge, at_s: float, terms: Terms, measured: Sequence[RecoveryMeasured]) -> bool:
    """Whether its time may still come. What was said of a size is void once neither desired nor proposed; a recovery once it was one of several."""
    if made.void_from_s is not None and at_s >= made.void_from_s:
        return False
    if made.kind in ("recovery", "learnt_recovery"):
        return not any(is_about(made, each, terms) for each in measured)
    proposal = knowledge.steering.proposal
    sizes = (knowledge.desired.executors, None if proposal is None else proposal.executors)
    return made.kind == "forecast" or made.executors in sizes


def is_about(made: Prediction, measured: RecoveryMeasured, terms: Terms) -> bool:
    """Whether a recovery is the one that was predicted: of the same kind, and begun when the prediction was made, as nearly as readings can tell."""
    return made.about == measured.kind and abs(made.made_s - measured.started_s) <= unseen_s(terms)


def unseen_s(terms: Terms) -> float:
    """Seconds that pass before a reading shows what happened: until the next one, two if it came too early, and the window it averages over."""
    return 2 * terms.config.reading_interval_s + terms.config.reading_window_s


def is_saturated(reading: Reading, knowledge: Knowledge, terms: Terms) -> bool:
    """Whether the job, past warm-up, has more than a whole window of work before it: what it does then is all that it can."""
    works = (reading.throughput_rows_per_s or 0.0) > 0
    return works and not knowledge.learnt.is_warming(reading) and reading.has_work_for(terms.config.reading_window_s)


def rate_before(series: Series, end_s: float) -> float | None:
    """The mean rate of the bin that ends at a time; None where nothing was seen in it.

    >>> rate_before(Series(first=2, sums=(10.0, 0.0, 9.0), counts=(2, 0, 1)), 30.0), rate_before(Series(), 30.0)
    (5.0, None)
    """
    place = math.floor(end_s / series.step_s - 0.5) - series.first
    return series.sums[place] / series.counts[place] if 0 <= place < len(series.sums) and series.counts[place] else None
