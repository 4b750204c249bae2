"""What was measured of a job beforehand, from a CSV file: latency by scale-out and rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.core.models.latency.phoebe import MOST_ROWS
from penstock.core.models.latency.profile import ProfileSeen
from penstock.core.models.surrogate.thinning import spread_out
from penstock.tables.column import Column
from penstock.tables.csv import read_csv

COLUMNS = (
    Column(name="scaleout", lowest=1, whole=True),
    Column(name="rate", lowest=0),
    Column(name="latency_ms", above=0),
    Column(name="valid", lowest=0, highest=1, whole=True, truth=True, optional=True, may_lack=True),
)


def read_profile(path: Path) -> list[ProfileSeen]:
    """All rows, or of too many an even choice over scale-outs and rates."""
    columns = read_csv(path, COLUMNS)
    kept = spread_out(np.unique(columns["scaleout"], return_inverse=True)[1], columns["rate"], MOST_ROWS)
    scaleouts, rates, latencies_ms = (columns[name][kept] for name in ("scaleout", "rate", "latency_ms"))
    valid = columns["valid"][kept] if "valid" in columns else np.full(len(rates), np.nan)
    return [
        ProfileSeen(scaleout=int(s), rate_rows_per_s=float(r), latency_s=float(ms) / 1000, valid=None if np.isnan(v) else bool(v))
        for s, r, ms, v in zip(scaleouts, rates, latencies_ms, valid, strict=True)
    ]
