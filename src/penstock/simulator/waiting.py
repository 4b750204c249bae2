"""Rows that still wait when a record ends."""

from __future__ import annotations

import numpy as np

from penstock.core.shapes.chance import FloatArray
from penstock.simulator.ground_truth import Record


def waiting(record: Record) -> tuple[FloatArray, FloatArray]:
    """How long they have waited, and how many rows each number stands for. Rows are taken in their order, so those that wait are the last that came.

    A row is as old as the middle of the second it came in, but none is older than the oldest.
    """
    if record.parts:
        told = [waiting(part) for part in record.parts]
        return np.concatenate([age_s for age_s, _ in told]), np.concatenate([rows for _, rows in told])
    if len(record) == 0:
        return np.zeros(0), np.zeros(0)
    lag, oldest_s = float(record.column("lag_rows")[-1]), float(record.column("oldest_s")[-1])
    arrived = record.column("arrived_rows")[::-1]
    newer = np.cumsum(arrived) - arrived
    rows = np.clip(lag - newer, 0.0, arrived)
    known = rows > 0
    from_before = max(0.0, lag - float(rows.sum()))
    age_s = np.append(np.minimum(np.arange(len(arrived))[known] + 0.5, oldest_s), oldest_s)
    return age_s, np.append(rows[known], from_before)
