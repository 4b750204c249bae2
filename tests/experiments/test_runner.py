import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

from penstock.core.domain.autopilot import Autopilot, Chosen
from penstock.core.domain.configuration import Configuration, QueryConfiguration
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import JobSpec, Limits, Promises, QuerySpec, SinkSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.report.run_report import RunReport
from penstock.experiments.cell import Cell, Observed, SimulatedJob, SparkJob, following
from penstock.experiments.runner import CellStore, run_cells
from penstock.simulator.engine_settings import MicroBatchSettings

TERMS = Terms(limits=Limits(max_executors=4), promises=Promises(latency_p95_s=20.0), autopilot=Autopilot(mode="active"))
ENGINE = MicroBatchSettings(query="q", noise=0.1)
CELL = Cell(
    workload=Arrivals.through((0.0, 300.0), (200.0, 1500.0)),
    plant=SimulatedJob(engine=ENGINE, terms=TERMS),
    configuration=Configuration(executors=2),
    policy=Chosen(name="static"),
)
CELLS = {f"seed {seed}": replace(CELL, seed=seed) for seed in range(4)}


def test_a_cell_runs_with_its_configuration_policy_faults_and_duration() -> None:
    knobs = QueryConfiguration(trigger=Trigger(interval_s=20.0))
    slow = replace(CELL, configuration=Configuration(executors=3, queries={"q": knobs}), duration_s=120.0, faults=(Fault(at_s=40.0),))
    report, usual = slow.run(), CELL.run()
    assert (report.duration_s, report.average_executors, report.failures) == (120.0, pytest.approx(3.0, abs=0.1), 1)
    assert (usual.duration_s, usual.average_executors, usual.failures) == (300.0, 2.0, 0)
    assert report.latency is not None and usual.latency is not None and report.latency.p50_s > 2 * usual.latency.p50_s
    assert replace(CELL, plant=SimulatedJob(engine=replace(ENGINE, row_s=0.002), terms=TERMS), policy=Chosen(name="hpa")).run().rescales > 0


def test_by_readings_a_cell_is_reported_as_a_real_run_is() -> None:
    seen = replace(CELL, observed=Observed(from_s=100.0)).run()
    assert seen.from_s >= 100.0 and seen.duration_s == pytest.approx(200.0, abs=10.0) and seen.latency_mean_s is None


def test_the_key_changes_with_everything_that_the_report_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        replace(CELL, seed=1), replace(CELL, workload=CELL.workload.times(1.01)),
        replace(CELL, plant=SimulatedJob(engine=replace(ENGINE, noise=0.2), terms=TERMS)),
        replace(CELL, plant=SimulatedJob(engine=ENGINE, terms=replace(TERMS, promises=Promises(latency_p95_s=9.0)))),
        replace(CELL, configuration=Configuration(executors=3)),
        replace(CELL, configuration=Configuration(executors=2, queries={"q": QueryConfiguration()})), replace(CELL, policy=Chosen(name="hpa")),
        replace(CELL, policy=Chosen(name="static", parameters={"executors": 2})), replace(CELL, faults=(Fault(at_s=5.0),)),
        replace(CELL, duration_s=60.0), replace(CELL, observed=Observed()),
    ]  # fmt: skip
    keys = {each.key for each in [CELL, *others]}
    assert len(keys) == 1 + len(others) and replace(CELL).key == CELL.key
    monkeypatch.setattr("penstock.experiments.cell.fingerprint", lambda package: b"other code")
    assert CELL.key not in keys


