from itertools import pairwise

import pytest

from penstock.bench.comparisons import FAILURES_APART_S, Comparison, daedalus, evenness, paper, phoebe, quick
from penstock.core.errors import UserMistake
from penstock.core.policies.registry import labelled
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings

COMPARISONS = [quick(2), daedalus(1), phoebe(1)]


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_the_largest_static_deployment_carries_the_peak_and_half_of_it_does_not(comparison: Comparison) -> None:
    for workload in comparison.workloads:
        peak, most = max(workload.loads[0].rate_rows_per_s), workload.limits.max_executors
        if isinstance(workload.engine, MicroBatchSettings):
            each = workload.engine.law.capacity_rows_per_s(most, workload.engine.cadence(workload.promises)) / most
        else:
            assert isinstance(workload.engine, ContinuousSettings)
            each = workload.engine.capacity_rows_per_s * evenness(workload.engine.skew, most)
        assert most * each > peak > 0.45 * most * each, workload.name


@pytest.mark.parametrize("comparison", COMPARISONS, ids=lambda comparison: comparison.name)
def test_all_labels_are_policies_and_the_largest_static_deployment_is_one_of_them(comparison: Comparison) -> None:
    for workload in comparison.workloads:
        assert all(labelled(label).name for label in workload.policies)
        assert f"static({workload.limits.max_executors})" in workload.policies and set(workload.checkpoint_first) <= set(workload.policies)


def test_phoebes_failures_are_far_enough_apart_and_near_the_rates_of_the_paper() -> None:
    for workload in phoebe(1).workloads:
        at_s = [fault.at_s for fault in workload.faults]
        assert len(at_s) == 8 and {fault.kind for fault in workload.faults} == {"freeze"}
        assert all(after - before >= FAILURES_APART_S for before, after in pairwise(at_s))
        rates = [workload.loads[0].rate(each) for each in at_s]
        assert max(rates) > 0.8 * max(workload.loads[0].rate_rows_per_s) and min(rates) < 0.4 * max(rates)


def test_a_paper_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UserMistake, match=r'--paper: found "khaos", daedalus or phoebe is allowed'):
        paper("khaos", 1)
