"""Times that were written in another unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from penstock.core.errors import UserMistake
from penstock.core.models.arrays import Floats

FIRST_MS, LAST_MS = 1e12, 1e13
"""Milliseconds since 1970 from 2001 to 2286; as seconds they are in no calendar."""


def refuse_milliseconds(path: Path, name: str, times: Floats) -> None:
    """A mistake where all times look like milliseconds since 1970: taken for seconds, every answer would be wrong."""
    if len(times) and np.all((times >= FIRST_MS) & (times < LAST_MS)):
        raise UserMistake(f"{path}: {name} looks like milliseconds since 1970, the first is {times[0]:.0f}; seconds are needed")
