"""The A of MAPE-K: follow disturbances to their end, learn what a policy needs, grade what was predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.analyze.assess import assessment
from penstock.core.analyze.disturbances import Failure, charged, failure_in, followed, is_calm, taught, told_of_failures, told_of_rescale
from penstock.core.analyze.fits import ask_fit, take_fits, without_fit
from penstock.core.analyze.forecasts import current_forecast, forecast_due
from penstock.core.analyze.grade import grade, unseen_s
from penstock.core.analyze.learn import learn
from penstock.core.analyze.model_setup import prepared
from penstock.core.analyze.predictions import foresee_by_learnt, foresee_failure
from penstock.core.analyze.recoveries import with_recoveries
from penstock.core.analyze.targets import watch_targets
from penstock.core.assessment import Assessment
from penstock.core.domain.events.autopilot import Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.job import Promises
from penstock.core.domain.reading import Reading
from penstock.core.fitting import FitAsked
from penstock.core.inputs import Inputs
from penstock.core.knowledge import Knowledge
from penstock.core.models.anomaly.disturbance import UNANNOUNCED
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured
from penstock.core.models.estimate import Estimate
from penstock.core.policies.policy import Need
from penstock.core.terms import Terms

NOTHING = Promises()


def analyze(knowledge: Knowledge, inputs: Inputs, terms: Terms, needs: frozenset[Need]) -> tuple[Knowledge, list[Event], FitAsked | None]:
    """Follow disturbances if anything is promised or the policy needs models, and learn only the models it needs.

    Returns the new knowledge, the events, and a fit to run elsewhere. The newest reading is the knowledge's last already. Targets and fits are looked at
    whenever a forecast is due.
    """
    if not needs and terms.promises == NOTHING:
        return knowledge, [], None
    due = forecast_due(knowledge.steering, inputs.at_s, terms)
    knowledge, events = take_fits(knowledge, inputs, terms)
    if inputs.outcomes:
        knowledge = replace(knowledge, learnt=charged(knowledge.learnt, knowledge.steering.rescale, inputs.outcomes))
    measured: tuple[RecoveryMeasured, ...] = ()
    if inputs.reading is not None:
        knowledge, measured = _read(knowledge, inputs.reading, terms, needs)
        events += [Recovered(at_s=inputs.at_s, kind=each.kind, started_s=each.started_s, took_s=each.recovery_s, alone=each.alone) for each in measured]
    knowledge, graded = grade(knowledge, inputs.at_s, terms, inputs.reading, measured)
    events += graded
    if knowledge.last is None or not due:
        return knowledge, events, None
    knowledge, seen = _assess_only(knowledge, inputs.at_s, terms, needs, [terms.limits.max_executors])
    knowledge, named = watch_targets(knowledge, seen, terms.autopilot)
    knowledge, asked = ask_fit(knowledge, inputs.at_s, terms, needs)
    return knowledge, [*events, *named], asked


def _read(knowledge: Knowledge, reading: Reading, terms: Terms, needs: frozenset[Need]) -> tuple[Knowledge, tuple[RecoveryMeasured, ...]]:
    """Take in one reading: what it shows of disturbances, then what it teaches a policy that needs to know, and what is foretold of a failure for it."""
    learnt = told_of_rescale(prepared(knowledge.learnt, reading, terms, needs), knowledge.steering.rescale)
    if learnt.profile_mark != knowledge.learnt.profile_mark:
        knowledge = without_fit(knowledge)
    failure, lag_before_rows = failure_in(learnt, reading), learnt.excess_lag_rows
    if not needs and failure is None and is_calm(learnt.health, reading.at_s, terms.autopilot.scaled(terms.config.learn_interval_s)):
        return knowledge, ()
    learnt, measured = followed(told_of_failures(learnt, reading, failure, unseen_s(terms)), reading, terms.config.reading_window_s)
    knowledge = replace(knowledge, learnt=learnt)
    if not needs:
        return knowledge, measured
    knowledge = _learned(knowledge, reading, measured, terms, needs)
    return knowledge if failure is None else _with_prediction(knowledge, reading.at_s, failure, lag_before_rows, terms, needs), measured


def _learned(knowledge: Knowledge, reading: Reading, measured: Sequence[RecoveryMeasured], terms: Terms, needs: frozenset[Need]) -> Knowledge:
    steering = knowledge.steering
    learnt = learn(knowledge.learnt, reading, terms, needs, steering.decided_s)
    if reading.arrival_rows_per_s is not None:
        steering = replace(steering, load=steering.load.with_rate(reading.arrival_rows_per_s))
    knowledge = replace(knowledge, learnt=learnt, steering=steering)
    return _taught(knowledge, reading.at_s, measured, terms, needs) if any(each.kind != UNANNOUNCED for each in measured) else knowledge


def _taught(knowledge: Knowledge, at_s: float, measured: Sequence[RecoveryMeasured], terms: Terms, needs: frozenset[Need]) -> Knowledge:
    executors = knowledge.desired.executors
    knowledge, seen = _assess_only(knowledge, at_s, terms, needs, [executors])
    learnt, window_s = knowledge.learnt, terms.config.reading_window_s
    return replace(knowledge, learnt=with_recoveries(taught(learnt, measured, seen, executors, window_s), measured, seen, executors, window_s))


def _with_prediction(knowledge: Knowledge, at_s: float, failure: Failure, lag_rows: float, terms: Terms, needs: frozenset[Need]) -> Knowledge:
    """The recovery from a failure is predicted when it is noticed, at the size that runs; by recoveries seen before where it is alone, as those were."""
    executors = knowledge.desired.executors
    knowledge, seen = _assess_only(knowledge, at_s, terms, needs, [executors])
    known, assumed_s = knowledge.learnt.downtimes.predict(failure.kind), seen.downtimes_s[failure.kind]
    downtime = known if isinstance(known, Estimate) else Estimate.exactly(assumed_s)
    table = knowledge.learnt.recovery_tables.get(failure.kind)
    made = [foresee_failure(seen, failure, executors, downtime, lag_rows)]
    if table is not None and len(knowledge.learnt.health.open) == 1:
        made.append(foresee_by_learnt(seen, table, failure, executors))
    predictions = (*knowledge.steering.predictions, *(each for each in made if each is not None))
    return replace(knowledge, steering=replace(knowledge.steering, predictions=predictions))


def _assess_only(knowledge: Knowledge, at_s: float, terms: Terms, needs: frozenset[Need], sizes: Sequence[int]) -> tuple[Knowledge, Assessment]:
    """An assessment of these sizes alone."""
    knowledge, forecast = current_forecast(knowledge, at_s, terms, needs)
    return knowledge, assessment(knowledge, forecast, at_s, terms, needs, sizes)