def test_the_key_of_a_real_job_follows_its_code(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("one")
    query = QuerySpec(name="q", function=f"{tmp_path}/job.py:q", sources=(), sink=SinkSpec(format="noop"))
    cell = replace(CELL, plant=SparkJob(spec=JobSpec(name="j", folder=str(tmp_path), checkpoint="c", sources=(), queries=(query,)), secrets=("s3cret",)))
    before = cell.key
    assert cell.key == before
    (tmp_path / "job.py").write_text("two")
    assert cell.key != before
    with pytest.raises(UserMistake, match="no trace source or feed"):
        following(cell.plant.spec, cell.load, tmp_path / "load.csv", 0, 60.0)  # type: ignore[attr-defined]


def test_parallel_equals_serial_and_progress_is_reported() -> None:
    reported: list[tuple[float, int]] = []
    together = run_cells(CELLS, RunReport, processes=2, progress=lambda *so_far: reported.append(so_far))
    alone = run_cells(CELLS, RunReport, processes=1)
    assert together == alone and list(together.reports) == list(CELLS) and not together.failed
    assert reported == [(done, 4) for done in range(5)]
    twice = run_cells({"one": CELL, "same": replace(CELL)}, RunReport, processes=1, progress=lambda *so_far: reported.append(so_far))
    assert twice.reports["one"] is twice.reports["same"] and reported[-1] == (1, 1), "equal cells are run once"
    assert len({report.latency_mean_s for report in alone.reports.values()}) == 4, "each has its own chance"


def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    store, reported = tmp_path / "deep" / "cells.jsonl", list[tuple[float, int]]()
    first = run_cells(dict(list(CELLS.items())[:3]), RunReport, store, processes=1)
    with open(store, "ab") as file:
        file.write(b'\n{"name": "cut o')
    again = run_cells(CELLS, RunReport, store, processes=1, progress=lambda *so_far: reported.append(so_far))
    assert (first.reused, again.reused) == (0, 3) and reported == [(0, 1), (1, 1)]
    assert again == replace(run_cells(CELLS, RunReport, processes=1), reused=3)
    assert len(CellStore(store, RunReport).known()) == 4, "a line that was cut off spoils no other"


def test_a_cell_that_fails_is_named_in_one_line_and_run_again_the_next_time(tmp_path: Path) -> None:
    cells = {"good": CELL, "bad": replace(CELL, policy=Chosen(name="no such policy")), "other": replace(CELL, seed=5)}
    for processes in (1, 2):
        found = run_cells(cells, RunReport, tmp_path / "cells.jsonl", processes=processes)
        assert list(found.reports) == ["good", "other"] and "there is no policy" in found.failed["bad"] and "\n" not in found.failed["bad"]
    assert found.reused == 2


LONG = """
import signal, sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, {tests!r})
from experiments.test_runner import CELL, CELLS
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.report.run_report import RunReport
from penstock.experiments.runner import run_cells
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # one that the shell of a CI ignores stays ignored otherwise
    endless = replace(CELL, workload=Arrivals.through((0.0, 1e7), (200.0, 1500.0)))
    run_cells({{**CELLS, "endless": endless, "endless too": replace(endless, seed=1)}}, RunReport, Path({store!r}), processes=2)
"""


def group(leader: int) -> list[int]:
    """Return the processes of a group; others may end while this looks."""
    found = []
    for pid in psutil.pids():
        with suppress(ProcessLookupError):
            found += [pid] if os.getpgid(pid) == leader else []
    return found


@pytest.mark.parametrize("killed", [False, True])
def test_an_interrupted_run_goes_on_and_leaves_no_process(tmp_path: Path, killed: bool) -> None:
    store, script = tmp_path / "cells.jsonl", tmp_path / "long.py"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # a killed process leaves its temporary files
    script.write_text(LONG.format(tests=str(Path(__file__).parents[1]), store=str(store)))
    process = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True, env=environment)
    try:
        wait_until(lambda: len(CellStore(store, RunReport).known()) == 4, 60, "the short cells")
        process.kill() if killed else os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
        wait_until(lambda: not group(process.pid), 10, "the end of all its processes")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert killed or ("KeyboardInterrupt" in said and said.count("Traceback") == 1)
    assert run_cells(CELLS, RunReport, store).reused == 4
