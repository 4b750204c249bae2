"""Which capacity model to believe: the cost of micro-batches or the regression on utilisation, by how sure each is of the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.models.arrays import Flags, Floats
from penstock.core.models.estimate import Estimate
from penstock.core.models.estimates import Estimates

MICRO_BATCH = "micro-batch cost"
UTILIZATION = "utilisation regression"
TIMES_SURER = 2.0
"""The regression overrules the physical form where its bounds are more than this many times narrower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityChoice:
    """The model to use, and why in words for people."""

    model: str
    why: str


def choose_capacity_model(by_batches: Estimate, by_utilization: Estimate) -> CapacityChoice:
    """The micro-batch cost, which is the physical form and holds beyond what was seen, unless the regression of the paper is far surer.

    A capacity is asked for at a utilisation that was not seen yet. A regression may foretell every moment at the utilisations that were and still
    know little of it: that shows in its bounds, not in how well it fits.

    >>> choose_capacity_model(Estimate(value=100.0, low=90.0, high=110.0), Estimate(value=70.0, low=50.0, high=90.0)).why
    'the micro-batch cost says 100 rows/s, ± 10 %, the utilisation regression 70 rows/s, ± 29 %'
    """
    overruled = is_overruled(by_batches, by_utilization)
    said = f"the {MICRO_BATCH} says {words(by_batches)}, the {UTILIZATION} {words(by_utilization)}"
    return CapacityChoice(model=UTILIZATION if overruled else MICRO_BATCH, why=f"{said}: far surer" if overruled else said)


def is_overruled(by_batches: Estimate, by_utilization: Estimate) -> bool:
    """Whether the regression is far surer than the cost of micro-batches."""
    return TIMES_SURER * width(by_utilization) < width(by_batches)


def are_overruled(by_batches: Estimates, by_utilization: Estimates) -> Flags:
    """The same of each."""
    return np.asarray(TIMES_SURER * widths(by_utilization) < widths(by_batches))


def width(answer: Estimate) -> float:
    """Half the distance between the bounds, as a share of the value."""
    return (answer.high - answer.low) / 2 / answer.value if answer.value > 0.0 else float("inf")


def widths(answers: Estimates) -> Floats:
    """The same of each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(answers.value > 0.0, (answers.high - answers.low) / 2 / answers.value, np.inf)


def words(answer: Estimate) -> str:
    return f"{answer.value:,.0f} rows/s, ± {100 * width(answer):.0f} %"
