import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import wait_until

import penstock
from penstock.core.domain.job_spec import JobSpec
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.runtime.fakes import FakePlant
from penstock.wiring.running_job import refuse_foreign_checkpoint
from penstock.wiring.script import ScriptHost, executors_of, script_host


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
    [("4.3.0", "true", "^dynamic allocation is on and would fight with Penstock over executors: set .* to false$"), ("3.5.1", None, "^Spark 3.5.1 is too old")],
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


CONFIGURED = [
    ("spark://host:7077", {}, None),
    ("spark://host:7077", {"spark.cores.max": "16"}, None),
    ("spark://host:7077", {"spark.executor.instances": "2", "spark.executor.cores": "2"}, None),
    ("spark://host:7077", {"spark.cores.max": "16", "spark.executor.cores": "8"}, 2),
    ("yarn", {}, 2),
    ("k8s://https://host:443", {"spark.executor.instances": "5", "spark.cores.max": "1"}, 5),
    ("local[4]", {}, 1),
]


def session_on(master: str, conf: dict[str, str]) -> Any:
    context = SimpleNamespace(appName="script", master=master, getConf=lambda: conf, applicationId="app-1")
    return SimpleNamespace(version="4.3.0", sparkContext=context)


@pytest.mark.parametrize(("master", "conf", "executors"), CONFIGURED)
def test_the_executors_of_an_application_are_known_only_where_its_settings_have_them(master: str, conf: dict[str, str], executors: int | None) -> None:
    assert executors_of(session_on(master, conf)) == executors


class PretendedEngine(FakePlant):
    """An engine without Spark: its queries run until they are ended."""

    def __init__(self, session: Any, *, executors: int | None, clock: Any, **_: Any) -> None:
        super().__init__(clock, executors=executors or 3)
        self.asked_for = executors
        self.managed: list[Any] = []

    def add(self, name: str, recipe: Any, settings: Any) -> Any:
        self.managed.append(SimpleNamespace(name=name, state="running"))
        return self.managed[-1]

    def living(self) -> list[Any]:
        return [query for query in self.managed if query.state == "running"]

    def lives(self) -> bool:
        return True

    def close(self) -> None:
        pass


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.wiring.script.SparkEngine", PretendedEngine)
    monkeypatch.setattr("penstock.wiring.script.ship_penstock", lambda *_: None)


def host_on(master: str, conf: dict[str, str], **more: Any) -> ScriptHost:
    given = {"min_executors": 1, "max_executors": None, "latency_p95_s": None, "recovery_s": None, "metrics": None, "autopilot": None, "settings": {}, **more}
    return script_host(session_on(master, conf), "a script", **given)


def test_with_unknown_executors_none_are_requested_and_only_observing_is_allowed(pretended: None) -> None:
    host = host_on("spark://host:7077", {})
    assert host.engine.asked_for is None  # type: ignore[attr-defined]
    host.close()
    host = host_on("spark://host:7077", {}, max_executors=8)
    assert host.engine.asked_for == 8  # type: ignore[attr-defined]
    host.close()
    with pytest.raises(UserMistake, match=r"^max_executors: the application does not say how many executors it has: .*; mode 'shadow' needs it$"):
        host_on("spark://host:7077", {}, autopilot={"mode": "shadow", "policy": "static"})


def test_the_name_of_a_query_that_has_ended_is_free_again(pretended: None) -> None:
    host = host_on("yarn", {})
    recipe: Any = SimpleNamespace(checkpoint=None)
    for name in ("hourly", "always"):
        host.add(name, recipe, Trigger(interval_s=5.0), as_it_runs=False)
    with pytest.raises(UserMistake, match="already has a query 'hourly'"):
        host.add("hourly", recipe, Trigger(interval_s=5.0), as_it_runs=False)
    host.engine.managed[0].state = "ended"  # type: ignore[attr-defined]
    host.add("hourly", recipe, Trigger(interval_s=5.0), as_it_runs=False)
    host.close()


def test_a_script_host_that_is_closed_leaves_no_thread_behind(pretended: None) -> None:
    before = set(threading.enumerate())
    host = host_on("yarn", {})
    host.add("q", SimpleNamespace(checkpoint=None), Trigger(interval_s=5.0), as_it_runs=False)  # type: ignore[arg-type]
    host.close()
    wait_until(lambda: set(threading.enumerate()) <= before, 10, "the end of its threads")
    assert not [each.name for each in set(threading.enumerate()) - before]


def test_a_script_whose_job_another_driver_took_over_leaves_it(pretended: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[float] = []
    monkeypatch.setattr(PretendedEngine, "stop_queries", lambda self, grace_s, stop_now: stopped.append(grace_s), raising=False)
    host = host_on("yarn", {})
    host.host._lose()
    wait_until(lambda: host._closed, 10)
    assert stopped == [0.0] and host.host.lost.is_set()
