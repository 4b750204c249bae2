import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.models.arrays import Floats
from penstock.core.models.moments import MomentColumns, PairedMoments, Running

Pairs = list[tuple[float, float]]
PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(-1e6, 1e6)), max_size=30)


def of(pairs: Pairs) -> PairedMoments:
    return PairedMoments.of([x for x, _ in pairs], [y for _, y in pairs])


def numbers(moments: PairedMoments) -> Floats:
    return np.array([moments.count, moments.mean_x, moments.mean_y, moments.m2_x, moments.m2_y, moments.c_xy])


@settings(max_examples=30)
@given(PAIRS, PAIRS, PAIRS)
def test_batches_merge_to_the_whole_in_any_grouping(first: Pairs, second: Pairs, third: Pairs) -> None:
    scale = np.array([1.0, 1.0, 1e6, 100.0, 1e14, 1e8])
    for merged in (of(first).merged(of(second)).merged(of(third)), of(third).merged(of(second).merged(of(first)))):
        assert numbers(merged) / scale == pytest.approx(numbers(of(first + second + third)) / scale, rel=1e-9, abs=1e-12)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e5)), min_size=2, max_size=30))
def test_they_are_what_numpy_says(pairs: Pairs) -> None:
    moments, ((xx, xy), (_, yy)) = of(pairs), np.cov(np.array(pairs).T, bias=True) * len(pairs)
    assert [moments.m2_x, moments.m2_y / 1e10, moments.c_xy / 1e5] == pytest.approx([xx, yy / 1e10, xy / 1e5], rel=1e-6, abs=1e-9)


def test_a_large_offset_costs_no_precision() -> None:
    pieces = PairedMoments()
    for step in range(1000):
        pieces = pieces.merged(PairedMoments.of([1e9 + step % 2], [1e9 - step % 2]))
    assert [pieces.m2_x, pieces.c_xy] == pytest.approx([250.0, -250.0])


@settings(max_examples=30)
@given(PAIRS.filter(bool), st.floats(0.01, 1.0))
def test_decay_is_a_smaller_weight_for_every_pair(pairs: Pairs, factor: float) -> None:
    weighted = PairedMoments.of([x for x, _ in pairs], [y for _, y in pairs], [factor] * len(pairs))
    assert numbers(of(pairs).decayed(factor)) == pytest.approx(numbers(weighted), rel=1e-6, abs=1e-3)


def test_nothing_merged_with_nothing_is_nothing() -> None:
    assert PairedMoments().merged(PairedMoments.of([], [])) == PairedMoments()
    assert PairedMoments().spread_x == PairedMoments().unexplained_y() == 0.0


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 9), st.floats(0.0, 1.0))
def test_columns_decay_and_merge_as_each_pair_does(seed: int, columns: int, rows: int, factor: float) -> None:
    chance = np.random.default_rng(seed)
    xs, ys, weights = chance.uniform(0, 1, (rows, columns)), chance.uniform(0, 1e5, (rows, columns)), chance.uniform(0.1, 1, rows)
    before = [of(list(zip(chance.uniform(0, 1, size).tolist(), chance.uniform(0, 1e5, size).tolist(), strict=True))) for size in range(columns)]
    one_by_one = [each.decayed(factor).merged(PairedMoments.of(xs[:, column], ys[:, column], weights)) for column, each in enumerate(before)]
    together = MomentColumns.of_rows(np.array([numbers(each) for each in before]).T).decayed(factor).merged(MomentColumns.of(xs, ys, weights))
    for column, one in enumerate(one_by_one):
        assert numbers(together.at(column)) == pytest.approx(numbers(one), rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40))
def test_running_mean_and_deviation_are_those_of_all_values_together(values: list[float]) -> None:
    running = Running()
    for value in values:
        running = running.with_value(value)
    assert running.mean == pytest.approx(np.mean(values), abs=1e-6)
    assert running.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-4, rel=1e-6)
