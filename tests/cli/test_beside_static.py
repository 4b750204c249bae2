import pytest
from waved_job import TERMS, waved

from penstock.cli.beside_static import BesideStatic, beside_static
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
    assert found.measured.whole.report.executor_s < found.measured.whole.executor_s_at_maximum and found.measured.whole.report.rescales >= 2
    rows = {name: (measured, static) for name, measured, static in found.rows()}
    assert rows["executor-seconds"][1].endswith("(100% of the maximum)") and "%" in rows["executor-seconds"][0]
    assert "was measured" in found.note() and "was simulated" in found.note()


def test_the_static_deployment_is_simulated_over_the_same_load(found: BesideStatic) -> None:
    assert found.static is not None
    static, measured = found.static.whole.report, found.measured.whole.report
    assert static.latency is not None and measured.latency is not None
    assert static.duration_s == pytest.approx(measured.duration_s, abs=15)
    assert static.latency.p95_s <= measured.latency.p95_s, "four executors all the time are no slower"
    assert static.executor_s == pytest.approx(4 * static.duration_s)


def test_the_first_minute_is_left_out_of_the_second_share_and_a_later_begin_of_the_load_of_everything() -> None:
    run = waved("sine(mean=800, amplitude=550, period=200, phase=150)", 220.0)
    found = beside_static(run.readings, run.events, SPEC, from_s=run.readings[0].at_s + 100.0)
    assert found.measured.whole.report.from_s == pytest.approx(run.readings[0].at_s + 100.0, abs=3)
    assert found.started.report.from_s == run.readings[0].at_s
    (row,) = (row for row in found.rows() if row[0] == "with the warm-up")
    assert row[1].startswith(f"{found.started.report.executor_s:,.0f} (") and row[2] == f"{4 * found.started.report.duration_s:,.0f} (100% of the maximum)"
    assert found.measured.later.report.from_s == pytest.approx(found.measured.whole.report.from_s + 60.0, abs=3)
    assert found.static is not None and found.static.whole.report.duration_s == pytest.approx(found.measured.whole.report.duration_s, abs=3)


def test_where_no_row_was_finished_nothing_is_said_of_the_latency() -> None:
    run = waved("constant(0)", 70.0)
    rows = {name: (measured, static) for name, measured, static in beside_static(run.readings, run.events, SPEC).rows()}
    assert rows["latency p50, p95"] == ("not known", "not known") and rows["within 8s"] == ("not known", "not known")


def test_a_run_of_no_query_has_nothing_simulated_beside_it() -> None:
    readings = [blank_reading(2.0 * i, executors_running=1, executors_requested=1) for i in range(5)]
    found = beside_static(readings, [], SPEC)
    assert found.static is None and "was not run" in found.note() and found.policy == "as declared"
    assert found.measured.whole == summarise(readings, [], SPEC.promises, 4)
