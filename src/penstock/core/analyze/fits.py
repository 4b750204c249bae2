"""Slow fits: when to ask for one, and how its result is taken in."""

from dataclasses import replace

from penstock.core.analyze.disturbances import tables_due
from penstock.core.domain.events.autopilot_events import FitFailed, FitTaken
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.learnt import Learnt
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.steering import Fits
from penstock.core.knowledge.terms import Terms
from penstock.core.models.forecast.combined import refit_due
from penstock.core.models.latency.profile_trial import FEWEST_POINTS, points
from penstock.core.models.usage import cadence_of_job

APART_S = 300.0
"""Time between two fits at least, failed ones included: no load changes its nature faster."""
NEWS = 0.05
"""A table is made anew when this share of its profile's rows is newer than it."""
BEYOND = 1.2
"""A table reaches this factor beyond the largest rate of its profile."""


def take_fits(knowledge: Knowledge, inputs: Inputs, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Take in the fit that is awaited, or give it up when its time is over; any other is dropped."""
    awaited, asked_s = knowledge.fits.number, knowledge.fits.asked_s
    if awaited is None:
        return knowledge, []
    done = next((each for each in inputs.fits if each.number == awaited), None)
    event: Event
    if done is not None:
        knowledge = replace(knowledge, learnt=_with(knowledge.learnt, done))
        failed = FitFailed(at_s=inputs.at_s, fit_number=awaited, reason=done.error)
        event = failed if done.error else FitTaken(at_s=inputs.at_s, fit_number=awaited, took_s=done.took_s)
    elif asked_s is not None and inputs.at_s - asked_s >= terms.config.fit_timeout_s:
        event = FitFailed(at_s=inputs.at_s, fit_number=awaited, reason=f"no result within {terms.config.fit_timeout_s:g} s")
    else:
        return knowledge, []
    return replace(knowledge, fits=replace(knowledge.fits, number=None)), [event]


def ask_fit(knowledge: Knowledge, at_s: float, terms: Terms, needs: frozenset[Need]) -> tuple[Knowledge, FitAsked | None]:
    """Return the fit that is due, one at a time."""
    fits, learnt = knowledge.fits, knowledge.learnt
    apart_s = terms.autopilot.scaled(APART_S)
    if fits.number is not None or (fits.asked_s is not None and at_s - fits.asked_s < apart_s):
        return knowledge, None
    load = learnt.load if "forecast" in needs and refit_due(learnt.load) else None
    profile = learnt.profile if "profile" in needs and table_due(learnt, terms.limits.max_executors) else None
    interval_s = None if knowledge.last is None else cadence_of_job(knowledge.last, terms.promises, terms.config.longest_batch_s).apart_s
    recoveries = {} if interval_s is None else tables_due(learnt, interval_s)
    if load is None and profile is None and not recoveries:
        return knowledge, None
    asked = FitAsked(number=fits.next_number, load=load, recoveries=recoveries, interval_s=interval_s or 0.0)
    if profile is not None:
        most = BEYOND * max(row.rate_rows_per_s for row in profile.observations)
        asked = replace(asked, profile=profile, executor_counts=tuple(range(1, terms.limits.max_executors + 1)), most_rows_per_s=most)
    return replace(knowledge, fits=Fits(number=asked.number, asked_s=at_s, next_number=asked.number + 1)), asked


def table_due(learnt: Learnt, most_executors: int) -> bool:
    """Return whether the profile can be tabulated, and was not, or has learnt more since, or the limits allow more executors than the table has."""
    profile, table = learnt.profile, learnt.table
    if table is None:
        return points(profile.observations) >= FEWEST_POINTS
    return table.executor_counts[-1] < most_executors or profile.rows - table.rows >= NEWS * len(profile.observations)


def _with(learnt: Learnt, done: FitDone) -> Learnt:
    return replace(
        learnt,
        load=learnt.load if done.fits is None else learnt.load.with_fits(done.fits),
        table=done.table or learnt.table,
        t_max=done.t_max or learnt.t_max,
        recovery_tables={**learnt.recovery_tables, **done.recovery_tables},
    )
