"""What is predicted with a decision, and when something fails: each number is graded when its time has come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from penstock.core.analyze.batch_failures import by_laws, laws_of, outage_of
from penstock.core.analyze.capacities import carried_by
from penstock.core.analyze.disturbances import Failure
from penstock.core.analyze.recoveries import by_table
from penstock.core.assessment import Assessment
from penstock.core.domain.decision import Decision
from penstock.core.domain.prediction import Prediction, PredictionKind
from penstock.core.models.anomaly.disturbance import DisturbanceKind
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import Outage, phoebe_recovery_s
from penstock.core.models.recovery.predicted_recovery import RecoveryModel, by_formula, over_forecast
from penstock.core.models.recovery.recovery_cost import LiveRescale, downtime_s, repeated_s, transition_s
from penstock.core.models.recovery.recovery_regression import RecoveryTable

LEAD_SHARES = (1 / 15, 1 / 3, 1.0)
"""Shares of the horizon at which a forecast is graded: 1, 5 and 15 of 15 minutes ahead."""
CHANGED_SHARE = 1 / 5
"""Until this share of the horizon the latency of a changed size waits for a healthy reading; then the load is another one."""
LASTING_S = 900.0
"""Seconds for which a prediction about a size holds if no horizon is known."""
PERCENTILE, AVERAGE = "p95", "average"
"""Which latency was predicted: that of micro-batches, or the one of a profile."""


def foresee(seen: Assessment, decision: Decision, runs: int | None = None) -> tuple[Prediction, ...]:
    """The load ahead; capacity and latency of the size that was decided; and the recovery from going there.

    `runs` is the size that runs where the decision changes nothing (in shadow): only what is said of that one can be judged.
    """
    sizes = dict.fromkeys((decision.executors, decision.executors if runs is None else runs))
    of_sizes = [made for size in sizes for made in (*_capacity(seen, size), *_latency(seen, size, changes=decision.direction != "keep"))]
    made = (*_loads(seen, decision), *of_sizes, *_rescale(seen, decision))
    return tuple(replace(each, policy=decision.policy) for each in made)


def foresee_failure(seen: Assessment, failure: Failure, executors: int, downtime: Estimate, lag_rows: float) -> Prediction | None:
    """How long the job will need to recover from a failure just noticed; `lag_rows` waited before it. None where nothing can be said, or never ends.

    A query in micro-batches catches up batch by batch, anything else as a fluid. Where rows lag, what batches longer than their interval repeat is among them.
    """
    laws = laws_of(seen)
    if laws is not None:
        outage = outage_of(seen, executors, failure.at_s, failure.kind, lag_rows)
        expected = over_arrivals(seen, by_laws(laws, outage, failure.at_s, downtime), failure.at_s)
        return _recovery(seen, executors, failure.kind, expected)
    capacity = carried_by(seen, executors)
    if capacity is None:
        return None
    repeats_s = min(repeated_s(seen), 2 * seen.interval_s) if lag_rows > 0 else repeated_s(seen)
    fluid = Outage(at_s=failure.at_s, interval_s=repeats_s, downtime_s=downtime.value, lag_rows=lag_rows)
    return _recovery(seen, executors, failure.kind, expected_recovery(seen, capacity, fluid, downtime))


def foresee_by_learnt(seen: Assessment, table: RecoveryTable, failure: Failure, executors: int) -> Prediction | None:
    """What the recoveries seen so far say of this one (Khaos's M_R), beside what the formula says; None where none was like it."""
    expected = over_arrivals(seen, by_table(table, seen.interval_s, executors), failure.at_s)
    return _recovery(seen, executors, failure.kind, expected, by="learnt_recovery")


def expected_recovery(seen: Assessment, capacity: Estimate, outage: Outage, downtime: Estimate) -> Estimate | None:
    """Recovery from an outage over what has arrived and is forecast, with bounds from capacity, downtime and forecast; None without any arrivals."""

    def formula(arrivals: Arrivals, asked: Outage, capacity_rows_per_s: float) -> float:
        return phoebe_recovery_s(arrivals, replace(asked, lag_rows=outage.lag_rows), capacity_rows_per_s)

    return over_arrivals(seen, by_formula(capacity, downtime, outage.interval_s, formula=formula), outage.at_s)


def over_arrivals(seen: Assessment, model: RecoveryModel, at_s: float) -> Estimate | None:
    """A model asked about a failure at that time over what has arrived and is forecast; None without any arrivals."""
    if seen.arrivals is None:
        return None
    if seen.forecast is None:
        answer: Estimate | NotReady = model(seen.arrivals, at_s)
    else:
        points = zip(seen.arrivals.time_s, seen.arrivals.rate_rows_per_s, strict=True)
        history = [point for point in points if point[0] < seen.forecast.start_s]
        answer = over_forecast(model, seen.forecast, at_s=at_s, history=history)
    return answer if isinstance(answer, Estimate) else None


def lasting_s(seen: Assessment) -> float:
    """How long what is said of a size now can still be judged."""
    return LASTING_S if seen.forecast is None else seen.forecast.end_s - seen.forecast.start_s


def _loads(seen: Assessment, decision: Decision) -> Iterator[Prediction]:
    """One for each lead: the mean of the last step before it, due when that step is over."""
    if seen.forecast is None:
        return
    low, high = seen.forecast.at(LOW_LEVEL), seen.forecast.at(HIGH_LEVEL)
    for share in LEAD_SHARES:
        step = max(1, round(share * len(seen.forecast.mean)))
        value, due_s = seen.forecast.mean[step - 1], seen.forecast.start_s + step * seen.forecast.step_s
        expected = Estimate(value=value, low=min(value, low[step - 1]), high=max(value, high[step - 1]))
        yield _predicted(seen, "forecast", expected, decision.executors, due_s=due_s, about=f"{share * lasting_s(seen):g} s")


def _capacity(seen: Assessment, executors: int) -> Iterator[Prediction]:
    """Shown only by a job that works at it, if ever."""
    known = carried_by(seen, executors)
    if known is not None:
        yield _predicted(seen, "capacity", known, executors, expires_s=seen.at_s + lasting_s(seen))


def _latency(seen: Assessment, executors: int, *, changes: bool) -> Iterator[Prediction]:
    """The latency of a size that keeps up; in overload it has no bound, and is not predicted. Of a change of size it waits for the end of its recovery."""
    known = seen.latencies.get(executors)
    if known is not None and math.isfinite(known.high):
        about = PERCENTILE if seen.plant == "micro_batch" else AVERAGE
        due_s, end_s = seen.at_s + LEAD_SHARES[0] * lasting_s(seen), seen.at_s + CHANGED_SHARE * lasting_s(seen)
        yield _predicted(seen, "latency", known, executors, due_s=due_s, expires_s=end_s if changes else None, about=about)


def _rescale(seen: Assessment, decision: Decision) -> Iterator[Prediction]:
    """The recovery from a rescale: from an outage if it stops the job, else from its live transition; nothing if that leaves no lag."""
    now, new = carried_by(seen, decision.current), carried_by(seen, decision.executors)
    if decision.direction == "keep" or seen.arrivals is None or now is None or new is None:
        return
    kind: DisturbanceKind = "rescale_up" if decision.direction == "up" else "rescale_down"
    took_s, lag_rows = downtime_s(seen, kind), seen.excess_lag_rows
    if kind in seen.stops:
        outage = Outage(at_s=seen.at_s, interval_s=seen.interval_s, downtime_s=took_s, lag_rows=lag_rows)
        expected = expected_recovery(seen, new, outage, Estimate.exactly(took_s))
    else:
        rescale = LiveRescale(
            at_s=seen.at_s, ready_after_s=took_s, capacity_now_rows_per_s=now.value, capacity_new_rows_per_s=new.value, excess_lag_rows=lag_rows
        )
        lasts_s = transition_s(seen.arrivals, rescale)
        expected = Estimate.exactly(lasts_s) if lasts_s > 0 else None
    made = _recovery(seen, decision.executors, kind, expected)
    if made is not None:
        yield made


def _recovery(seen: Assessment, executors: int, kind: str, expected: Estimate | None, by: PredictionKind = "recovery") -> Prediction | None:
    """A predicted recovery; it expires after three times its value plus `lasting_s`."""
    if expected is None or not math.isfinite(expected.value):
        return None
    return _predicted(seen, by, expected, executors, expires_s=seen.at_s + 3 * expected.value + lasting_s(seen), about=kind)


def _predicted(
    seen: Assessment,
    kind: PredictionKind,
    expected: Estimate,
    executors: int,
    *,
    due_s: float | None = None,
    expires_s: float | None = None,
    about: str = "",
) -> Prediction:
    return Prediction(
        kind=kind,
        made_s=seen.at_s,
        value=expected.value,
        low=expected.low,
        high=expected.high,
        executors=executors,
        due_s=due_s,
        expires_s=expires_s,
        about=about,
    )
