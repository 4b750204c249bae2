"""What a script has that Penstock cannot work with is refused in one line, before anything is made."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import penstock
from penstock.core.domain.job import JobSpec
from penstock.core.errors import UserMistake
from penstock.wiring.job import refuse_foreign_checkpoint
from penstock.wiring.script import script_host


def of_connect(name: str) -> Any:
    """As Spark Connect's client has it: the same names, in modules of its own."""
    return type(name, (), {"__module__": f"pyspark.sql.connect.streaming.{name.lower()}"})()


@pytest.fixture(autouse=True)
def state_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def test_a_writer_or_a_query_of_spark_connect_is_refused(state_folder: Path) -> None:
    with pytest.raises(UserMistake, match=r"^this is a Spark Connect or serverless session: Penstock needs a classic one"):
        penstock.start(of_connect("DataStreamWriter"))
    with pytest.raises(UserMistake, match=r"^this is a Spark Connect or serverless session: Penstock needs a classic one"):
        penstock.attach(of_connect("StreamingQuery"))
    assert not state_folder.exists()


@pytest.mark.parametrize(
    ("version", "allocation", "said"),
    [
        ("4.3.0", "true", "^dynamic allocation is on and would fight with Penstock over executors: set .* to false$"),
        ("3.5.1", None, "^Spark 3.5.1 is too old"),
    ],
)
def test_a_session_that_cannot_be_steered_is_refused(state_folder: Path, version: str, allocation: str | None, said: str) -> None:
    context = SimpleNamespace(appName="script", getConf=lambda: {"spark.dynamicAllocation.enabled": allocation})
    session: Any = SimpleNamespace(version=version, sparkContext=context)
    with pytest.raises(UserMistake, match=said):
        script_host(session, None, min_executors=1, max_executors=None, latency_p95_s=None, recovery_s=None, metrics=None, autopilot=None, settings={})
    assert not state_folder.exists()


def test_a_folder_that_is_some_querys_own_checkpoint_is_refused_and_one_with_queries_in_it_is_not() -> None:
    spec = JobSpec(name="j", folder=".", checkpoint="/data/checkpoint", sources=(), queries=())
    foreign: Any = SimpleNamespace(names=lambda folder: ["commits", "metadata", "offsets", "sources"])
    with pytest.raises(UserMistake, match=r"^checkpoint: /data/checkpoint is the checkpoint of a query that Penstock did not start; give this job a folder"):
        refuse_foreign_checkpoint(foreign, spec)
    ours: Any = SimpleNamespace(names=lambda folder: ["_penstock", "averages"])
    refuse_foreign_checkpoint(ours, spec)
