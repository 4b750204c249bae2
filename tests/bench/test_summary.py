from dataclasses import replace

import pytest
from short_comparison import short

from penstock.bench.compared_run import ORACLE
from penstock.bench.results import Results, Row, Spread, WorkloadResults, compare
from penstock.bench.summary import auto_targets, summary_of
from penstock.dashboard.comparison_page import comparison_page
from penstock.dashboard.comparison_table import markdown_of, summary_table


@pytest.fixture(scope="module")
def measured() -> WorkloadResults:
    return compare(short(1), None, "penstock bench", lambda done, total: None).workloads[0]


def row(like: Row, label: str, executor_s: float, broken_s: float) -> Row:
    spread = Spread(median=executor_s, low=executor_s, high=executor_s)
    return replace(like, label=label, executor_s=spread, violation_s=Spread(median=broken_s, low=broken_s, high=broken_s))


@pytest.fixture
def results(measured: WorkloadResults) -> Results:
    """Three live jobs: auto at 110, 130 and 120 % of the oracle, and a policy that is cheaper and breaks more, and one that breaks nothing at twice as much."""

    def job(number: int, of_auto: float) -> WorkloadResults:
        like = measured.rows[0]
        rows = (
            row(like, "auto", of_auto, 10.0 * number), row(like, "daedalus", 90.0, 300.0), row(like, "static(4)", 200.0, 0.0), row(like, ORACLE, 100.0, 5.0)
        )  # fmt: skip
        return replace(measured, workload=replace(measured.workload, name=f"live {number}"), rows=rows)

    comparison = replace(short(1), name="random-0", summarised=True)
    workloads = tuple(job(number, of_auto) for number, of_auto in enumerate((110.0, 130.0, 120.0)))
    return Results(comparison=comparison, repetitions=1, workloads=workloads, failed={}, reused=0, command="penstock bench --random 3")


def test_a_policy_is_summed_up_over_all_jobs_relative_to_the_oracle_of_each(results: Results) -> None:
    rows = {each.label: each for each in summary_of(results)}
    auto = rows["auto"]
    assert (auto.kind, auto.jobs, auto.of_oracle, auto.broken_s, auto.beyond_s) == ("live", 3, 1.2, 10.0, 5.0)
    assert auto.of_oracle_90 == pytest.approx(1.28) and rows["static"].of_oracle == 2.0 and rows[ORACLE].of_oracle == 1.0
    assert [each.label for each in summary_of(results)] == ["static", "auto", "daedalus", ORACLE]


def test_auto_is_to_be_near_the_oracle_and_to_break_no_more_than_the_best_faithful_policy(results: Results) -> None:
    near, broken = auto_targets(summary_of(results))
    assert (near.value, near.most, near.missed) == (1.2, 1.2, False)
    assert (broken.value, broken.most, broken.missed) == (10.0, 300.0, False) and "daedalus" in broken.what
    assert replace(near, value=1.21).missed and replace(near, value=1.21).words().endswith("MISSED")


def test_the_report_of_many_jobs_begins_with_the_summary_and_draws_no_figures(results: Results) -> None:
    page, text = comparison_page(results), markdown_of(results)
    assert page.index("Over all jobs") < page.index("live 0") and "<svg" not in page
    assert all(f"| {' | '.join(cells)} |" in text for cells in summary_table(results).rows) and "at most 1.2" in text
