"""From the event log of a streaming job to the observations that a monitor would have made of it, in one pass."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from penstock.core.errors import UserMistake
from penstock.core.monitor.facts import ExecutorFact, Observation, QueryFacts
from penstock.eventlog import events
from penstock.eventlog.bytes import Damaged, Read, contents
from penstock.eventlog.lines import logged
from penstock.eventlog.log_files import EventLog
from penstock.eventlog.logged_query import LoggedQuery

BEGINS = b'{"Event":"'
LONGEST_GAP_S = 86400.0
"""No observations are made in a longer gap of the log."""


class LoggedApplication:
    """An application up to the last event taken: its executors, its queries, and what could not be read."""

    def __init__(self) -> None:
        self.name = ""
        self.app_id = ""
        self.queries: dict[str, LoggedQuery] = {}
        self.unreadable_lines = 0
        self.cuts: list[events.Cut] = []
        self.started_s: float | None = None
        self._executors: dict[str, events.ExecutorAdded] = {}
        self._task_cpus = 1
        self._fair = False
        self._pools: set[str] = set()
        self._lost = 0
        self._disturbed_s: float | None = None
        self._stages: dict[int, tuple[str, int]] = {}

    @property
    def runs_a_query(self) -> bool:
        return any(query.runs for query in self.queries.values())

    @property
    def is_local(self) -> bool:
        """Whether driver and executors are one process."""
        return set(self._executors) == {"driver"}

    @property
    def shares_fairly(self) -> bool:
        """Whether queries have fair pools of their own; else the batch that began first has all slots it can use."""
        return self._fair and len(self._pools) > 1

    def take(self, event: events.Logged) -> None:
        match event:
            case events.TaskEnded():
                self._task(event)
            case events.JobStarted():
                self._job(event)
            case events.ExecutorAdded() | events.ExecutorRemoved():
                self._executor(event)
            case events.QueryStarted() | events.QueryProgressed() | events.QueryIdle() | events.QueryTerminated():
                self._query(event)
            case events.ApplicationStarted():
                self.name, self.app_id, self.started_s = event.name, event.app_id, event.at_s
            case events.Configured():
                self._task_cpus, self._fair = event.task_cpus, event.fair
            case events.Unreadable():
                self.unreadable_lines += 1
            case events.Cut():
                self.cuts.append(event)

    def observation(self, at_s: float) -> Observation:
        """Return the state now with the batches since the last observation. Requested executors are not logged: the present ones are assumed."""
        return Observation(
            at_s=at_s,
            started_s=at_s if self.started_s is None else self.started_s,
            disturbed_s=self._disturbed_s,
            executors_requested=len(self._executors),
            executors=tuple(
                ExecutorFact(executor_id=executor_id, host=each.host, slots=max(1, each.cores // self._task_cpus), added_s=each.at_s)
                for executor_id, each in self._executors.items()
            ),
            queries=self._facts(),
            executors_lost=self._lost,
        )

    def _facts(self) -> tuple[QueryFacts, ...]:
        """Return the facts of running queries and of ended ones with new batches; queries of one name are joined."""
        found: dict[str, QueryFacts] = {}
        for query in sorted(self.queries.values(), key=lambda query: query.runs):
            if query.runs or query.has_news:
                facts, before = query.facts(), found.get(query.name)
                found[query.name] = facts if before is None else replace(facts, batches=(*before.batches, *facts.batches))
        return tuple(found.values())

    def _executor(self, event: events.ExecutorEvent) -> None:
        if isinstance(event, events.ExecutorAdded):
            self._executors[event.executor_id] = event
        elif self._executors.pop(event.executor_id, None) is not None:
            self._lost += event.lost and self.runs_a_query
        self._disturbed_s = event.at_s

    def _query(self, event: events.QueryEvent) -> None:
        """Apply an event of a query; its id persists over restarts."""
        match event:
            case events.QueryStarted():
                query = self.queries.setdefault(event.query_id, LoggedQuery(event.query_id, event.name, event.at_s))
                query.runs, query.started_s, self._disturbed_s = True, event.at_s, event.at_s
            case events.QueryProgressed():
                self.queries.setdefault(event.query_id, LoggedQuery(event.query_id, event.name, event.started_s)).committed(event)
                self._stages = {stage: place for stage, place in self._stages.items() if place[0] != event.query_id or place[1] > event.batch_id}
            case events.QueryIdle() if event.query_id in self.queries:
                self.queries[event.query_id].idle(event.at_s)
            case events.QueryTerminated() if event.query_id in self.queries:
                query = self.queries[event.query_id]
                query.runs, query.failures = False, query.failures + event.failed

    def _job(self, event: events.JobStarted) -> None:
        """Assign the stages of the job to its batch; stages reused from an earlier job do not run again."""
        self._pools.add(event.pool)
        for stage in event.stages:
            self._stages.setdefault(stage, (event.query_id, event.batch_id))

    def _task(self, event: events.TaskEnded) -> None:
        query_id, batch_id = self._stages.get(event.stage, ("", 0))
        if query_id in self.queries:
            self.queries[query_id].task(batch_id, event)


def observations(log: EventLog, application: LoggedApplication, every_s: float, read: Read = lambda count: None) -> Iterator[Observation]:
    """Yield what a monitor would have observed every `every_s` from the start of the first query on, and keep `application` up to date.

    Raises `UserMistake` for an empty log or another file.
    """
    due_s: float | None = None
    for event in events_of(log, read):
        at_s = getattr(event, "at_s", None)
        if at_s is not None and due_s is not None and at_s - due_s > LONGEST_GAP_S:
            due_s = at_s
        while at_s is not None and due_s is not None and at_s > due_s:
            yield application.observation(due_s)
            due_s += every_s
        application.take(event)
        if due_s is None and at_s is not None and application.runs_a_query:
            due_s = at_s + every_s


def events_of(log: EventLog, read: Read) -> Iterator[events.Logged]:
    empty = True
    for part in log.parts:
        pieces = contents(part, read)
        first = next(pieces, b"").lstrip()
        if not first:
            continue
        if not first.startswith(BEGINS):
            raise UserMistake(f"{part}: it is not an event log of Spark: its first line is not an event")
        empty = False
        try:
            yield from logged(chain((first,), pieces))
        except Damaged as damage:
            yield events.Cut(part=part.name, read_share=damage.read_share)
    if empty:
        raise UserMistake(f"{log.path}: {log.trouble or 'it is empty'}")
