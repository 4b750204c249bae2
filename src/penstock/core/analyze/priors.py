"""What is known of downtimes before any was seen."""

from __future__ import annotations

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.trigger import Plant
from penstock.core.models.anomaly.disturbance import RESCALES, SURVIVED
from penstock.core.models.recovery.downtime import LOST_EXECUTOR_S, Priors

KINDS = (*SURVIVED, *RESCALES)
"""Those whose downtime a decision rests on."""


def priors_of(autopilot: Autopilot, plant: Plant) -> Priors:
    """What the owner says of a kind, else of any stop; without a word, the papers' rescales. An executor lost in micro-batches stops nothing.

    >>> said = priors_of(Autopilot(downtime_s=110.0), "micro_batch")
    >>> said.of("query_restart"), said.of("rescale_down"), said.of("executor_loss")
    (110.0, 110.0, 2.5)
    >>> unsaid = priors_of(Autopilot(), "continuous")
    >>> unsaid.of("query_restart"), unsaid.of("rescale_down"), unsaid.of("executor_loss")
    (None, 15.0, None)
    """
    usual, known_s = Priors(), declared_downtimes(autopilot, plant)
    restart_s = {kind: known_s[kind] for kind in SURVIVED if kind in known_s}
    if plant == "micro_batch":
        restart_s.setdefault("executor_loss", LOST_EXECUTOR_S)
    return Priors(
        rescale_up_s=known_s.get("rescale_up", usual.rescale_up_s),
        rescale_down_s=known_s.get("rescale_down", usual.rescale_down_s),
        detection_s=0.0 if restart_s else None,
        restart_s=restart_s,
    )


def declared_downtimes(autopilot: Autopilot, plant: Plant) -> dict[str, float]:
    """What the owner says, by kind; a downtime said of any stop does not hold for an executor lost in micro-batches.

    >>> declared_downtimes(Autopilot(downtime_s=110.0, downtimes_s={"rescale_down": 20.0}), "micro_batch")
    {'query_restart': 110.0, 'rescale_down': 20.0, 'rescale_up': 110.0}
    """
    stops = [kind for kind in KINDS if plant == "continuous" or kind != "executor_loss"] if autopilot.downtime_s is not None else []
    return {**{kind: autopilot.downtime_s for kind in stops if autopilot.downtime_s is not None}, **autopilot.downtimes_s}
