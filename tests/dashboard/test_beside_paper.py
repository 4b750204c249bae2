from dataclasses import replace
from functools import partial

import pytest
from short_comparison import short

from penstock.bench.compared_run import SHARES, Recovered
from penstock.bench.results import Results, WorkloadResults, compare, rows_of
from penstock.dashboard.beside_paper import beside_paper, share_up_to

FAILURES = 8


@pytest.fixture(scope="module")
def results() -> Results:
    return compare(short(2), None, "penstock bench", lambda done, total: None)


@pytest.fixture(scope="module")
def like_phoebes(results: Results) -> WorkloadResults:
    """The same runs as those of an experiment of Phoebe's: eight failures, the last of which nothing recovers from in the first repetition."""
    (found,) = results.workloads

    def failing(repetition: int) -> tuple[Recovered, ...]:
        took_s = [100.0 + 10 * number + repetition for number in range(FAILURES - 1)] + [None if repetition == 0 else 200.0]
        return tuple(Recovered(kind="freeze", at_s=1.0, predicted_s=110.0, by_lag_s=each, by_latency_s=each) for each in took_s)

    report = partial(replace, profiling_executor_s=900.0)
    reports = {
        label: tuple(report(each, recoveries=failing(repetition)) for repetition, each in enumerate(found.reports[ours]))
        for label, ours in (("phoebe", "daedalus"), ("static(24)", "static(4)"))
    }
    workload = replace(found.workload, published=("phoebe", "tsw"))
    return WorkloadResults(workload=workload, rows=rows_of(workload, reports), reports=reports)


def test_averages_savings_and_errors_of_models_stand_beside_the_papers(results: Results) -> None:
    (found,) = results.workloads
    said = {(policy, measure): (ours, paper) for policy, measure, ours, paper in beside_paper(found)}
    row = next(each for each in found.rows if each.label == "daedalus")
    assert said["daedalus", "executors"] == (f"{row.executors.median:.1f}", "5.4") and said["daedalus", "mean p95 latency, s"][1] == "1.2"
    assert said["daedalus", "error of believed capacity"][1] == "below 5%" and "far" in said["daedalus", "error of the forecast"][0]
    assert not [each for each in said if each[0] != "daedalus"], "only a policy that both have"


def test_what_a_paper_does_not_have_is_left_out(results: Results) -> None:
    (found,) = results.workloads
    assert not list(beside_paper(replace(found, workload=replace(found.workload, published=None))))


def test_recoveries_are_medians_of_the_repetitions_and_what_took_too_long_is_not_a_number(like_phoebes: WorkloadResults) -> None:
    said = {(policy, measure): (ours, paper) for policy, measure, ours, paper in beside_paper(like_phoebes)}
    ours, paper = said["phoebe", "recoveries, s"]
    assert ours == "100 110 120 130 140 150 160 6m+" and paper == "145 170 200 175 175 210 240 210"


def test_savings_with_profiling_grow_with_the_time_that_the_job_runs(like_phoebes: WorkloadResults) -> None:
    said = {(policy, measure): float(ours.rstrip("%")) for policy, measure, ours, _ in beside_paper(like_phoebes) if "saved" in measure}
    run, day, week = (said["phoebe", f"saved against static, {each} with profiling"] for each in ("run", "day", "week"))
    assert run < day <= week <= said["phoebe", "saved against static, run"]


def test_the_share_of_rows_up_to_a_latency_is_read_from_its_quantiles(results: Results) -> None:
    report = replace(results.workloads[0].reports["daedalus"][0], latency_at=tuple(each * 2.0 for each in SHARES))
    assert share_up_to(report, 1.5) == 0.75 and share_up_to(report, -1.0) == 0.0
