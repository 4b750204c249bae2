"""The settings of a micro-batch job, found in its own readings."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from penstock.core.analyze.learn import batch_measured, cost_of
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import IN_TASKS, QueryReading, Reading
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured, fit_durations
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.estimate import NotReady
from penstock.core.models.usage import ASAP_S
from penstock.simulator.calibrated import Found
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.from_history import Rescale, Seen, restarted_after_s, usual_plan, usual_took_s

Told = tuple[Reading, QueryReading, BatchMeasured]
"""A reading, the query in it, and its average batch."""

WARM_UPS_S = (60.0, 30.0, 15.0, 0.0)
"""Readings of so long after a disturbance are left out, or of less where nothing is left."""
TO_SIGMA = 1.4826
"""From a median deviation to a standard deviation, where noise is normal."""


def batch_settings(seen: Seen, events: Iterable[Event], rescales: Sequence[Rescale], up_s: float | None = None) -> Found:
    """From a query and what its rescales and restarts took; `up_s` is how long a new executor takes to come, where somebody knows."""
    usual, query, notes = MicroBatchSettings(), seen[-1][1], list[str]()
    trigger, limit = usual_plan(seen)
    measured = whole_batches(seen)
    cost = next((found for found in (cost_of(each, reading, None) for reading, each in reversed(seen)) if found), None)
    if cost is None:
        cost = BatchCost(partitions=query.partitions or usual.partitions)
        notes.append(f"no stage was seen: batches are taken to have {cost.partitions} tasks, and executors one slot")
    laws, why = laws_of(cost, measured)
    if why:
        notes.append(why)
    took_s = {
        "scale-up": (usual_took_s(rescales, grows=True) if up_s is None else up_s, usual.up_s),
        "scale-down": (usual_took_s(rescales, grows=False), usual.down_s),
        "restart of the query": (restarted_after_s(events, query.name), usual.failed_s),
    }
    notes += [f"no {which} was seen: it is taken to last {usual_s:g} s" for which, (known_s, usual_s) in took_s.items() if known_s is None]
    comes_s, goes_s, failed_s = (usual_s if known_s is None else known_s for known_s, usual_s in took_s.values())
    settings = MicroBatchSettings(
        partitions=cost.partitions,
        cores_per_executor=cost.cores_per_executor,
        trigger=trigger,
        rate_limit_rows_per_s=limit,
        noise=noise_of(laws.best, measured),
        up_s=comes_s,
        down_s=goes_s,
        failed_s=failed_s,
        query=query.name,
    )
    ends = laws.ends(lambda law: replace(law, limit_rows=None).capacity_rows_per_s(1, trigger.interval_s or ASAP_S))
    return Found(settings=priced(settings, laws.best, measured), likely=tuple(priced(settings, law, measured) for law in ends), notes=tuple(notes))


def priced(settings: MicroBatchSettings, law: BatchLaw, measured: Sequence[Told]) -> MicroBatchSettings:
    """With batches that cost what the law says."""
    row_s = task_row_s(measured, law.row_s)
    return replace(settings, overhead_s=law.overhead_s, row_s=row_s, skew=law.row_s / row_s if row_s > 0 else 1.0)


def whole_batches(seen: Seen) -> list[Told]:
    """The average batch of each reading that tells of a new one, without those of a stall, and those whose window had gaps: nothing to read."""
    found: list[Told] = []
    last_id: int | None = None
    for reading, query in seen:
        batch = batch_measured(query, reading, warming=False)
        if batch is None or batch.rows <= 0 or query.batch_id == last_id:
            continue
        last_id = query.batch_id
        if query.since_commit_s is None or query.since_commit_s <= 2 * query.cycle_s + 1.0:
            found.append((reading, query, batch))
    usual_s = median(query.window_s for _, query, _ in found) if found else 0.0
    return [told for told in found if told[1].window_s >= 0.7 * usual_s]


def settled(measured: Sequence[Told], warm_up_s: float) -> list[Told]:
    """Those of executors that have been the same for so long, and for all batches of the window."""
    return [told for told in measured if (quiet_s := told[0].since_disturbance_s) is None or quiet_s >= max(warm_up_s, told[1].window_s)]


def laws_of(cost: BatchCost, measured: Sequence[Told]) -> tuple[LikelyLaws, str]:
    """What a batch costs, from batches of warm executors if there are enough; and why it is a guess, if it is."""
    why = ""
    for warm_up_s in WARM_UPS_S:
        laws = cost.learn([batch for *_, batch in settled(measured, warm_up_s)]).laws()
        if not isinstance(laws, NotReady) and laws.best.row_s > 0:
            told = replace(laws, drawn=tuple(law for law in laws.drawn if law.row_s > 0))
            return told, f"batches of executors younger than {WARM_UPS_S[0]:g} s were used: there were no others" if why else ""
        why = why or (laws.why if isinstance(laws, NotReady) else "rows do not lengthen a batch")
    return guessed_laws(cost, measured), f"{why}; what Spark spends outside of its tasks is taken for the overhead"


def guessed_laws(cost: BatchCost, measured: Sequence[Told]) -> LikelyLaws:
    """One that agrees with the middle one of the batches whose executors were warmest; without any, the usual one.

    Beside it what that batch leaves open, where its tasks tell: rows that cost no more than tasks took for them, and rows that cost all of its time.
    """
    usual = MicroBatchSettings()
    free = BatchLaw(overhead_s=usual.overhead_s, row_s=usual.row_s, partitions=cost.partitions, cores_per_executor=cost.cores_per_executor)
    if not measured:
        return LikelyLaws(best=free, drawn=())
    warmest = sorted(measured, key=lambda each: math.inf if each[0].since_disturbance_s is None else each[0].since_disturbance_s)[len(measured) // 2 :]
    _, query, batch = sorted(warmest, key=lambda each: each[2].duration_s)[len(warmest) // 2]
    outside_s = sum(seconds for name, seconds in query.batch.parts_s.items() if name != IN_TASKS) if query.batch else 0.0
    of_one_s = replace(free, overhead_s=0.0, row_s=1.0, partitions=batch.tasks or cost.partitions).duration_s(batch.rows, batch.scaleout)

    def law(overhead_s: float) -> BatchLaw:
        return replace(free, overhead_s=overhead_s, row_s=(batch.duration_s - overhead_s) / of_one_s)

    in_tasks_s = task_time_s(query) / batch.rows * of_one_s
    drawn = (law(0.0), law(batch.duration_s - in_tasks_s)) if 0 < in_tasks_s < batch.duration_s else ()
    return LikelyLaws(best=law(min(outside_s or usual.overhead_s, batch.duration_s / 2)), drawn=drawn)


def task_row_s(measured: Sequence[Told], most_s: float) -> float:
    """Task time of one row: what the tasks took, without what they take for no row at all. The rest of what a row costs is skew.

    It is at most what the durations say, and just that where the tasks do not tell.
    """
    told = [(batch.rows, busy_s) for _, query, batch in measured if (busy_s := task_time_s(query)) > 0]
    if len(told) < 5:
        return most_s
    rows, busy = np.array([each for each, _ in told]), np.array([each for _, each in told])
    found = float(fit_durations(np.column_stack([np.ones(len(rows)), rows]), busy).coefficients[1])
    return found if 0 < found <= most_s else most_s


def task_time_s(query: QueryReading) -> float:
    """Seconds that the tasks of the average batch took together."""
    return sum(stage.run_time_s_per_s for stage in query.stages) * query.cycle_s


def noise_of(law: BatchLaw, measured: Sequence[Told]) -> float:
    """Spread of the logarithm of one batch's duration: that of the averages, times the root of how many batches are in one."""
    warm = next((some for some in (settled(measured, warm_up_s) for warm_up_s in WARM_UPS_S) if len(some) >= 5), [])
    if not warm or law.overhead_s + law.row_s <= 0:
        return 0.0
    residuals = [math.log(batch.duration_s / law.duration_s(batch.rows, batch.scaleout)) for *_, batch in warm]
    middle = median(residuals)
    return TO_SIGMA * median(abs(each - middle) for each in residuals) * math.sqrt(median(query.batches for _, query, _ in warm))
