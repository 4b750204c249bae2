import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from asked import found
from changes import scaled_to
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.beside_static import beside_static
from penstock.cli.whatif_table import ran_object
from penstock.core.config import Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.run_events import RunStarted
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import JobSpec, Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.domain.units import duration_words
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.redaction import Redactor
from penstock.core.report.run_report import RunReport, run_report
from penstock.hindsight.audit import AuditAsked, audit_of
from penstock.hindsight.from_eventlog import Watched
from penstock.runtime.controller import Controller
from penstock.runtime.home import JobFolder
from penstock.runtime.host import Host
from penstock.runtime.steady_clock import SteadyClock
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.stores.history import History
from penstock.stores.reader import HistoryReader
from penstock.stores.recorder import this_penstock
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import simulate

START_S, READING_S, WINDOW_S = 1_700_000_000.0, 10.0, 40.0
PROMISES = Promises(latency_p95_s=6.5, recovery_s=20.0)
TERMS = Terms(
    limits=Limits(max_executors=6), promises=PROMISES, config=Config(reading_interval_s=READING_S, reading_window_s=WINDOW_S),
    autopilot=Autopilot(mode="shadow", policy="hpa"),
)  # fmt: skip


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty minutes of a job in shadow that loses an executor, whose load makes some of its rows late; for five minutes nothing is recorded.

    Its readings look back over another window than usual.
    """
    path, clock = tmp_path_factory.mktemp("job") / "history.db", SimulatedClock(START_S)
    load = Load.of(Arrivals.through(START_S + np.arange(0, 2401, 20.0), 2600 + 900 * np.sin(np.arange(121) / 9)), START_S)
    settings = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, trigger=Trigger(interval_s=4.0), noise=0.03)
    plant = SimulatedPlant(MicroBatchEngine(settings, load, executors=4, faults=(Fault(at_s=START_S + 600.0),)), clock, TERMS.config)
    started = RunStarted(
        at_s=START_S, job="counts", master="embedded", mode="shadow", spark_version="4.3", resumed=False, max_executors=6, latency_p95_s=6.5, recovery_s=20.0
    )
    with History.open(path, config=TERMS.config, redactor=Redactor(), recorder=this_penstock()) as memory:
        controller = Controller(source=plant, actuator=plant, memory=memory, clock=clock, terms=TERMS, declared=scaled_to(4))
        controller.note([started])
        for number in range(240):
            clock.wait(READING_S)
            plant.advance()
            if not 120 <= number < 150:
                controller.step()
        controller.close()
    return path


@pytest.fixture(scope="module")
def readings(history: Path) -> list[Reading]:
    with HistoryReader.open(history) as reader:
        return list(reader.readings())


def report(readings: Sequence[Reading]) -> RunReport:
    return run_report(readings, PROMISES, window_s=WINDOW_S)


def page(history: Path, *options: str) -> dict[str, str]:
    """The summary on the page that `penstock history` draws."""
    drawn = history.parent / "page.html"
    done = CliRunner().invoke(app, ["history", "--file", str(history), "--plot", str(drawn), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", drawn.read_text()))


def words(report: RunReport) -> dict[str, str]:
    """How people read these numbers."""
    assert report.latency is not None and report.within_promise is not None and report.processed_rows is not None
    return {
        "duration": f"{duration_words(round(report.duration_s))}, {duration_words(round(report.gap_s))} not observed",
        "rows processed": f"about {float(f'{report.processed_rows:.3g}'):,.0f}",
        "latency p50, p95, p99": f"{report.latency.p50_s:.3g} s, {report.latency.p95_s:.3g} s, {report.latency.p99_s:.3g} s",
        "within the promise": f"{report.within_promise:.0%} of rows (6.5s promised)",
        "executor-seconds": f"{report.executor_s:,.0f} ({report.average_executors / 6:.0%} of {6 * report.duration_s:,.0f} with the maximum all the time)",
        "rescales": str(report.rescales),
        "failures": str(report.failures),
    }


def test_the_history_says_something_about_each_number(readings: list[Reading]) -> None:
    found = report(readings)
    assert (found.gap_s, found.failures, len(found.recoveries)) == (300.0, 1, 1) and found.violation is not None
    assert 0.5 < (found.within_promise or 0.0) < 0.95 and found.violation.latency_s > 0.0
    assert report(readings) != run_report(readings, PROMISES), "the window of the readings counts"


def test_the_page_of_a_history_and_readiness_show_the_report(history: Path, readings: list[Reading]) -> None:
    assert words(report(readings)).items() <= page(history).items()
    answer, expected = found("readiness", "--file", history), report(readings)
    assert (answer["run"]["executor_s"], answer["shadow_s"]) == (expected.executor_s, expected.duration_s)


def test_a_replay_compares_with_the_report_of_the_time_that_it_simulates(history: Path, readings: list[Reading]) -> None:
    recorded = found("replay", history, "--policy", "static")["recorded"]
    lasts_s = recorded["duration_s"] + 300.0
    expected = report([each for each in readings if each.at_s >= readings[-1].at_s - lasts_s])
    assert recorded == ran_object(expected) and expected.duration_s >= report(readings).duration_s - WINDOW_S
    assert words(expected).items() <= page(history, "--last", f"{lasts_s:g}s").items()


def test_an_audit_of_the_same_readings_has_the_same_costs(readings: list[Reading]) -> None:
    seen = Watched(name="counts", app_id="app-1", readings=tuple(readings), rows=4_800_000.0)
    audited = audit_of(Path("app-1"), seen, 4, AuditAsked(policies=("static",), promises=PROMISES), lambda share: None)
    assert audited.ran == run_report(readings, PROMISES) and audited.had_s == report(readings).executor_s
    assert audited.rows_per_s == 4_800_000.0 / audited.ran.duration_s
    assert audited.had_s == pytest.approx(audited.needed_s + audited.wasted_s - audited.short_s)


def test_status_and_the_demonstration_report_the_readings_that_they_have_seen(readings: list[Reading], tmp_path: Path) -> None:
    host = Host(folder=JobFolder("counts", tmp_path), terms=TERMS, clock=SteadyClock(), redactor=Redactor())
    for each in readings:
        host._show(each)
    assert host._report() == report(readings), "all of it is within the last hour"
    spec = JobSpec(
        name="counts", folder="", checkpoint="", sources=(), queries=(), limits=TERMS.limits, promises=PROMISES, config=TERMS.config, autopilot=TERMS.autopilot
    )
    shown = beside_static(readings, (), spec).measured.whole
    compared = [each for each in readings if each.at_s >= shown.report.from_s]
    assert shown.report == report(compared) and len(compared) > len(readings) / 2


def test_the_exact_report_of_a_simulation_is_near_the_report_by_its_readings() -> None:
    load = Arrivals.through(np.arange(0, 2401, 20.0), 2600 + 900 * np.sin(np.arange(121) / 9))
    engine = MicroBatchSettings(overhead_s=0.6, row_s=0.001, partitions=12, trigger=Trigger(interval_s=4.0), noise=0.03)
    ran = simulate(Setup(load=load, engine=engine, terms=replace(TERMS, autopilot=Autopilot(mode="active", policy="hpa"))))
    exact, seen = ran.report, run_report(ran.readings, PROMISES, ran.events, window_s=WINDOW_S)
    assert exact.latency is not None and seen.latency is not None and exact.within_promise is not None
    assert (exact.rescales, exact.failures) == (seen.rescales, seen.failures) and seen.rescales > 0
    for name in ("executor_s", "arrival_rows_per_s", "throughput_rows_per_s"):
        assert getattr(seen, name) == pytest.approx(getattr(exact, name), rel=0.05), name
    assert seen.latency.p95_s == pytest.approx(exact.latency.p95_s, rel=0.1) and seen.within_promise == pytest.approx(exact.within_promise, abs=0.05)


def test_a_price_of_an_executor_hour_shows_the_cost(history: Path, readings: list[Reading]) -> None:
    cost = found("history", "--file", history, "--price", "0.5")["report"]["cost"]
    assert cost == report(readings).executor_s / 7200.0
    shown = CliRunner().invoke(app, ["history", "--file", str(history), "--price", "0.5"]).output
    assert f"cost: {cost:,.2f} at 0.5 an executor-hour" in shown
