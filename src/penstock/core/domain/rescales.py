"""How often a job was given another size."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from penstock.core.domain.reading import Reading


def rescales(readings: Sequence[Reading]) -> int:
    """Changes of the number of executors that was asked for, by readings in the order of time: what a policy decided, or an operator wanted.

    Executors that come late, or are lost, or are sent away once more because they were too many, change nothing of that.
    """
    return sum(before.executors_requested != after.executors_requested for before, after in pairwise(readings))
