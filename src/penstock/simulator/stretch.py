"""Seconds of a continuous query that are worked out ahead, and lived through bit by bit for as long as nothing else happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.continuous_settings import ContinuousSettings
from penstock.simulator.fluid import Flow
from penstock.simulator.ground_truth import Seconds

LEAST_CAPACITY = 1e-9
"""Rows/s: where others take everything, nothing is left to divide by."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """The same seconds as they flow, and as the record will keep them."""

    flow: Flow
    seconds: Seconds


def latency_s(flow: Flow, capacity_rows_per_s: FloatArray, paused_s: FloatArray, settings: ContinuousSettings) -> FloatArray:
    """Mean latency of the rows of each second, 0 where there are none: the way through, the queue of M/M/1, the wait in line.

    The capacity is what others leave of the workers.
    A pause p within a second also delays the rows that come in it, and those that queue behind them: by p^2 / 2 / (1 - u) on average.
    """
    utilization = np.minimum(0.95, flow.finished_rows / np.maximum(capacity_rows_per_s, LEAST_CAPACITY))
    queued_s = (settings.queue_s * utilization + paused_s**2 / 2) / (1 - utilization)
    return np.where(flow.finished_rows > 0, settings.base_s + queued_s + flow.wait_s, 0.0)


def seconds_of(flow: Flow, latency: FloatArray, *, workers: int, down: FloatArray, put_back: float) -> Seconds:
    """The seconds as the record keeps them; rows that are put back are so in the first."""
    replayed = np.zeros(len(down))
    replayed[0] = put_back
    return Seconds(
        workers=np.full(len(down), float(workers)),
        arrived_rows=flow.arrived_rows,
        finished_rows=flow.finished_rows,
        replayed_rows=replayed,
        lag_rows=flow.lag_rows[1:],
        latency_s=latency,
        oldest_s=flow.oldest_s,
        down=down,
    )
