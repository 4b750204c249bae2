import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.executor_lines import CapacityLine, have_lines, regression_lines
from penstock.core.models.moments import MomentColumns


def executors(seed: int) -> MomentColumns:
    """Some whose utilisation varies, some whose does not, some idle, some hardly seen."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(8):
        count, spread = int(chance.integers(1, 9)), float(chance.choice([0.0, 0.003, 0.2]))
        busy = np.clip(float(chance.choice([0.0, 0.4])) + spread * chance.normal(size=count), 0.0, 1.0)
        found.append(np.array(MomentColumns.of(busy[:, None], (1000.0 * busy + chance.uniform(0, 20, count))[:, None], np.ones(count)).rows)[:, 0])
    return MomentColumns.of_rows(np.array(found).T)


def numbers(line: CapacityLine) -> list[float]:
    return [line.intercept, line.slope, *line.variance, line.freedom]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 6.0))
def test_the_lines_of_several_executors_add_up(seed: int, overlap: float) -> None:
    seen, proportions = executors(seed), np.random.default_rng(seed).uniform(0.2, 1.0, 8)
    known = have_lines(seen)
    assert known.tolist() == [seen.at(place).count >= 3 and seen.at(place).mean_x > 0.0 for place in range(8)]
    if known.any():
        alone = [
            numbers(regression_lines(seen.where(np.arange(8) == place), overlap=overlap).along(proportions[[place]]).together())
            for place in np.flatnonzero(known)
        ]
        together = regression_lines(seen.where(known), overlap=overlap).along(proportions[known]).together()
        (*sums, _), factor = np.sum(alone, axis=0), 1.0 + 0.5 * (len(alone) - 1)
        expected = [*sums[:2], *(factor * variance for variance in sums[2:]), min(line[-1] for line in alone)]
        assert numbers(together) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_a_line_is_that_of_least_squares_with_its_standard_errors(seed: int) -> None:
    chance = np.random.default_rng(seed)
    busy = chance.uniform(0.1, 0.9, 12)
    rates = 1000.0 * busy - 30.0 + chance.normal(0, 20, 12)
    line = regression_lines(MomentColumns.of(busy[:, None], rates[:, None], np.ones(12)), overlap=1.0)
    (slope, intercept), covariance = np.polyfit(busy, rates, 1, cov=True)
    assert [line.slope[0], line.intercept[0], line.freedom[0]] == pytest.approx([slope, intercept, 10.0])
    expected = [covariance[1, 1], 2.0 * covariance[0, 1], covariance[0, 0]]
    assert [float(each[0]) for each in line.variance] == pytest.approx(expected, rel=1e-6)
