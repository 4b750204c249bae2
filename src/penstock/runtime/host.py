"""The driver host: everything around a job's controller in its driver process: history, lease, socket, metrics, snapshots."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.executor_events import ExecutorLost
from penstock.core.domain.events.meaning import is_routine
from penstock.core.domain.events.memory_events import HistoryReplaced
from penstock.core.domain.events.query_events import QueryFailed, QueryRestarted
from penstock.core.domain.events.run_events import NothingToDo, RunEnded, RunStarted
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.terms import Terms
from penstock.core.redaction import Redactor
from penstock.core.report.run_report import RunReport, run_report
from penstock.leases import FileLease
from penstock.ports import Actuator, BesideCheckpoint, Clock, Fitter, Source
from penstock.remote import SocketServer
from penstock.runtime.autopilot_view import AutopilotView, still_standing
from penstock.runtime.controller import Controller
from penstock.runtime.desk import Desk, SetSourceRate
from penstock.runtime.home import JobFolder
from penstock.runtime.inbox import Reread
from penstock.runtime.joblease import CheckpointLease, take_local
from penstock.runtime.snapshots import Snapshots, restore_history
from penstock.stores.codec import encode
from penstock.stores.database import check_room
from penstock.stores.history import History
from penstock.stores.recorder import this_penstock
from penstock.telemetry.exposition import metrics_text
from penstock.telemetry.server import Health, TelemetryServer

RECENT_EVENTS = 50
REPORTED_S = 3600.0
"""`status` reports the run over this time."""


class View(Protocol):
    def update(self, reading: Reading | None, events: Sequence[Event] = ()) -> None: ...


class Engine(Source, Actuator, Protocol):
    """A plant under control."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What `status` and the history say about the job; `mode` is the one it starts in."""

    job: str
    master: str
    mode: str
    spark_version: str
    application_id: str = ""


