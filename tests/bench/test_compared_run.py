from dataclasses import fields, replace

import numpy as np
import pytest
from short_comparison import short

from penstock.bench.compared_run import MINUTE_S, ORACLE, SHARES, ComparedRun, latency_recovered_s, minutes_p95_s, planned
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Promises
from penstock.simulator.ground_truth import Record, Seconds
from penstock.stores.codec import decode, encode

WORKLOAD = short().workloads[0]


def test_a_run_has_what_it_cost_what_it_kept_and_how_well_it_was_predicted() -> None:
    made = ComparedRun(workload=WORKLOAD, label="daedalus", repetition=0).run(lambda share: None)
    assert made.report.duration_s == 1800.0 and 1.0 <= made.report.average_executors <= 4.0
    assert len(made.latency_at) == len(SHARES) and list(made.latency_at) == sorted(made.latency_at)
    assert made.latency_max_s == pytest.approx(made.latency_at[-1], abs=0.001) and 0 < made.latency_minutes_s < made.latency_max_s
    assert len(made.line.executors) == len(made.line.arriving_rows_per_s) == len(made.line.latency_s)
    failure = next(each for each in made.recoveries if each.kind == "kill")
    assert failure.at_s == 900.0 and failure.by_lag_s is not None and failure.predicted_s is not None
    assert {each.executors for each in made.capacities} == {1, 2, 3, 4} and all(abs(each.error) < 0.35 for each in made.capacities)
    assert decode(type(made), encode(made)) == made


def test_the_oracle_runs_its_schedule_on_the_plant_with_the_fewest_executor_seconds_of_all_that_keep_the_promise() -> None:
    oracle = ComparedRun(workload=WORKLOAD, label=ORACLE, repetition=0)
    plan, made = planned(WORKLOAD, oracle.setup), oracle.run(lambda share: None)
    static = ComparedRun(workload=WORKLOAD, label="static(4)", repetition=0).run(lambda share: None)
    assert made.executor_s == pytest.approx(plan.executor_s, rel=0.03) and made.executor_s < 0.8 * static.executor_s
    assert made.report.rescales == len(plan.changes) - 1 > 0
    assert made.report.within_promise is not None and made.report.within_promise > 0.97


def test_the_key_of_a_run_changes_with_its_policy_its_seed_and_its_plant_alone() -> None:
    run = ComparedRun(workload=WORKLOAD, label="hpa(80)", repetition=0)
    others = (
        replace(run, label="hpa(85)"),
        replace(run, repetition=1),
        replace(run, workload=replace(WORKLOAD, promises=Promises(latency_p95_s=9.0))),
        replace(run, workload=replace(WORKLOAD, faults=(Fault(at_s=5.0),))),
    )
    assert len({run.key, *(each.key for each in others)}) == 5
    assert run.key == ComparedRun(workload=replace(WORKLOAD, name="other"), label="hpa(80)", repetition=0).key


def test_a_minute_without_a_row_is_as_late_as_the_oldest_that_waits() -> None:
    record, nothing = Record(0.0), np.zeros(2 * MINUTE_S)
    waits = np.concatenate((np.zeros(MINUTE_S), np.arange(1.0, MINUTE_S + 1)))
    columns = {each.name: nothing for each in fields(Seconds)} | {"oldest_s": waits}
    record.append(Seconds(**columns))
    record.deliver(np.array([30.0, 60.0]), np.array([2.0, 5.0]), np.array([90.0, 10.0]))
    assert minutes_p95_s(record).tolist() == [5.0, 60.0]


def test_the_latency_has_recovered_with_the_first_minute_that_is_as_before_or_as_promised() -> None:
    minutes = np.array([1.0, 1.0, 9.0, 3.0, 1.0, 9.0])
    assert latency_recovered_s(minutes, 130.0, None) == 110.0 and latency_recovered_s(minutes, 130.0, 4.0) == 50.0
    assert latency_recovered_s(minutes, 300.0, 4.0) is None, "it had not by the end"
    assert latency_recovered_s(np.ones(9), 130.0, None) == 0.0, "nobody noticed"
