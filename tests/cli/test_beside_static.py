import pytest
from waved_job import TERMS, waved

from penstock.cli.demo import BesideStatic, beside_static
from penstock.core.domain.job_spec import JobSpec
from penstock.dashboard.summary import summarise
from penstock.runtime.fakes import blank_reading

SPEC = JobSpec(
    name="demo", folder=".", checkpoint="checkpoint", sources=(), queries=(), limits=TERMS.limits, promises=TERMS.promises, config=TERMS.config
)  # fmt: skip


@pytest.fixture(scope="module")
def found() -> BesideStatic:
    run = waved("sine(mean=800, amplitude=550, period=200, phase=150)", 220.0)
    return beside_static(run.readings, run.events, SPEC)


def test_a_policy_costs_less_than_the_maximum_and_it_is_said_which_numbers_were_measured(found: BesideStatic) -> None:
    assert found.policy == "hpa" and found.executors == 4
    assert found.measured.report.executor_s < found.measured.executor_s_at_maximum and found.measured.report.rescales >= 2
    rows = {name: (measured, static) for name, measured, static in found.rows()}
    assert rows["executor-seconds"][1].endswith("(computed)") and "%" in rows["executor-seconds"][0]
    assert "was not run" in found.note() and "simulated" in found.note()


def test_the_static_deployment_is_simulated_over_the_same_load(found: BesideStatic) -> None:
    assert found.static is not None and found.static.report.latency is not None and found.measured.report.latency is not None
    assert found.static.report.duration_s == pytest.approx(found.measured.report.duration_s, abs=15)
    assert found.static.report.latency.p95_s <= found.measured.report.latency.p95_s, "four executors all the time are no slower"
    assert found.static.report.executor_s == pytest.approx(4 * found.static.report.duration_s)


def test_where_no_row_was_finished_nothing_is_said_of_the_latency() -> None:
    run = waved("constant(0)", 70.0)
    rows = {name: (measured, static) for name, measured, static in beside_static(run.readings, run.events, SPEC).rows()}
    assert rows["latency p50, p95"] == ("not known", "not known") and rows["within 8s"] == ("not known", "not known")


def test_a_run_of_no_query_has_nothing_simulated_beside_it() -> None:
    readings = [blank_reading(2.0 * i, executors_running=1, executors_requested=1) for i in range(5)]
    found = beside_static(readings, [], SPEC)
    assert found.static is None and "latency is not known" in found.note() and found.policy == "as declared"
    assert found.measured == summarise(readings, [], SPEC.promises, 4)
