"""Measurements from CSV files: a rate over time (a trace), and latency by executors and rate (a profile)."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.core.domain.profile import ProfileSeen
from penstock.core.errors import UserMistake
from penstock.core.models.latency.latency_by_executors import MOST_ROWS
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.surrogate.points import spread_out
from penstock.tables.csv import Column, read_csv, refuse_milliseconds

RATE_COLUMNS = (Column(name="t"), Column(name="rate", lowest=0, may_lack=True))


def read_rates(path: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return times and rates in the order of time; cells without a rate are left out, several rates at one time are averaged."""
    columns = read_csv(path, RATE_COLUMNS)
    refuse_milliseconds(path, "t", columns["t"])
    known = ~np.isnan(columns["rate"])
    if not known.any():
        raise UserMistake(f"{path}: no row has a rate")
    time_s, place = np.unique(columns["t"][known], return_inverse=True)
    return time_s, np.bincount(place, weights=columns["rate"][known]) / np.bincount(place)


def read_trace(path: Path) -> Arrivals:
    """Return the trace as arrivals, linear between its points."""
    return Arrivals.through(*read_rates(path))


PROFILE_COLUMNS = (
    Column(name="scaleout", lowest=1, whole=True),
    Column(name="rate", lowest=0),
    Column(name="latency_ms", above=0),
    Column(name="valid", lowest=0, highest=1, whole=True, truth=True, optional=True, may_lack=True),
)


def read_profile(path: Path) -> list[ProfileSeen]:
    """Return all rows of a profile; too many are thinned evenly over executors and rates."""
    columns = read_csv(path, PROFILE_COLUMNS)
    kept = spread_out(np.unique(columns["scaleout"], return_inverse=True)[1], columns["rate"], MOST_ROWS)
    executor_counts, rates, latencies_ms = (columns[name][kept] for name in ("scaleout", "rate", "latency_ms"))
    valid = columns["valid"][kept] if "valid" in columns else np.full(len(rates), np.nan)
    return [
        ProfileSeen(executors=int(s), rate_rows_per_s=float(r), latency_s=float(ms) / 1000, valid=None if np.isnan(v) else bool(v))
        for s, r, ms, v in zip(executor_counts, rates, latencies_ms, valid, strict=True)
    ]
