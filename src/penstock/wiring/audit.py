"""An audit of a job from Spark's event log of it: what it had, what it needed, what each policy would have saved, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.core.analyze.job_shape import ASAP_S
from penstock.core.domain.job import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.core.shapes.chance import FloatArray
from penstock.eventlog.files import EventLog
from penstock.simulator.calibrate import Calibrated
from penstock.simulator.microbatch_settings import MicroBatchSettings
from penstock.wiring.ran import Ran, lasted, ran
from penstock.wiring.watched import READING_S, watched
from penstock.wiring.whatif import Asked, Like, WhatIf, calibrated_by, what_if

HOUR_S = 3600.0
READING_SHARE = 0.4
"""Of the time that an audit takes, about so much is spent on reading the log."""
SEARCHED = 4
"""Sizes are looked at up to so many times the largest the job had."""
AT_RISK = 0.8
"""A latency above this share of its promise leaves little room."""
RARELY = 0.01
KEPT = 0.95
"""A promise is made about so large a share of the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAsked:
    """What to try and to hold the job to; `max_executors` is what it had at most where None."""

    policies: tuple[str, ...]
    promises: Promises = Promises()
    max_executors: int | None = None
    last_s: float = 86400.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Audited:
    """A job. `needed_s` are executor-seconds that would just have carried what arrived: a bound, with no room for failures or error.

    `wasted_s` and `short_s` are what it had more and less than that, moment by moment; `batch_p95_s` is from trigger to commit, averaged over each reading.
    """

    path: Path
    name: str
    app_id: str
    ran: Ran
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
        return self.ran.worker_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A log that could not be audited, and why."""

    path: Path
    why: str


def audit_all(
    logs: Sequence[EventLog], asked: AuditAsked, progress: Callable[[float], None] = lambda share: None
) -> tuple[tuple[Audited, ...], tuple[Skipped, ...]]:
    """One log after another; those that hold no streaming job, or cannot be read, are named and the others go on."""
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
    """`UserMistake` where the log holds no streaming job, too little of it, or cannot be read."""
    size, done = max(1, log.size_bytes), 0

    def read(count: int) -> None:
        nonlocal done
        done += count
        progress(READING_SHARE * min(1.0, done / size))

    seen = watched(log, asked.last_s, read)
    most = max((reading.executors_running for reading in seen.readings), default=0)
    if not most:
        raise UserMistake(f"{log.path}: it shows no executor at work for {READING_S:g} s")
    like = calibrated_by(seen.name, seen.readings, (), asked.seed)
    limits = limits_of(like, asked.max_executors or most)
    tried = what_if(
        like,
        seen.readings,
        Asked(policies=asked.policies, limits=limits, promises=asked.promises, seed=asked.seed),
        lambda done_s, total_s: progress(READING_SHARE + (1 - READING_SHARE) * done_s / total_s),
    )
    needed = needed_executors(seen.readings, capacities(like.found, asked.promises, SEARCHED * most))
    lasted_s, had = lasted(seen.readings), np.array([float(reading.executors_running) for reading in seen.readings])
    whole = ran(seen.readings, asked.promises)
    short = np.maximum(needed - had, 0.0)
    return Audited(
        path=log.path,
        name=seen.name,
        app_id=seen.app_id,
        ran=whole,
        needed_s=float(needed @ lasted_s),
        wasted_s=float(np.maximum(had - needed, 0.0) @ lasted_s),
        short_s=float(short @ lasted_s),
        rows_per_s=float(np.array([reading.throughput_rows_per_s or 0.0 for reading in seen.readings]) @ lasted_s) / whole.duration_s,
        batch_p95_s=batch_p95_s(seen.readings),
        risks=risks(whole, asked.promises, float((short > 0) @ lasted_s) / whole.duration_s, seen.readings[-1].failures),
        what_if=tried,
        notes=(*seen.notes, *like.found.notes),
    )


def limits_of(like: Like, most: int) -> Limits:
    """From one to the most, beginning with what the job had."""
    return Limits(min_executors=1, max_executors=most, start_executors=min(like.found.executors, most))


def capacities(found: Calibrated, promises: Promises, most: int) -> FloatArray:
    """Rows per second that each size carries, from one executor on; more never carry less."""
    settings, sizes = found.settings, range(1, most + 1)
    if isinstance(settings, MicroBatchSettings):
        asap_s = ASAP_S if promises.latency_p95_s is None else promises.latency_p95_s / 2
        carried = [settings.law.capacity_rows_per_s(size, settings.interval_s or asap_s) for size in sizes]
    else:
        carried = [settings.capacity_rows_per_s * size for size in sizes]
    return np.asarray(np.maximum.accumulate(carried), dtype=np.float64)


def needed_executors(readings: Sequence[Reading], carried: FloatArray) -> FloatArray:
    """The fewest that carry what arrived at each reading: at least one while a query runs, the largest size where none is enough, none without a query."""
    rates = np.array([reading.arrival_rows_per_s or reading.throughput_rows_per_s or 0.0 for reading in readings])
    runs = np.array([bool(reading.queries) for reading in readings])
    return np.where(runs, np.minimum(np.searchsorted(carried, rates, side="left") + 1, len(carried)), 0).astype(np.float64)


def batch_p95_s(readings: Sequence[Reading]) -> float | None:
    took_s = [query.batch.total_s for reading in readings for query in reading.queries if query.batch is not None]
    return float(np.quantile(took_s, 0.95)) if took_s else None


def risks(whole: Ran, promises: Promises, short_share: float, failures: int) -> tuple[str, ...]:
    """What stands in the way of its promises, in words."""
    found, promised_s = [], promises.latency_p95_s
    if promised_s is not None and whole.within_latency is not None and whole.latency is not None:
        if whole.within_latency < KEPT:
            found.append(f"latency was above {duration_words(promised_s)} for {1 - whole.within_latency:.0%} of the rows")
        elif whole.latency.p95_s > AT_RISK * promised_s:
            found.append(f"latency is {whole.latency.p95_s / promised_s:.0%} of what is promised")
    if short_share > RARELY:
        found.append(f"more arrived than its executors carry for {short_share:.0%} of the time")
    if failures:
        found.append(f"{failures} executor{'s' if failures > 1 else ''} or queries failed")
    return tuple(found)
