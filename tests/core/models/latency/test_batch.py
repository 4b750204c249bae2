from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.latency.batch import latency_by_law_s, predict_batch_latency, settled_batch_s

LAWS = st.builds(BatchLaw, overhead_s=st.floats(0.05, 3.0), row_s=st.floats(1e-5, 1e-2), partitions=st.integers(1, 40))
INTERVALS = st.floats(0.1, 30.0)
SHARES = st.floats(0.0, 0.98)
SCALEOUTS = st.integers(1, 20)


def rate_at(law: BatchLaw, share: float, scaleout: int) -> float:
    """A rate by its share of what the rows cost: the batch grows for ever from 1 on."""
    return share / law.row_cost_s(scaleout)


@settings(max_examples=40)
@given(LAWS, SHARES, INTERVALS, SCALEOUTS)
def test_the_settled_batch_repeats_itself(law: BatchLaw, share: float, interval_s: float, scaleout: int) -> None:
    rate = rate_at(law, share, scaleout)
    duration_s = settled_batch_s(law, rate_rows_per_s=rate, interval_s=interval_s, scaleout=scaleout)
    assert law.duration_s(rate * max(interval_s, duration_s), scaleout) == pytest.approx(duration_s)


@settings(max_examples=40)
@given(LAWS, st.floats(0.01, 0.98), INTERVALS, SCALEOUTS)
def test_the_interval_is_kept_exactly_up_to_capacity(law: BatchLaw, share: float, interval_s: float, scaleout: int) -> None:
    rate, capacity = rate_at(law, share, scaleout), law.capacity_rows_per_s(scaleout, interval_s)
    assume(abs(rate - capacity) > 1e-6 * rate)
    assert (settled_batch_s(law, rate_rows_per_s=rate, interval_s=interval_s, scaleout=scaleout) <= interval_s) == (rate < capacity)


@settings(max_examples=40)
@given(LAWS, SHARES, SHARES, INTERVALS, SCALEOUTS, SCALEOUTS)
def test_latency_rises_with_the_rate_and_falls_with_executors(law: BatchLaw, one: float, other: float, interval_s: float, scaleout: int, added: int) -> None:
    few, many = (rate_at(law, share, scaleout) for share in sorted((one, other)))
    calm = latency_by_law_s(law, rate_rows_per_s=few, interval_s=interval_s, scaleout=scaleout)
    busy = latency_by_law_s(law, rate_rows_per_s=many, interval_s=interval_s, scaleout=scaleout)
    wide = latency_by_law_s(law, rate_rows_per_s=many, interval_s=interval_s, scaleout=scaleout + added)
    assert calm <= busy * (1 + 1e-9) and wide <= busy * (1 + 1e-9)


@settings(max_examples=40)
@given(LAWS, INTERVALS, SCALEOUTS, st.floats(1.0001, 5.0))
def test_latency_is_infinite_when_rows_cost_more_time_than_there_is(law: BatchLaw, interval_s: float, scaleout: int, share: float) -> None:
    assert latency_by_law_s(law, rate_rows_per_s=rate_at(law, share, scaleout), interval_s=interval_s, scaleout=scaleout) == math.inf


@settings(max_examples=40)
@given(LAWS, INTERVALS, SCALEOUTS, st.floats(10, 1e5))
def test_under_a_limit_of_rows_latency_is_finite_exactly_below_what_full_batches_carry(law: BatchLaw, interval_s: float, scaleout: int, limit: float) -> None:
    limited = replace(law, limit_rows=limit)
    carried = limit / max(interval_s, law.duration_s(limit, scaleout))
    below, above = (latency_by_law_s(limited, rate_rows_per_s=carried * factor, interval_s=interval_s, scaleout=scaleout) for factor in (0.999, 1.001))
    assert below < math.inf and above == math.inf


def test_the_mean_and_the_quantiles_are_those_of_simulated_batches() -> None:
    law, rate, interval_s = BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), 300.0, 5.0
    latencies, seen, start = [], 0, 0.0
    for _ in range(400):
        rows = int(start * rate) - seen
        end = start + law.duration_s(rows, 1)
        latencies += [end - (number + 1) / rate for number in range(seen, seen + rows)]
        seen, start = seen + rows, max(start + interval_s, end)
    settled = sorted(latencies[len(latencies) // 10 :])
    asked = {"rate_rows_per_s": rate, "interval_s": interval_s, "scaleout": 1}
    assert latency_by_law_s(law, **asked) == pytest.approx(sum(settled) / len(settled), rel=0.005)  # type: ignore[arg-type]
    for quantile in (0.5, 0.95, 0.99):
        assert latency_by_law_s(law, **asked, quantile=quantile) == pytest.approx(settled[int(quantile * len(settled))], rel=0.005)  # type: ignore[arg-type]


def test_a_quantile_outside_of_0_and_1_is_refused() -> None:
    with pytest.raises(ValueError, match="quantile"):
        latency_by_law_s(BatchLaw(overhead_s=1.0, row_s=0.001, partitions=1), rate_rows_per_s=1.0, interval_s=1.0, scaleout=1, quantile=95)


def test_bounds_of_the_batch_cost_reach_the_latency() -> None:
    law, chance = BatchLaw(overhead_s=0.5, row_s=0.001, partitions=12), random.Random(1)
    empty = BatchCost(partitions=12)
    assert isinstance(predict_batch_latency(empty, rate_rows_per_s=1.0, interval_s=2.0, scaleout=4), NotReady)
    batches = []
    for _ in range(30):
        rows = chance.uniform(500, 9000)
        batches.append(BatchMeasured(rows=rows, duration_s=law.duration_s(rows, 4) * chance.lognormvariate(0, 0.1), scaleout=4))
    cost = empty.learn(batches)
    widths = []
    for rate in (500.0, 2500.0, 3900.0):
        answer = predict_batch_latency(cost, rate_rows_per_s=rate, interval_s=2.0, scaleout=4, quantile=0.95)
        assert isinstance(answer, Estimate)
        widths.append(answer.high / answer.low)
    assert min(widths) > 1 and widths[2] == max(widths)
    beyond = predict_batch_latency(cost, rate_rows_per_s=9000.0, interval_s=2.0, scaleout=4)
    assert isinstance(beyond, Estimate) and beyond.value == math.inf
