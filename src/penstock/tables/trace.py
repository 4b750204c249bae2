"""A rate over time from a CSV file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.tables.clock import refuse_milliseconds
from penstock.tables.column import Column
from penstock.tables.csv import read_csv

COLUMNS = (Column(name="t"), Column(name="rate", lowest=0, may_lack=True))


def read_rates(path: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Times and rates in the order of time; cells without a rate are left out, of several rates at one time the mean counts."""
    columns = read_csv(path, COLUMNS)
    refuse_milliseconds(path, "t", columns["t"])
    known = ~np.isnan(columns["rate"])
    if not known.any():
        raise UserMistake(f"{path}: no row has a rate")
    time_s, place = np.unique(columns["t"][known], return_inverse=True)
    return time_s, np.bincount(place, weights=columns["rate"][known]) / np.bincount(place)


def read_trace(path: Path) -> Arrivals:
    """The trace as arrivals, linear between its points."""
    return Arrivals.through(*read_rates(path))
