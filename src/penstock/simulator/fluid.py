"""Rows as a fluid: lag, flow and waiting time, for many seconds at once."""

from dataclasses import dataclass

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.engine_settings import ContinuousSettings
from penstock.simulator.ground_truth import Seconds
from penstock.simulator.load import Rows

SLIVER_ROWS = 1e-3
"""A smaller lag is a rounding error."""
LEAST_CAPACITY = 1e-9
"""Rows/s, to divide by where other queries take the whole capacity."""
FULLEST = 0.95
"""The highest utilisation in the formula of the queue, which is infinite at 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flow:
    """Consecutive seconds. `edges_s`, `arrived_until`, `position` (rows processed) and `lag_rows` have an entry for each start and for the last end."""

    edges_s: FloatArray
    arrived_until: FloatArray
    position: FloatArray
    lag_rows: FloatArray
    arrived_rows: FloatArray
    finished_rows: FloatArray
    capacity_rows: FloatArray
    wait_s: FloatArray
    oldest_s: FloatArray

    def caught_up_s(self, part: slice, tolerance_s: float) -> float | None:
        """Return when in this part the lag of a running job first fell below what arrives within the tolerance; None if it did not."""
        caught_up = (self.lag_rows[1:] <= np.maximum(tolerance_s * self.arrived_rows, SLIVER_ROWS)) & (self.capacity_rows > 0)
        if not caught_up[part].any():
            return None
        second = part.start + int(np.argmax(caught_up[part]))
        behind, gained = float(self.lag_rows[second]), float(self.capacity_rows[second] - self.arrived_rows[second])
        return float(self.edges_s[second]) + (min(1.0, behind / gained) if gained > 0 else 0.0)


def waiting(lag_rows: float, arrived_rows: FloatArray, capacity_rows: FloatArray) -> FloatArray:
    """Return the lag at the start and after each second: L = max(0, L + arrived - capacity) (Lindley 1952).

    >>> waiting(10.0, np.array([5.0, 5.0, 5.0, 20.0]), np.array([12.0, 12.0, 12.0, 12.0])).tolist()
    [10.0, 3.0, 0.0, 0.0, 8.0]
    """
    net = np.cumsum(arrived_rows - capacity_rows)
    return np.concatenate(([lag_rows], net + np.maximum(lag_rows, -np.minimum.accumulate(net))))


def flowing(load: Rows, edges_s: FloatArray, position: float, capacity_rows_per_s: float, working: FloatArray) -> Flow:
    """Return the flow of a job that has processed `position` rows at the start; `working` is the share of each second in which it runs.

    Rows are processed in order; the rows of a second are taken to have waited since its middle row arrived.
    """
    arrived_until = load.rows_until(edges_s)
    arrived, capacity = np.diff(arrived_until), capacity_rows_per_s * working
    lag = waiting(float(arrived_until[0]) - position, arrived, capacity)
    positions = arrived_until - lag
    behind = lag > SLIVER_ROWS
    middle, count = (positions[:-1] + positions[1:]) / 2, len(capacity)
    came_s = load.arrived_s(np.concatenate((middle, positions[1:])) + SLIVER_ROWS)
    middle_s = (edges_s[:-1] + edges_s[1:]) / 2
    return Flow(
        edges_s=edges_s, arrived_until=arrived_until, position=positions, lag_rows=lag, arrived_rows=arrived,
        finished_rows=np.where(capacity > 0, np.maximum(np.diff(positions), 0.0), 0.0), capacity_rows=capacity,
        wait_s=np.where(behind[:-1] | behind[1:], np.maximum(middle_s - came_s[:count], 0.0), 0.0),
        oldest_s=np.where(behind[1:], np.maximum(edges_s[1:] - came_s[count:], 0.0), 0.0),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """Seconds that are computed ahead: their flow, and what is recorded of them."""

    flow: Flow
    seconds: Seconds


def latency_s(flow: Flow, capacity_rows_per_s: FloatArray, paused_s: FloatArray, settings: ContinuousSettings) -> FloatArray:
    """Return the mean latency of the rows of each second, 0 where there are none: base latency, M/M/1 queue and wait in line.

    The capacity is what other queries leave of the executors. A pause p in a second delays its rows, and those behind them, by p^2 / 2 / (1 - u) on average.
    """
    utilization = np.minimum(FULLEST, flow.finished_rows / np.maximum(capacity_rows_per_s, LEAST_CAPACITY))
    queued_s = (settings.queue_s * utilization + paused_s**2 / 2) / (1 - utilization)
    return np.where(flow.finished_rows > 0, settings.base_s + queued_s + flow.wait_s, 0.0)


def seconds_of(flow: Flow, latency: FloatArray, *, executors: int, down: FloatArray, put_back: float) -> Seconds:
    """Return the seconds to record; `put_back` rows are replayed from the first."""
    replayed = np.zeros(len(down))
    replayed[0] = put_back
    return Seconds(
        executors=np.full(len(down), float(executors)), arrived_rows=flow.arrived_rows, finished_rows=flow.finished_rows, replayed_rows=replayed,
        lag_rows=flow.lag_rows[1:], latency_s=latency, oldest_s=flow.oldest_s, down=down,
    )  # fmt: skip
