"""Predictions of the recovery from a failure, made when it is noticed, and the disturbances that predictions wait for."""

from dataclasses import replace

from penstock.core.analyze.capacities import carried_by
from penstock.core.analyze.disturbances import Failure, by_laws, by_table, laws_of, outage_of
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.predicting import identified, recovery_prediction
from penstock.core.knowledge.steering import Applied
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.outage import Outage
from penstock.core.models.recovery.predicted_recovery import expected_recovery, over_arrivals
from penstock.core.models.recovery.recovery_cost import repeated_s


def with_failure(knowledge: Knowledge, seen: Assessment, failure: Failure, lag_rows: float) -> Knowledge:
    """Return knowledge with the predicted recovery from a failure just noticed: by a formula, and by M_R if no other disturbance is open."""
    configuration, learnt = knowledge.desired, knowledge.learnt
    known, assumed_s = learnt.downtimes.predict(failure.kind), seen.downtimes_s[failure.kind]
    downtime = known if isinstance(known, Estimate) else Estimate.exactly(assumed_s)
    made = recovery_prediction(seen, failure.kind, failure_recovery(seen, failure, configuration, downtime, lag_rows), configuration)
    table = learnt.recovery_tables.get(failure.kind)
    if table is not None and len(learnt.health.open) == 1 and seen.arrivals is not None:
        expected = over_arrivals(by_table(table, seen.cadence.apart_s, configuration.executors), seen.arrivals, seen.forecast, failure.at_s)
        made += recovery_prediction(seen, failure.kind, expected, configuration, by="learnt_recovery")
    new = identified(made, f"failure {failure.number}", policy="", cause=failure.cause)
    return replace(knowledge, predictions=(*tested_by(knowledge.predictions, failure, configuration), *new))


def failure_recovery(seen: Assessment, failure: Failure, configuration: Configuration, downtime: Estimate, lag_rows: float) -> Estimate | None:
    """Return how long the job needs to recover from a failure just noticed; `lag_rows` waited before it. None where that is not known.

    A query in micro-batches catches up batch by batch, anything else as a fluid. Where rows lag, what batches longer than their interval repeat is among them.
    """
    if seen.arrivals is None:
        return None
    laws = laws_of(seen)
    if laws is not None:
        outage = outage_of(seen, configuration.executors, failure.at_s, failure.kind, lag_rows)
        return over_arrivals(by_laws(laws, outage, failure.at_s, downtime), seen.arrivals, seen.forecast, failure.at_s)
    capacity = carried_by(seen, configuration.executors)
    if capacity is None:
        return None
    repeats_s = min(repeated_s(seen), 2 * seen.cadence.cycle_s) if lag_rows > 0 else repeated_s(seen)
    fluid = Outage(at_s=failure.at_s, interval_s=repeats_s, downtime_s=downtime.value, lag_rows=lag_rows)
    return expected_recovery(seen.arrivals, seen.forecast, capacity, fluid, downtime)


def tested_by(predictions: tuple[Prediction, ...], failure: Failure, configuration: Configuration) -> tuple[Prediction, ...]:
    """Return predictions in which the bounds of this kind of failure, at the configuration that runs, wait for the recovery from this one."""

    def is_tested(made: Prediction) -> bool:
        return made.kind == "recovery_bound" and not made.cause and made.about == failure.kind and made.configuration.holds_in(configuration)

    return tuple(replace(made, cause=failure.cause) if is_tested(made) else made for made in predictions)


def caused_by(predictions: tuple[Prediction, ...], applied: Applied) -> tuple[Prediction, ...]:
    """Return predictions in which those made with the decision that is applied wait for the recovery from it."""

    def is_caused(made: Prediction) -> bool:
        return made.decision is not None and made.decision == applied.decision_id and made.kind == "recovery" and made.about in applied.change.costs

    return tuple(replace(made, cause=applied.cause) if is_caused(made) else made for made in predictions)
