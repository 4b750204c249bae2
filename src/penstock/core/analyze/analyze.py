"""The A of MAPE-K: follow disturbances to their end, learn what a policy needs, grade what was predicted, assess for a decision."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.core.analyze.assess import assess, downtimes
from penstock.core.analyze.disturbances import Failure, failure_in, followed, is_calm, knowing_applied, knowing_failure, taught, with_recoveries
from penstock.core.analyze.fits import ask_fit, take_fits
from penstock.core.analyze.forecasts import current_forecast, forecast_due
from penstock.core.analyze.grading import grade, unseen_s
from penstock.core.analyze.learn import cost_events, learn, prepared
from penstock.core.analyze.predictions import caused_by, with_failure
from penstock.core.analyze.targets import watch_targets
from penstock.core.domain.disturbance import UNANNOUNCED
from penstock.core.domain.events.autopilot_events import Recovered
from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.fitting import FitAsked
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.terms import Terms
from penstock.core.models.anomaly.recovery_watch import RecoveryMeasured

NOTHING = Promises()


@dataclass(frozen=True, slots=True, kw_only=True)
class Analyzed:
    """The result of the phase. `seen` is the assessment, None if nothing needs one; `fit` is a slow fit to run in the background."""

    knowledge: Knowledge
    events: tuple[Event, ...] = ()
    seen: Assessment | None = None
    fit: FitAsked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """The result of one reading: new knowledge, the recoveries it completes, its failure, and the excess lag before that failure."""

    knowledge: Knowledge
    measured: tuple[RecoveryMeasured, ...] = ()
    failure: Failure | None = None
    lag_before_rows: float = 0.0
    events: tuple[Event, ...] = ()


def analyze(knowledge: Knowledge, inputs: Inputs, terms: Terms, needs: frozenset[Need], *, decides: bool) -> Analyzed:
    """Take in the newest reading and fits, grade predictions, and assess once; if a decision follows, for all executors that the limits allow.

    Disturbances are followed if anything is promised or the policy needs models; only the models it needs learn. Targets and fits are checked whenever a
    forecast is due.
    """
    at_s, taken, events = inputs.at_s, Taken(knowledge=knowledge), list[Event]()
    watches = bool(needs) or terms.promises != NOTHING
    due = watches and forecast_due(knowledge.outlook, at_s, terms)
    if watches:
        knowledge, events = take_fits(knowledge, inputs, terms)
        taken = Taken(knowledge=knowledge)
        if inputs.reading is not None:
            taken = read(knowledge, inputs.reading, terms, needs)
            events += taken.events
    teaches = bool(needs) and any(each.kind != UNANNOUNCED for each in taken.measured)
    knowledge, seen = taken.knowledge, None
    if knowledge.last is not None and (decides or due or teaches or (needs and taken.failure is not None)):
        knowledge, seen = assessed(knowledge, at_s, terms, needs, decides=decides)
    if teaches and seen is not None:
        knowledge, seen = with_lessons(knowledge, seen, taken.measured, terms, needs)
    if needs and taken.failure is not None and seen is not None:
        knowledge = with_failure(knowledge, seen, taken.failure, taken.lag_before_rows)
    events += recoveries(knowledge, taken.measured, at_s)
    fit = None
    if watches:
        knowledge, graded = grade(knowledge, at_s, terms, inputs.reading, taken.measured)
        events += graded
    if due and seen is not None:
        knowledge, named = watch_targets(knowledge, seen, terms.autopilot)
        knowledge, fit = ask_fit(knowledge, at_s, terms, needs)
        events += named
    return Analyzed(knowledge=knowledge, events=tuple(events), seen=seen, fit=fit)


def read(knowledge: Knowledge, reading: Reading, terms: Terms, needs: frozenset[Need]) -> Taken:
    """Take in one reading: what it shows of disturbances, then what it teaches a policy that needs models."""
    learnt = prepared(knowledge.learnt, reading, terms, needs)
    if learnt.profile_mark != knowledge.learnt.profile_mark:
        # The fit under way is about a profile that does not hold any more.
        knowledge = replace(knowledge, fits=replace(knowledge.fits, number=None, asked_s=None))
    learnt, applied = knowing_applied(learnt, knowledge.applied)
    for each in applied:
        knowledge = replace(knowledge, predictions=caused_by(knowledge.predictions, each))
    failure, lag_before_rows = failure_in(learnt, reading), learnt.excess_lag_rows
    if not needs and failure is None and is_calm(learnt.health, reading.at_s, terms.autopilot.scaled(terms.config.learn_interval_s)):
        return Taken(knowledge=knowledge)
    learnt, measured = followed(knowing_failure(learnt, reading, failure, unseen_s(terms)), reading, terms.config.reading_window_s)
    schedule = knowledge.schedule
    events: list[Event] = []
    if needs:
        known, learnt = learnt, learn(learnt, reading, terms, needs, schedule.decided_s)
        learnt, events = cost_events(known, learnt, reading)
        schedule = schedule.with_arrivals(reading)
    knowledge = replace(knowledge, learnt=learnt, schedule=schedule)
    return Taken(knowledge=knowledge, measured=measured, failure=failure, lag_before_rows=lag_before_rows, events=tuple(events))


def assessed(knowledge: Knowledge, at_s: float, terms: Terms, needs: frozenset[Need], *, decides: bool) -> tuple[Knowledge, Assessment]:
    """Return the assessment of this turn, and knowledge that keeps its forecast."""
    forecast = None
    if needs or not decides:
        knowledge, forecast = current_forecast(knowledge, at_s, terms, needs)
    limits, current = terms.limits, knowledge.steered(terms.autopilot.mode).executors
    allowed = range(limits.min_executors, limits.max_executors + 1) if decides else (limits.max_executors,)
    return knowledge, assess(knowledge, forecast, at_s, terms, needs, sorted({*allowed, current, knowledge.desired.executors}))


def with_lessons(
    knowledge: Knowledge, seen: Assessment, measured: Sequence[RecoveryMeasured], terms: Terms, needs: frozenset[Need]
) -> tuple[Knowledge, Assessment]:
    """Return knowledge that has learnt from recoveries, and the assessment with the downtimes they show."""
    executors, window_s = knowledge.desired.executors, terms.config.reading_window_s
    learnt = with_recoveries(taught(knowledge.learnt, measured, seen, executors, window_s), measured, seen, executors, window_s)
    return replace(knowledge, learnt=learnt), replace(seen, downtimes_s=downtimes(learnt, terms, seen.plant, needs))


def recoveries(knowledge: Knowledge, measured: Sequence[RecoveryMeasured], at_s: float) -> list[Event]:
    """Return the recoveries as events, each with the decision that caused it."""
    decisions = {each.cause: each.decision_id for each in knowledge.applied}
    return [
        Recovered(at_s=at_s, decision_id=decisions.get(each.cause), kind=each.kind, started_s=each.started_s, took_s=each.recovery_s, alone=each.alone)
        for each in measured
    ]
