import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from example_run import START_S, example_run
from recorded_history import written

from penstock.cli.demo import SCALING, prepare
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.source_events import SourceRateSet
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.reading import Reading
from penstock.runtime.home import JobFolder
from penstock.selftest import contended_run, demonstration
from penstock.selftest.demonstration import Demonstrated, demonstrate, demonstrated, load_begun, measure_demonstration, measured

BEGUN = SourceRateSet(at_s=START_S + 40.0, source="events", who="ada", rows_per_s=None, times=0.75)
RUN = Demonstrated(within_promise=0.95, executor_s=600.0, executor_s_at_maximum=1000.0, took_s=280.0, times=1.0)


@pytest.fixture
def run() -> tuple[list[Reading], list[Event]]:
    readings, events = example_run()
    warming = SourceRateSet(at_s=START_S + 10.0, source="events", who="ada", rows_per_s=200.0)
    return readings, sorted([*events, warming, BEGUN], key=lambda event: event.at_s)


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JobSpec:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    return prepare(tmp_path / "demo", SCALING)


def test_the_cost_counts_from_the_first_reading_and_the_promise_from_the_load_or_after_the_first_minute(
    run: tuple[list[Reading], list[Event]], spec: JobSpec
) -> None:
    readings, events = run
    found = demonstrated(readings, events, spec, 280.0)
    assert (found.executor_s_at_maximum, found.took_s, found.times) == (4 * 240.0, 280.0, 0.75)
    assert found.executor_s == sum(5.0 * each.executors_running for each in readings[:-1])
    late = [replace(each, latency=None) if each.at_s < readings[0].at_s + 60.0 else each for each in readings]
    assert demonstrated(late, events, spec, 280.0).within_promise == found.within_promise is not None
    begun_late = [replace(each, at_s=START_S + 150.0) if each is BEGUN else each for each in events]
    unseen = [replace(each, latency=None) if each.at_s < START_S + 150.0 else each for each in readings]
    assert demonstrated(readings, begun_late, spec, 280.0).within_promise == demonstrated(unseen, begun_late, spec, 280.0).within_promise


def test_a_load_that_did_not_begin_is_no_demonstration(spec: JobSpec) -> None:
    readings, events = example_run()
    assert load_begun(events) is None
    with pytest.raises(RuntimeError, match="did not begin"):
        demonstrated(readings, events, spec, 280.0)


def test_each_run_has_three_targets() -> None:
    assert [each.met for each in measured({"quiet": RUN})] == [True, True, True]
    missed = replace(RUN, within_promise=0.89, executor_s=810.0, took_s=301.0)
    assert [each.met for each in measured({"quiet": RUN, "busy": missed})] == [True] * 3 + [False] * 3


def test_a_run_is_a_process_with_a_state_of_its_own_beside_busy_loops_if_asked(
    run: tuple[list[Reading], list[Event]], spec: JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script in the place of the command copies a history that was made before."""
    written(JobFolder(spec.name).create().history, run[1], run[0])
    kept, script = tmp_path / "runs.jsonl", tmp_path / "command.py"
    script.write_text(
        f"import os, shutil, sys\nshutil.copytree({spec.folder!r}, sys.argv[2])\nshutil.copytree({str(tmp_path / 'state')!r}, os.environ['PENSTOCK_HOME'])\n"
    )
    monkeypatch.setattr(demonstration, "COMMAND", (sys.executable, str(script)))
    beside: list[str] = []

    @contextmanager
    def contention() -> Iterator[None]:
        beside.append("begun")
        yield
        beside.append("ended")

    monkeypatch.setattr(contended_run, "contention", contention)
    found = measure_demonstration(kept, lambda done, total: None)
    assert [each.what for each in found.measured if each.what.endswith("seconds")] == ["demonstration, quiet: seconds", "demonstration, busy: seconds"]
    assert beside == ["begun", "ended"]
    script.write_text("raise SystemExit('no Spark here')\n")
    assert measure_demonstration(kept, lambda done, total: None) == found, "runs that are kept are not repeated"
    with pytest.raises(RuntimeError, match=r"code 1.*no Spark here"):
        demonstrate(False, lambda share: None)
