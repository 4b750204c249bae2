"""One embedded cluster and one session for all Spark tests; every test gets an engine of its own on them. Property tests have no deadline."""

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from waiting import wait_until

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.job_spec import JobSpec, Limits, QuerySpec, SinkSpec, SourceSpec
from penstock.core.domain.trigger import Trigger
from penstock.runtime.steady_clock import SteadyClock
from penstock.spark.checkpoint import CheckpointFolder
from penstock.spark.contract import ContractRecipe, prepare_trace
from penstock.spark.embedded import EmbeddedCluster
from penstock.spark.files import Files
from penstock.spark.query import ManagedQuery
from penstock.spark.query_settings import QuerySettings
from penstock.spark.session import open_session
from penstock.spark.spark_engine import SparkEngine

settings.register_profile("shared machine", deadline=None)
settings.load_profile("shared machine")
MOST = 3
CONFIG = Config(reading_interval_s=1.0, reading_window_s=4.0, executors_timeout_s=60.0, gap_wait_s=2.0, restart_backoff_s=0.2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/spark/" in str(item.path):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def state_home() -> Iterator[Path]:
    """A state folder with a short path, for this test run alone."""
    folder = Path(tempfile.mkdtemp(prefix="pst-", dir="/tmp"))
    before = os.environ.get("PENSTOCK_HOME")
    os.environ["PENSTOCK_HOME"] = str(folder)
    yield folder
    if before is None:
        del os.environ["PENSTOCK_HOME"]
    else:
        os.environ["PENSTOCK_HOME"] = before
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(state_home: Path) -> Iterator[EmbeddedCluster]:
    joined = EmbeddedCluster.join(state_home / "cluster")
    yield joined
    joined.close()
    assert joined.wait_gone(30), "the embedded cluster is still there after its last job"


@pytest.fixture(scope="session")
def session(cluster: EmbeddedCluster, state_home: Path) -> Iterator[Any]:
    job = JobSpec(name="tests", folder=".", checkpoint="unused", sources=(), queries=(), master="embedded", limits=Limits(max_executors=MOST))
    spark = open_session(job, state_home, cluster.master, log=state_home / "spark.log")
    yield spark
    spark.stop()


class Plant:
    """An engine under test, with what it said, and shortcuts to fill it with queries."""

    def __init__(self, session: Any, folder: Path, executors: int = 2) -> None:
        self.session = session
        self.folder = folder
        self.events: list[Event] = []
        self.traces: dict[str, Any] = {}
        self.engine = SparkEngine(session, executors=executors, config=CONFIG, clock=SteadyClock(), emit=self.events.extend)
        self.engine.pool.scale(executors, 60, lambda: None)

    wait_until = staticmethod(wait_until)

    def query(
        self, function: str, *, rate: str = "constant(300)", name: str = "q", trigger: str = "1s", sink: SinkSpec | None = None, mode: str = "append",
        code: str | None = None, **options: str,
    ) -> ManagedQuery:  # fmt: skip
        """Start a declared query on a trace; `code` becomes the user's file."""
        if code is not None:
            module, function = f"job_{uuid.uuid4().hex}.py", function.rpartition(":")[2]
            (self.folder / module).write_text(code)
            function = f"{module}:{function}"
        source = SourceSpec(name=f"in_{name}", format="trace", options={"rate": rate, "partitions": "4", **options})
        sink = sink or SinkSpec(format="ledger", options={"path": str(self.ledger(name))})
        spec = QuerySpec(name=name, function=function, sources=(source.name,), sink=sink, output_mode=mode, trigger=Trigger.parse(trigger))
        job = JobSpec(name="plant", folder=str(self.folder), checkpoint=str(self.folder / "checkpoint"), sources=(source,), queries=(spec,))
        trace = prepare_trace(source, job.folder, self.folder / f"{name}.json")
        trace.state.begin(time.time())
        self.traces[name] = trace
        return self.engine.add(name, ContractRecipe(self.session, job, spec, {source.name: trace}), QuerySettings(trigger=spec.trigger))

    def ledger(self, name: str = "q") -> Path:
        return self.folder / f"ledger-{name}"

    def carry_out(self, instruction: Instruction, timeout_s: float = 120.0) -> Outcome:
        (outcome,) = self.carry_out_together(instruction, timeout_s=timeout_s)
        return outcome

    def carry_out_together(self, *instructions: Instruction, timeout_s: float = 120.0) -> list[Outcome]:
        """The outcomes of instructions that are under way at the same time, in their order."""
        outcomes: list[Outcome] = []
        for instruction in instructions:
            self.engine.perform(instruction, outcomes.append)
        wait_until(lambda: len(outcomes) == len(instructions), timeout_s, f"the outcome of {instructions}")
        return sorted(outcomes, key=lambda outcome: outcome.number)

    def said(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def wait_commits(self, query: ManagedQuery, more: int, timeout_s: float = 90.0) -> None:
        count = query.commits.count

        def come() -> bool:
            assert query.state != "given up", self.events
            return query.commits.count >= count + more

        wait_until(come, timeout_s, f"{more} commits of {query.name}")


@pytest.fixture
def plant(session: Any, tmp_path: Path) -> Iterator[Plant]:
    made = Plant(session, tmp_path)
    yield made
    made.engine.stop_queries(20, lambda: False)
    made.engine.close()


@pytest.fixture(scope="module")
def spark_plant(session: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    made = Plant(session, tmp_path_factory.mktemp("plant"))
    made.wait_commits(made.query("same", code="def same(rows):\n    return rows\n"), 1)
    yield made.engine
    made.engine.stop_queries(20, lambda: False)
    made.engine.close()


@pytest.fixture
def spark_folder(session: Any, tmp_path: Path) -> CheckpointFolder:
    return CheckpointFolder(Files(session), str(tmp_path / "checkpoint"))


@pytest.fixture
def mounted_folder(session: Any, tmp_path: Path) -> Iterator[CheckpointFolder]:
    """The same on a file system that is not the local one: Hadoop's own mounts, with a folder of this machine behind them."""
    name = f"m{uuid.uuid4().hex}"
    link = f"fs.viewfs.mounttable.{name}.link./mounted"
    session.conf.set(link, tmp_path.as_uri())
    folder = CheckpointFolder(Files(session), f"viewfs://{name}/mounted/checkpoint")
    assert folder.local_path("lease.json") is None
    yield folder
    session.conf.unset(link)
