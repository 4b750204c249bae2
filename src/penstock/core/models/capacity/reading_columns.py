"""Readings of workers in columns."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.readings import WorkersReading
from penstock.core.models.once import once


def as_arrays(readings: Sequence[WorkersReading]) -> tuple[Floats, Floats]:
    """Utilisation and throughput, a row for each moment and a column for each worker in the order of names."""
    both = np.array([_in_order(reading) for reading in readings])
    return both[:, 0], both[:, 1]


@once(32)
def _in_order(reading: WorkersReading) -> Floats:
    """Once, as a reading is looked at in every turn in which it waits to be judged."""
    ordered = sorted(reading.workers, key=attrgetter("worker"))
    return np.array([[worker.utilization for worker in ordered], [worker.throughput_rows_per_s for worker in ordered]], dtype=float)
