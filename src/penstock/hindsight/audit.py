"""Audit a job from its Spark event log: the executors it had and needed, and what each policy would have saved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from penstock.core.config import EVEN, USUAL_READING_S
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.report.run_report import RunReport, held_s, run_report
from penstock.eventlog.log_files import EventLog
from penstock.hindsight.audit_findings import late_recoveries, needed_of, out_of_reach, risks, why_beyond
from penstock.hindsight.from_eventlog import Watched, watched
from penstock.hindsight.whatif import Asked, WhatIf, calibrated_by, what_if

HOUR_S = 3600.0
READING_SHARE = 0.4
"""The share of an audit's time that reading the log takes, roughly; for the progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAsked:
    """The policies to try and the promises; without a promised latency `longest_batch_s` counts, 0 is its default.

    `max_executors` None is the most that the job had, `up_s` the time to start an executor, if it is known.
    """

    policies: tuple[str, ...]
    promises: Promises = Promises()
    longest_batch_s: float = 0.0
    max_executors: int | None = None
    up_s: float | None = None
    last_s: float = 86400.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audited:
    """An audited job. `needed_s` are the fewest executor-seconds that could process what arrived, without reserve for failures or errors.

    `wasted_s` and `short_s` are the surplus and the shortage against that, reading by reading; `batch_p95_s` is from trigger to commit.
    """

    path: Path
    name: str
    app_id: str
    ran: RunReport
    needed_s: float
    wasted_s: float
    short_s: float
    rows_per_s: float
    batch_p95_s: float | None
    risks: tuple[str, ...]
    what_if: WhatIf
    notes: tuple[str, ...]

    @property
    def had_s(self) -> float:
        return self.ran.executor_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    path: Path
    why: str


def audit_all(
    logs: Sequence[EventLog], asked: AuditAsked, progress: Callable[[float], None] = lambda share: None
) -> tuple[tuple[Audited, ...], tuple[Skipped, ...]]:
    """Audit each log; return the audits, and the logs that have no streaming job or cannot be read."""
    audited: list[Audited] = []
    skipped: list[Skipped] = []
    for number, log in enumerate(logs):

        def onwards(share: float, number: int = number) -> None:
            progress((number + share) / len(logs))

        try:
            audited.append(audit(log, asked, onwards))
        except UserMistake as mistake:
            skipped.append(Skipped(path=log.path, why=str(mistake).removeprefix(f"{log.path}: ")))
        onwards(1.0)
    return tuple(audited), tuple(skipped)


def audit(log: EventLog, asked: AuditAsked, progress: Callable[[float], None] = lambda share: None) -> Audited:
    """Audit one log; raise `UserMistake` if it has no streaming job, or too little of it, or cannot be read."""
    size, done = max(1, log.size_bytes), 0

    def read(count: int) -> None:
        nonlocal done
        done += count
        progress(READING_SHARE * min(1.0, done / size))

    seen = watched(log, asked.last_s, read)
    most = max((reading.executors_running for reading in seen.readings), default=0)
    if not most:
        raise UserMistake(f"{log.path}: it shows no executor that worked for {USUAL_READING_S:g} s")
    return audit_of(log.path, seen, most, asked, lambda share: progress(READING_SHARE + (1 - READING_SHARE) * share))


def audit_of(path: Path, seen: Watched, most: int, asked: AuditAsked, progress: Callable[[float], None]) -> Audited:
    """Audit the readings of a job that had at most `most` executors."""
    terms = Terms(promises=asked.promises, config=replace(EVEN, longest_batch_s=asked.longest_batch_s))
    like = calibrated_by(seen.name, seen.readings, (), asked.seed, terms, up_s=asked.up_s, scheduler=seen.scheduler, only="micro_batch")
    allowed = asked.max_executors or most
    limits = Limits(min_executors=1, max_executors=allowed, start_executors=min(like.found.executors, allowed))
    tried = what_if(
        like,
        seen.readings,
        Asked(policies=asked.policies, limits=limits, promises=asked.promises, seed=asked.seed),
        lambda done_s, total_s: progress(done_s / total_s),
    )
    costs = {query.name: query.settings for query in like.found.queries}
    needed = needed_of(seen.readings, costs, terms, most)
    held, had = held_s(seen.readings), np.array([float(reading.executors_running) for reading in seen.readings])
    whole = run_report(seen.readings, asked.promises)
    short = np.maximum(needed.executors - had, 0.0)
    at_risk = risks(
        whole,
        asked.promises,
        short_share=float((short > 0) @ held) / whole.duration_s,
        beyond_share=float(needed.beyond @ held) / whole.duration_s,
        why_beyond=why_beyond(costs),
        late_share=late_recoveries(like.found, seen.readings, terms),
        failures=seen.failures,
    )
    return Audited(
        path=path, name=seen.name, app_id=seen.app_id, ran=whole, needed_s=float(needed.executors @ held),
        wasted_s=float(np.maximum(had - needed.executors, 0.0) @ held), short_s=float(short @ held),
        rows_per_s=seen.rows / whole.duration_s,
        batch_p95_s=batch_p95_s(seen.readings), risks=(*out_of_reach(costs, terms), *at_risk), what_if=tried, notes=(*seen.notes, *like.found.notes),
    )  # fmt: skip


def batch_p95_s(readings: Sequence[Reading]) -> float | None:
    took_s = [query.batch.total_s for reading in readings for query in reading.queries if query.batch is not None]
    return float(np.quantile(took_s, 0.95)) if took_s else None
