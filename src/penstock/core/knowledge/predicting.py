"""Predictions as the model that judged a configuration makes them: load, capacity, latency, and recoveries."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.disturbance import DisturbanceKind
from penstock.core.domain.prediction import Prediction, PredictionKind
from penstock.core.knowledge.assessment import Assessment
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate
from penstock.core.models.recovery.recovery_cost import failure_of, recovery_from_failure_s, rescale_recovery

LEAD_SHARES = (1 / 15, 1 / 3, 1.0)
"""Shares of the horizon at which a forecast is graded: 1, 5 and 15 of 15 minutes ahead."""
CHANGED_SHARE = 1 / 5
"""Until this share of the horizon the latency of a changed configuration waits for a healthy reading; then the load is another one."""


def load_predictions(seen: Assessment, configuration: Configuration) -> Iterator[Prediction]:
    """Return one prediction of the load for each lead: the mean of the last step before it, due when that step is over."""
    if seen.forecast is None:
        return
    low, high = seen.forecast.at(LOW_LEVEL), seen.forecast.at(HIGH_LEVEL)
    for share in LEAD_SHARES:
        step = max(1, round(share * len(seen.forecast.mean)))
        value, due_s = seen.forecast.mean[step - 1], seen.forecast.start_s + step * seen.forecast.step_s
        expected = Estimate(value=value, low=min(value, low[step - 1]), high=max(value, high[step - 1]))
        yield seen.predicted("forecast", expected, configuration, due_s=due_s, about=f"{share * seen.lasting_s:g} s")


def capacity_prediction(seen: Assessment, capacities: Mapping[int, Estimate], configuration: Configuration) -> tuple[Prediction, ...]:
    """Return the predicted capacity of a configuration; it is graded while the job is saturated, in micro-batches by any batch that is mostly rows."""
    known = capacities.get(configuration.executors)
    return () if known is None else (seen.predicted("capacity", known, configuration, expires_s=seen.at_s + seen.lasting_s),)


def latency_prediction(seen: Assessment, expected: Estimate | None, configuration: Configuration, *, changes: bool) -> tuple[Prediction, ...]:
    """Return the p95 latency of a configuration that keeps up; in overload it has no bound and is not predicted. After a change it waits for the recovery."""
    if expected is None or not math.isfinite(expected.high):
        return ()
    due_s, end_s = seen.at_s + LEAD_SHARES[0] * seen.lasting_s, seen.at_s + CHANGED_SHARE * seen.lasting_s
    return (seen.predicted("latency", expected, configuration, about="p95", due_s=due_s, expires_s=end_s if changes else None),)


def recovery_prediction(
    seen: Assessment, kind: DisturbanceKind, expected: Estimate | None, configuration: Configuration, *, by: PredictionKind = "recovery"
) -> tuple[Prediction, ...]:
    """Return the recovery from a disturbance, none where it never ends; it expires after three times its value."""
    if expected is None or not math.isfinite(expected.value):
        return ()
    return (seen.predicted(by, expected, configuration, about=kind, expires_s=seen.at_s + 3 * expected.value + seen.lasting_s),)


def bound_prediction(seen: Assessment, kind: DisturbanceKind, recovery_s: float | None, configuration: Configuration) -> tuple[Prediction, ...]:
    """Return the longest recovery from a failure within the horizon: a candidate is judged by a failure at the worst moment, so less is no error."""
    expected = None if recovery_s is None or not math.isfinite(recovery_s) else Estimate(value=recovery_s, low=0.0, high=recovery_s)
    return recovery_prediction(seen, kind, expected, configuration, by="recovery_bound")


def going_predictions(seen: Assessment, configuration: Configuration, *, failures: bool) -> tuple[Prediction, ...]:
    """Return the capacity of a configuration, the recovery from going there, and at worst from a failure there: always, or if it is live."""
    executors, known = configuration.executors, seen.capacities.get(configuration.executors)
    made = capacity_prediction(seen, seen.capacities, configuration)
    if known is None:
        return made
    if executors != seen.executors:
        kind, expected = rescale_recovery(seen, executors)
        made += recovery_prediction(seen, kind, expected, configuration)
        if kind in seen.stops and not failures:
            return made
    return made + bound_prediction(seen, failure_of(seen.plant), recovery_from_failure_s(seen, executors, known.value), configuration)


def identified(made: Iterable[Prediction], prefix: str, *, decision: int | None = None, policy: str = "", cause: str = "") -> tuple[Prediction, ...]:
    """Return predictions with their ids: that of the decision or failure they were made with, and their place."""
    return tuple(replace(each, id=f"{prefix}.{number}", decision=decision, policy=policy, cause=cause) for number, each in enumerate(made, start=1))
