import threading
from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import NotReachable
from penstock.runtime.fakes import FakeClock
from penstock.spark.progress import CommitListener
from penstock.spark.query import ManagedQuery
from penstock.spark.query_settings import QuerySettings
from penstock.spark.recipe import OutputTopic, Recipe
from penstock.spark.supervisor import Supervisor

SLOW = QuerySettings(trigger=Trigger(interval_s=10.0))
FAST = QuerySettings(trigger=Trigger(interval_s=1.0))
FLOWING = QuerySettings(trigger=Trigger(kind="real_time", interval_s=15.0))


class JavaError:
    """What Py4J wants of an exception in the JVM."""

    _target_id = "o1"

    def __init__(self, words: str) -> None:
        self._words = words

    def toString(self) -> str:
        return self._words

    def getCause(self) -> None:
        return None


def timed_out() -> Py4JJavaError:
    return Py4JJavaError("an error in the JVM", JavaError("java.util.concurrent.TimeoutException: the thread failed to stop within 30000 milliseconds"))


class Run:
    """One run, as Spark has it: a stop that its batch outlasts raises, leaves it inactive, and the batch goes on."""

    def __init__(self, number: int) -> None:
        self.runId = f"run-{number}"
        self.isActive = True
        self.in_batch = False
        self.stuck = False
        self._error: Exception | None = None

    @property
    def status(self) -> dict[str, Any]:
        return {"isTriggerActive": self.in_batch, "message": "Processing new data" if self.in_batch else "Waiting for next trigger"}

    def begin_a_batch_that_cannot_be_interrupted(self) -> None:
        self.in_batch = self.stuck = True

    def end_the_batch(self) -> None:
        self.in_batch = self.stuck = False

    def stop(self) -> None:
        self.isActive = False
        if self.stuck:
            raise timed_out()
        self.in_batch = False

    def fail(self, words: str) -> None:
        self.isActive, self.in_batch = False, False
        self._error = ValueError(words)

    def exception(self) -> Exception | None:
        return self._error


class FakeRecipe(Recipe):
    """Starts runs; like Spark it first stops what is left of the last one."""

    checkpoint = "fake"
    positions: Sequence[Any] = ()
    unable: Mapping[str, str] = {}
    output: OutputTopic | None = None

    def __init__(self) -> None:
        self.runs: list[Run] = []

    @property
    def run(self) -> Run:
        return self.runs[-1]

    def start(self, settings: QuerySettings) -> Any:
        if self.runs:
            self.run.stop()
        self.runs.append(Run(len(self.runs)))
        return self.run


class FakeCheckpoint:
    """A checkpoint with nothing to replay; while it is `away`, no question is answered."""

    def __init__(self) -> None:
        self.away = False

    def last_logged(self) -> int:
        if self.away:
            raise NotReachable("hdfs://namenode/checkpoint: no answer")
        return 7

    last_committed = last_logged

    def committed_offsets(self) -> None:
        self.last_logged()

    logged_offsets = committed_offsets


class FakeLive:
    """Live rows of runs whose tasks begin to read `reads_after_s` after the first look."""

    def __init__(self, clock: FakeClock, reads_after_s: float) -> None:
        self._clock = clock
        self._reads_after_s = reads_after_s
        self._looked_s: dict[str, float] = {}

    def replay(self, rows: float | None) -> float | None:
        return rows

    def ended(self, committed: int | None, arrived_since: float | None) -> float:
        return 40.0

    def is_reading(self, run_id: str) -> bool:
        now_s = self._clock.now_s()
        return now_s - self._looked_s.setdefault(run_id, now_s) >= self._reads_after_s


class SupervisedQuery:
    """A query on fakes, and its supervisor, which looks when the test says so."""

    def __init__(self, settings: QuerySettings = SLOW, *, reads_after_s: float = 0.0) -> None:
        self.clock = FakeClock()
        self.recipe = FakeRecipe()
        self.checkpoint = FakeCheckpoint()
        live = FakeLive(self.clock, reads_after_s)
        self.query = ManagedQuery("q", self.recipe, settings, CommitListener(self.clock), self.clock, self.checkpoint, live)  # type: ignore[arg-type]
        self.events: list[Event] = []
        self._supervisor = Supervisor(Config(), self.clock, self.events.extend, str, threading.Event())
        self._supervisor.close()
        self._supervisor.add(self.query)

    def look(self, *, after_s: float = 0.0) -> None:
        self.clock.wait(after_s)
        self._supervisor.look_at(self.query)

    def said(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]
