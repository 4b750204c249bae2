"""An anomaly that nobody announced and a disturbance that somebody knows of: whether they are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.core.models.anomaly.disturbance import UNANNOUNCED, Disturbance
from penstock.core.models.anomaly.recovered import RecoveryMeasured


def named(measured: RecoveryMeasured, known: Sequence[Disturbance], within_s: float) -> RecoveryMeasured:
    """The recovery as that from the known disturbance that struck when it began, give or take `within_s`: what a detector sees has no name.

    One that nobody knows of stays as it is, as it may have been an overload; where others struck before it was over, it is not alone.

    >>> seen = RecoveryMeasured(kind="unannounced", started_s=103.0, recovered_s=190.0)
    >>> named(seen, [Disturbance(kind="executor_loss", at_s=100.0)], within_s=15.0)
    RecoveryMeasured(kind='executor_loss', started_s=100.0, recovered_s=190.0, alone=True)
    >>> named(seen, [Disturbance(kind="executor_loss", at_s=150.0)], within_s=15.0)
    RecoveryMeasured(kind='unannounced', started_s=103.0, recovered_s=190.0, alone=False)
    """
    if measured.kind != UNANNOUNCED:
        return measured
    struck = [each for each in known if measured.started_s - within_s <= each.at_s < measured.recovered_s]
    cause = next((each for each in struck if each.at_s <= measured.started_s + within_s), None)
    if cause is None:
        return replace(measured, alone=measured.alone and not struck)
    return replace(measured, kind=cause.kind, started_s=cause.at_s, alone=measured.alone and len(struck) == 1)
