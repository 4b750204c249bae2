"""The regressions of many workers at once are those of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.worker_lines import CapacityLine, have_lines, regression_line, regression_lines, together
from penstock.core.models.moments import MomentColumns, PairedMoments


def workers(seed: int) -> list[PairedMoments]:
    """Some that vary, some that do not, some idle, some hardly seen."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(8):
        count, spread = int(chance.integers(0, 9)), float(chance.choice([0.0, 0.003, 0.2]))
        busy = np.clip(float(chance.choice([0.0, 0.4])) + spread * chance.normal(size=count), 0.0, 1.0)
        found.append(PairedMoments.of(busy, 1000.0 * busy + chance.uniform(0, 20, count)))
    return found


def numbers(line: CapacityLine) -> list[float]:
    return [line.intercept, line.slope, *line.variance, line.freedom]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 6.0))
def test_many_workers_together_are_the_sum_of_each(seed: int, overlap: float) -> None:
    seen = workers(seed)
    proportions = np.random.default_rng(seed).uniform(0.2, 1.0, len(seen))
    lines = [regression_line(each, overlap=overlap) for each in seen]
    known = have_lines(MomentColumns.of(seen))
    assert known.tolist() == [line is not None for line in lines]
    if known.any():
        one_by_one = together([line.along(each) for line, each in zip(lines, proportions.tolist(), strict=True) if line])
        at_once = regression_lines(MomentColumns.of(seen).where(known), overlap=overlap).along(proportions[known]).together()
        assert numbers(at_once) == pytest.approx(numbers(one_by_one), rel=1e-9, abs=1e-12)
