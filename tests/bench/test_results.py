from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from short_comparison import short

from penstock.bench.compared_run import ORACLE
from penstock.bench.results import Results, compare, published_facts, with_profiling
from penstock.core.errors import UserMistake


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench") / "runs.jsonl"


@pytest.fixture(scope="module")
def results(store: Path) -> Iterator[Results]:
    yield compare(short(), store, "penstock bench", lambda done, total: None)


def test_every_policy_and_the_oracle_have_a_row_with_the_range_over_the_repetitions(results: Results) -> None:
    rows = {row.label: row for row in results.workloads[0].rows}
    assert set(rows) == {"static(4)", "hpa(80)", "daedalus", ORACLE} and results.repetitions == 2 and not results.failed
    assert rows["static(4)"].executors.low == rows["static(4)"].executors.high == 4.0
    assert rows["daedalus"].executors.low <= rows["daedalus"].executors.median <= rows["daedalus"].executors.high
    assert all(row.failures == 2 and len(row.recoveries_s) == 2 for row in rows.values())


def test_executor_seconds_are_relative_to_static_and_to_the_oracle_in_the_same_repetition(results: Results) -> None:
    rows = {row.label: row for row in results.workloads[0].rows}
    static, oracle = rows["static(4)"], rows[ORACLE]
    assert static.of_static is not None and static.of_static.median == 1.0 and oracle.of_oracle is not None and oracle.of_oracle.median == 1.0
    assert static.of_oracle is not None and oracle.of_static is not None
    assert static.of_oracle.median * oracle.of_static.median == pytest.approx(1.0, rel=0.1)


def test_the_fewest_seconds_of_violation_come_first_and_the_oracle_last(results: Results) -> None:
    rows = results.workloads[0].rows
    broken = [row.violation_s.median for row in rows[:-1] if row.violation_s is not None]
    assert rows[-1].label == ORACLE and broken == sorted(broken) and len(broken) == 3


def test_runs_that_were_made_are_not_made_again(results: Results, store: Path) -> None:
    counts = list[tuple[float, int]]()
    again = compare(short(), store, "penstock bench", lambda done, total: counts.append((done, total)))
    assert again.reused == 8 and counts == [(0, 0)] and again.workloads[0].rows == results.workloads[0].rows


def test_a_run_that_fails_is_named_and_the_others_stay(store: Path, results: Results) -> None:
    (workload,) = short().workloads
    broken = compare(
        replace(short(), workloads=(replace(workload, policies=(*workload.policies, "static(9)")),)), store, "penstock bench", lambda done, total: None
    )
    assert set(broken.failed) == {"wave, static(9), 1", "wave, static(9), 2"} and "a number of executors from 1 to 4" in next(iter(broken.failed.values()))
    assert broken.workloads[0].rows == results.workloads[0].rows


def test_nothing_that_ran_is_one_line(tmp_path: Path) -> None:
    wrong = replace(
        short(1).workloads[0], engine=replace(short(1).workloads[0].engine, partitions=1), limits=replace(short(1).workloads[0].limits, max_executors=2)
    )
    with pytest.raises(UserMistake, match="bench: no run has ended: "):
        compare(replace(short(1), workloads=(replace(wrong, loads=()),)), None, "penstock bench", lambda done, total: None)


def test_the_costs_of_profiling_fade_with_the_time_that_the_job_runs(results: Results) -> None:
    reports = results.workloads[0].reports
    profiled = tuple(replace(each, profiling_executor_s=7200.0) for each in reports["daedalus"])
    run, day, week = with_profiling(profiled, reports["static(4)"]) or (0.0, 0.0, 0.0)
    assert run > day > week > 0.0 and with_profiling(reports["daedalus"], reports["static(4)"]) is None


def test_what_the_papers_say_names_its_source_and_savings_agree_with_the_averages() -> None:
    facts = published_facts()
    assert facts["daedalus"]["wordcount"]["source"] and facts["phoebe"]["tsw"]["source"]
    for name in ("wordcount", "ysb", "traffic"):
        experiment = facts["daedalus"][name]
        saved = 1 - experiment["daedalus"]["average_executors"] / experiment["static(12)"]["average_executors"]
        assert saved == pytest.approx(experiment["daedalus"]["saved_against"]["static(12)"], abs=0.01)