class Host:
    """Hosts one job. `prepare` before Spark starts, `open` once it runs, `close` at the end; every event passes through `note`.

    The host owns the fitter: `close` closes it, even if nothing was opened. `reread` and `policy` are for the controller.
    """

    def __init__(
        self, *, folder: JobFolder, terms: Terms, clock: Clock, redactor: Redactor, metrics_address: str | None = "127.0.0.1:0", views: Sequence[View] = (),
        fitter: Fitter | None = None, reread: Callable[[], Reread | None] = lambda: None, policy: Policy | None = None,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.terms = terms
        self.clock = clock
        self.redactor = redactor
        self.lost = threading.Event()
        self.on_lost: Callable[[], None] = lambda: None
        self.events_by_kind: Counter[str] = Counter()
        self.recent: list[Event] = []
        self._readings: list[Reading] = []
        self._happened: list[Event] = []
        self.set_source_rate: SetSourceRate | None = None
        self.feeds: Callable[[], list[dict[str, Any]]] = list
        self._metrics_address = metrics_address
        self._views = list(views)
        self._fitter = fitter
        self._reread = reread
        self._policy = policy
        self._autopilot = AutopilotView()
        self._early: list[Event] = []
        self._local: FileLease | None = None
        self._about: About | None = None
        self._controller: Controller | None = None
        self._history: History | None = None
        self._snapshots: Snapshots | None = None
        self._socket: SocketServer | None = None
        self._socket_path = Path()
        self._telemetry: TelemetryServer | None = None

    @property
    def controller(self) -> Controller:
        if self._controller is None:
            raise RuntimeError("the host is not open")
        return self._controller

    @property
    def metrics_url(self) -> str | None:
        return f"http://{self._telemetry.address}/metrics" if self._telemetry else None

    @property
    def history_path(self) -> Path:
        return self.folder.history

    def prepare(self) -> None:
        """Take the local lease and check that the history can be written, before Spark starts."""
        self._socket_path = self.folder.create().socket
        self._local = take_local(self.folder)
        check_room(self.history_path)
        if self.history_path.exists():
            History.open(self.history_path, config=self.terms.config, redactor=self.redactor).close()
        if self._metrics_address is not None:
            self._telemetry = TelemetryServer(self._metrics_address, self._metrics, self._health)

    def open(self, engine: Engine, declared: Configuration, about: About, beside: BesideCheckpoint | None) -> None:
        """Bring knowledge back, and build the controller; it does not turn before `start`."""
        self._about = about
        lease = None
        if beside is not None:
            lease = CheckpointLease(beside, about.job, self.terms.config.lease_expiry_s, self.folder.signature)
            lease.take()
            restored = restore_history(beside, self.history_path)
            if restored is not None and restored.aside is not None:
                self._early.append(HistoryReplaced(at_s=self.clock.now_s(), aside=str(restored.aside)))
        self._history = History.open(self.history_path, config=self.terms.config, redactor=self.redactor, recorder=this_penstock())
        self._controller = Controller(
            source=engine, actuator=engine, memory=self._history, clock=self.clock, terms=self.terms, declared=declared, sinks=[self], on_reading=self._show,
            fitter=self._fitter, reread=self._reread, policy=self._policy,
        )  # fmt: skip
        standing = still_standing(self._controller.knowledge)
        for view in self._views if standing else ():
            view.update(None, standing)
        promises, limits = self.terms.promises, self.terms.limits
        started = RunStarted(
            at_s=self.clock.now_s(), job=about.job, master=about.master, mode=about.mode, spark_version=about.spark_version, resumed=self._controller.resumed,
            max_executors=limits.max_executors, latency_p95_s=promises.latency_p95_s, recovery_s=promises.recovery_s,
        )  # fmt: skip
        self._controller.note([started, *self._early])
        self._early.clear()
        if beside is not None and lease is not None:
            self._snapshots = Snapshots(
                beside=beside, history=self.history_path, lease=lease, interval_s=self.terms.config.snapshot_interval_s, clock=self.clock,
                note=self.note, on_lost=self._lose,
            )  # fmt: skip

    def start(self) -> None:
        self.controller.start()
        desk = Desk(controller=self.controller, clock=self.clock, redactor=self.redactor, status=self.status, set_source_rate=self.set_source_rate)
        self._socket = SocketServer(self._socket_path, desk.handle)
        if self._snapshots:
            self._snapshots.start()

    def close(self, reason: str) -> None:
        if self._socket:
            self._socket.close()
        if self._controller and self._history:
            self._controller.note([RunEnded(at_s=self.clock.now_s(), job=self.folder.name, reason=reason)])
            self._controller.close()
            if self._snapshots:
                self._snapshots.close()
            self._history.close()
        if self._fitter:
            self._fitter.close()
        if self._telemetry:
            self._telemetry.close()
        if self._local:
            self._local.close()

    def _lose(self) -> None:
        """Report that another driver holds the job; `on_lost` must not wait for this thread."""
        self.lost.set()
        self.on_lost()

    def note(self, events: Sequence[Event]) -> None:
        """Record events; from any thread."""
        if self._controller is None:
            self._early.extend(events)
        else:
            self._controller.note(events)

    def emit(self, events: Sequence[Event]) -> None:
        """Keep the latest events for `status`, count them for the metrics, and show them."""
        self._autopilot.hear(events)
        self.events_by_kind.update(type(event).__name__ for event in events)
        self._happened += [event for event in events if isinstance(event, QueryRestarted | QueryFailed | ExecutorLost)]
        self.recent = [*self.recent, *(event for event in events if not isinstance(event, NothingToDo))][-RECENT_EVENTS:]
        for view in self._views:
            view.update(None, events)

    def _show(self, reading: Reading) -> None:
        self._readings = [each for each in self._readings if each.at_s > reading.at_s - REPORTED_S] + [reading]
        self._happened = [each for each in self._happened if each.at_s > reading.at_s - REPORTED_S]
        for view in self._views:
            view.update(reading)

    def _metrics(self) -> bytes:
        controller = self._controller
        reading = controller.last_reading if controller else None
        autopilot = self._autopilot.state(controller.knowledge, controller.terms) if controller else None
        return metrics_text(self.folder.name, reading, self.events_by_kind, self.terms.promises, autopilot, self.redactor.text)

    def _health(self) -> Health:
        if self._controller is None or self._controller.last_turn_s is None:
            return Health(ok=False, reason="starting")
        silent_s = self.clock.now_s() - self._controller.last_turn_s
        reading = self._controller.last_reading
        queries = {query.name: query.state for query in reading.queries} if reading else {}
        dead = [name for name, state in queries.items() if state == "given up"]
        reason = "running"
        if silent_s > 3 * self.terms.config.reading_interval_s + 10:
            reason = f"the controller has been silent for {silent_s:.0f} s"
        elif dead:
            reason = f"given up: {', '.join(dead)}"
        return Health(ok=reason == "running", reason=reason, since_reading_s=silent_s, queries=queries)

    def _report(self) -> RunReport:
        window_s = self.terms.config.reading_window_s
        return run_report(self._readings, self.terms.promises, self._happened, window_s=window_s)

    def status(self) -> dict[str, Any]:
        knowledge, terms, reading = self.controller.knowledge, self.controller.terms, self.controller.last_reading
        assert self._about is not None
        about = self._about
        return {
            "job": about.job,
            "master": about.master,
            "mode": terms.autopilot.mode,
            "autopilot": self._autopilot.status(knowledge, terms),
            "spark_version": about.spark_version,
            "application_id": about.application_id,
            "history": str(self.history_path),
            "metrics": self.metrics_url,
            "reading": None if reading is None else json.loads(encode(reading, self.redactor)),
            "desired": json.loads(encode(knowledge.desired, self.redactor)),
            "holds": [{"knob": hold.knob, "value": hold.value, "who": hold.who, "until_s": hold.until_s} for hold in knowledge.holds],
            "feeds": self.feeds(),
            "report": self._report().as_object() if self._readings else None,
            "pending": [pending.instruction.target for pending in knowledge.pending],
            "limits": {"min_executors": self.terms.limits.min_executors, "max_executors": self.terms.limits.max_executors},
            "promises": {"latency_p95_s": self.terms.promises.latency_p95_s, "recovery_s": self.terms.promises.recovery_s},
            "events": [{"at_s": each.at_s, "kind": type(each).__name__, "words": each.words(), "routine": is_routine(each)} for each in self.recent],
        }
