"""Make readings of a job that never ran under Penstock from its Spark event log."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.core.config import EVEN, USUAL_READING_S
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.core.monitor.observe import Memory, observe
from penstock.eventlog.bytes import Read
from penstock.eventlog.log_files import EventLog
from penstock.eventlog.logged_query import Rhythm
from penstock.eventlog.observed import LoggedApplication, observations
from penstock.simulator.from_history import SILENT_S
from penstock.simulator.sharing import Scheduler

MOST_EXECUTORS = 64
"""A reading keeps the details of at most this many executors, so that logs of days fit into memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The readings of a job. `rows` were committed and `failures` of executors and queries happened between the first and the last.

    `notes` say what the log does not show, and what is assumed.
    """

    name: str
    app_id: str
    readings: tuple[Reading, ...]
    rows: float
    failures: int = 0
    notes: tuple[str, ...] = ()
    scheduler: Scheduler = "fifo"


def watched(log: EventLog, last_s: float, read: Read = lambda count: None) -> Watched:
    """Read the log in one pass and keep the last `last_s` seconds; raise `UserMistake` if it has no streaming job."""
    application, memory = LoggedApplication(), Memory()
    most = max(2, round(last_s / USUAL_READING_S))
    kept: deque[Reading] = deque(maxlen=most)
    rows: deque[float] = deque(maxlen=most)
    failed: deque[int] = deque([0], maxlen=most + 1)
    made = executors_lost = 0
    for seen in observations(log, application, USUAL_READING_S, read):
        known, (memory, reading) = memory, observe(memory, seen, EVEN)
        memory = with_those_away(known, memory, seen.at_s)
        kept.append(replace(reading, executors=reading.executors[:MOST_EXECUTORS]))
        rows.append(sum(batch.rows for query in seen.queries for batch in query.batches))
        executors_lost = seen.executors_lost
        failed.append(executors_lost + failed_queries(application))
        made += 1
    refuse_what_does_not_stream(log, application)
    triggers = {query.name: trigger_of(query.rhythm) for query in application.queries.values()}
    seen_s, all_s = len(kept) * USUAL_READING_S, made * USUAL_READING_S
    cut = [f"only the last {duration_words(seen_s)} of {duration_words(all_s)} were looked at"] if made > len(kept) else []
    return Watched(
        name=application.name or log.path.name,
        app_id=application.app_id,
        readings=tuple(with_triggers(reading, triggers) for reading in kept),
        rows=sum(rows) - rows[0] if rows else 0.0,
        failures=executors_lost + failed_queries(application) - failed[0],
        notes=(*cut, *notes_of(application)),
        scheduler="fair" if application.shares_fairly else "fifo",
    )


def with_those_away(known: Memory, memory: Memory, at_s: float) -> Memory:
    """Return the memory with queries that ended less than `SILENT_S` ago: a query that is started every minute reads what arrived since its last run."""
    away = {name for name, batches in known.batches.items() if name not in memory.batches and batches and at_s - batches[-1].committed_s <= SILENT_S}
    return replace(
        memory,
        batches={**memory.batches, **{name: known.batches[name] for name in away}},
        newest={**memory.newest, **{name: known.newest[name] for name in away}},
    )


def failed_queries(application: LoggedApplication) -> int:
    """Return the failures of all queries so far, including those that have ended."""
    return sum(query.failures for query in application.queries.values())


def refuse_what_does_not_stream(log: EventLog, application: LoggedApplication) -> None:
    name, queries = application.name or "its application", list(application.queries.values())
    if not queries:
        raise UserMistake(f"{log.path}: no streaming query ran in it: {name} is a batch job")
    if not any(query.batches_in_all for query in queries):
        raise UserMistake(f"{log.path}: the queries of {name} committed no batch")
    if all(query.rhythm.is_real_time for query in queries if query.batches_in_all):
        raise UserMistake(
            f"{log.path}: {name} runs in Real-Time Mode, where tasks run all the time: its log does not show how much of that is work; "
            "run it under Penstock once, which only observes by default, and use penstock replay"
        )


def notes_of(application: LoggedApplication) -> Sequence[str]:
    queries = [query for query in application.queries.values() if query.batches_in_all]
    notes = [f"the trigger of {query.name} is not logged: {trigger_of(query.rhythm)} is assumed, from the starts of its batches" for query in queries]
    for query in queries:
        notes.append(
            f"arrivals of {query.name} are those of its topics, counted at the start of each batch"
            if query.tells_arrivals
            else f"the log has what {query.name} processed, not what arrived: the rows of a batch are assumed to have arrived since the start of the one before"
        )
    if application.is_local:
        notes.append("it ran in local mode: an executor is a process of its size")
    if application.unreadable_lines > 1:
        notes.append(f"{application.unreadable_lines:,} lines of the log could not be read")
    notes += [f"{cut.part} is damaged: only about the first {cut.read_share:.0%} of it could be read" for cut in application.cuts]
    return notes


def trigger_of(rhythm: Rhythm) -> Trigger:
    """Return the trigger by the starts and ends of batches; in Real-Time Mode the interval is the duration of a batch."""
    return Trigger(kind="real_time", interval_s=rhythm.usual_s) if rhythm.is_real_time else rhythm.trigger


def with_triggers(reading: Reading, triggers: Mapping[str, Trigger]) -> Reading:
    """Return the reading with the triggers of the whole log, as the first batches do not show theirs yet."""
    return replace(reading, queries=tuple(replace(query, trigger=triggers[query.name]) for query in reading.queries))
