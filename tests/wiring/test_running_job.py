from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jobfiles import HALF_FULL, RIGHT, loaded, write

from penstock.core.errors import UserMistake
from penstock.runtime.jobfile import load_job
from penstock.spark.session import SCRATCH, in_scratch
from penstock.wiring.running_job import RunningJob, slots_beside


def test_a_job_runs_under_the_autopilot_and_the_profile_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("scaleout,rate,latency_ms\n2,100,250\n")
    terms = RunningJob(loaded(tmp_path, 'mode = "ask"\npolicy = "phoebe"\nprofile = "p.csv"')).host.terms
    assert (terms.autopilot.mode, terms.autopilot.policy, [each.executors for each in terms.profile]) == ("ask", "phoebe", [2])


def test_a_policy_of_ones_own_that_cannot_be_used_ends_the_job_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "wired_policy.py").write_text(HALF_FULL)
    path = write(tmp_path, 'policy = "wired_policy.py:HalfFul"')
    with pytest.raises(UserMistake, match="has no class 'HalfFul'; did you mean"):
        RunningJob(load_job(path))


def test_a_driver_that_died_has_not_been_stopped_between_batches(tmp_path: Path) -> None:
    job = RunningJob(loaded(tmp_path))
    assert job.stop("it could not be started"), "nothing ran yet"
    job = RunningJob(loaded(tmp_path))
    job._engine = SimpleNamespace(lives=lambda: False, close=lambda: None)  # type: ignore[assignment]
    assert not job.stop("Spark's driver process ended under it")


def test_the_slots_of_other_queries_that_run_are_taken() -> None:
    def query(name: str, state: str, slots: int) -> Any:
        return SimpleNamespace(name=name, state=state, recipe=SimpleNamespace(slots_needed=slots))

    queries = [query("a", "running", 6), query("b", "running", 4), query("c", "restarting", 2), query("d", "given up", 8), query("e", "running", 0)]
    assert slots_beside(queries, "a") == 6


def test_a_start_that_fails_leaves_no_scratch_folder_and_one_that_was_refused_touches_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("penstock.wiring.running_job.EmbeddedCluster", SimpleNamespace(join=lambda folder: SimpleNamespace(master="spark://127.0.0.1:1")))
    scratch: list[Path] = []

    def no_java(spec: Any, folder: Path, *_: Any) -> None:
        in_scratch(folder)
        scratch.append(folder / SCRATCH)
        raise UserMistake("Spark's JVM did not start")

    monkeypatch.setattr("penstock.wiring.running_job.open_session", no_java)
    first, second = (RunningJob(load_job(write(tmp_path, job='master = "embedded"\n' + RIGHT))) for _ in range(2))
    with pytest.raises(UserMistake, match="JVM did not start"):
        first.start()
    with pytest.raises(UserMistake, match="already runs on this machine"):
        second.start()
    second._cluster = first._cluster = None
    second.stop("it could not be started")
    assert scratch[0].is_dir()
    first.stop("it could not be started")
    assert not scratch[0].exists()
