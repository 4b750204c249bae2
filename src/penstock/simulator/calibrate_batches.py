"""Find the settings of a micro-batch query in its readings."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from penstock.core.analyze.learn import batch_measured, cost_of
from penstock.core.domain.events.event import Event
from penstock.core.domain.reading import IN_TASKS, QueryReading, Reading
from penstock.core.models.capacity.batch_cost import BatchCost, BatchMeasured
from penstock.core.models.capacity.batch_law import BatchLaw, LikelyLaws
from penstock.core.models.capacity.duration_fit import fit_durations
from penstock.core.models.estimate import SIGMA_PER_MAD, NotReady
from penstock.simulator.calibrated import Found
from penstock.simulator.engine_settings import MicroBatchSettings
from penstock.simulator.from_history import Rescale, Seen, restarted_after_s, usual_plan, usual_took_s

Sample = tuple[Reading, QueryReading, BatchMeasured]
"""A reading, the query in it, and its average batch."""

WARM_UPS_S = (60.0, 30.0, 15.0, 0.0)
"""Readings in this time after a disturbance are left out; the next shorter time is used if nothing is left."""


def batch_settings(seen: Seen, events: Iterable[Event], rescales: Sequence[Rescale], up_s: float | None = None) -> Found:
    """Return the settings of a query, from its readings, rescales and restarts; `up_s` is the time to start an executor, if it is known."""
    usual, query, notes = MicroBatchSettings(), seen[-1][1], list[str]()
    trigger, limit = usual_plan(seen)
    measured = whole_batches(seen)
    cost = next((found for found in (cost_of(each, reading, None) for reading, each in reversed(seen)) if found), None)
    if cost is None:
        cost = BatchCost(partitions=query.partitions or usual.partitions)
        notes.append(f"no stage was seen: {cost.partitions} tasks a batch and one slot an executor are assumed")
    laws, why = laws_of(cost, measured)
    if why:
        notes.append(why)
    took_s = {
        "scale-up": (usual_took_s(rescales, grows=True) if up_s is None else up_s, usual.up_s),
        "scale-down": (usual_took_s(rescales, grows=False), usual.down_s),
        "restart of the query": (restarted_after_s(events, query.name), usual.failed_s),
    }
    notes += [f"no {which} was seen: {usual_s:g} s are assumed" for which, (known_s, usual_s) in took_s.items() if known_s is None]
    comes_s, goes_s, failed_s = (usual_s if known_s is None else known_s for known_s, usual_s in took_s.values())
    settings = MicroBatchSettings(
        partitions=cost.partitions, cores_per_executor=cost.cores_per_executor, trigger=trigger, rate_limit_rows_per_s=limit,
        noise=noise_of(laws.best, measured), up_s=comes_s, down_s=goes_s, failed_s=failed_s, query=query.name,
    )  # fmt: skip
    ends = laws.ends(lambda law: replace(law, limit_rows=None).saturated_rows_per_s(1, trigger.interval_s))
    return Found(settings=priced(settings, laws.best, measured), likely=tuple(priced(settings, law, measured) for law in ends), notes=tuple(notes))


def priced(settings: MicroBatchSettings, law: BatchLaw, measured: Sequence[Sample]) -> MicroBatchSettings:
    """Return the settings with the costs of this law; what tasks take whatever their rows is that of the newest executors."""
    row_s, executors = task_row_s(measured, law.row_s), measured[-1][2].executors if measured else 1
    return replace(settings, overhead_s=law.base_s(executors), row_s=row_s, skew=law.row_s / row_s if row_s > 0 else 1.0)


def whole_batches(seen: Seen) -> list[Sample]:
    """Return the average batch of each reading that has a new one, without stalls and without windows in which there was nothing to read."""
    found: list[Sample] = []
    last_id: int | None = None
    for reading, query in seen:
        batch = batch_measured(query, reading, warming=False)
        if batch is None or batch.rows <= 0 or query.batch_id == last_id:
            continue
        last_id = query.batch_id
        if query.since_commit_s is None or query.since_commit_s <= 2 * query.cycle_s + 1.0:
            found.append((reading, query, batch))
    usual_s = median(query.window_s for _, query, _ in found) if found else 0.0
    return [each for each in found if each[1].window_s >= 0.7 * usual_s]


def settled(measured: Sequence[Sample], warm_up_s: float) -> list[Sample]:
    """Return the samples without a disturbance in the last `warm_up_s` and in their window."""
    return [each for each in measured if (quiet_s := each[0].since_disturbance_s) is None or quiet_s >= max(warm_up_s, each[1].window_s)]


def laws_of(cost: BatchCost, measured: Sequence[Sample]) -> tuple[LikelyLaws, str]:
    """Return the cost of a batch, from batches on warm executors if there are enough; and a note if it is a guess."""
    why = ""
    for warm_up_s in WARM_UPS_S:
        laws = cost.learn([batch for *_, batch in settled(measured, warm_up_s)]).laws()
        if not isinstance(laws, NotReady) and laws.best.row_s > 0:
            laws = replace(laws, drawn=tuple(law for law in laws.drawn if law.row_s > 0))
            return laws, f"batches of executors younger than {WARM_UPS_S[0]:g} s were used: there were no others" if why else ""
        why = why or (laws.why if isinstance(laws, NotReady) else "rows do not lengthen a batch")
    return guessed_laws(cost, measured), f"{why}; the time that Spark spends outside of tasks is used as the overhead"


def guessed_laws(cost: BatchCost, measured: Sequence[Sample]) -> LikelyLaws:
    """Return a law that fits the median batch of the warmer half; without any batch, the default.

    If the task time is known, the likely laws are both extremes: rows cost only the task time, and rows cost the whole batch.
    """
    usual = MicroBatchSettings()
    free = BatchLaw(overhead_s=usual.overhead_s, row_s=usual.row_s, partitions=cost.partitions, cores_per_executor=cost.cores_per_executor)
    if not measured:
        return LikelyLaws(best=free, drawn=())
    warmest = sorted(measured, key=lambda each: math.inf if each[0].since_disturbance_s is None else each[0].since_disturbance_s)[len(measured) // 2 :]
    _, query, batch = sorted(warmest, key=lambda each: each[2].duration_s)[len(warmest) // 2]
    outside_s = sum(seconds for name, seconds in query.batch.parts_s.items() if name != IN_TASKS) if query.batch else 0.0
    of_one_s = replace(free, overhead_s=0.0, row_s=1.0, partitions=batch.tasks or cost.partitions).duration_s(batch.rows, batch.executors)

    def law(overhead_s: float) -> BatchLaw:
        return replace(free, overhead_s=overhead_s, row_s=(batch.duration_s - overhead_s) / of_one_s)

    in_tasks_s = task_time_s(query) / batch.rows * of_one_s
    drawn = (law(0.0), law(batch.duration_s - in_tasks_s)) if 0 < in_tasks_s < batch.duration_s else ()
    return LikelyLaws(best=law(min(outside_s or usual.overhead_s, batch.duration_s / 2)), drawn=drawn)


def task_row_s(measured: Sequence[Sample], most_s: float) -> float:
    """Return the task time of a row, without the time of tasks without rows; at most `most_s`, its cost by durations, and that if tasks are not known."""
    known = [(batch.rows, busy_s) for _, query, batch in measured if (busy_s := task_time_s(query)) > 0]
    if len(known) < 5:
        return most_s
    rows, busy = np.array([each for each, _ in known]), np.array([each for _, each in known])
    found = float(fit_durations(np.column_stack([np.ones(len(rows)), rows]), busy).coefficients[1])
    return found if 0 < found <= most_s else most_s


def task_time_s(query: QueryReading) -> float:
    """Return the total task time of the average batch."""
    return sum(stage.run_time_s_per_s for stage in query.stages) * query.cycle_s


def noise_of(law: BatchLaw, measured: Sequence[Sample]) -> float:
    """Return the spread of the logarithm of a batch's duration: that of the averages, times the root of the number of batches in one."""
    warm = next((some for some in (settled(measured, warm_up_s) for warm_up_s in WARM_UPS_S) if len(some) >= 5), [])
    if not warm or law.overhead_s + law.row_s <= 0:
        return 0.0
    residuals = [math.log(batch.duration_s / law.duration_s(batch.rows, batch.executors)) for *_, batch in warm]
    middle = median(residuals)
    return SIGMA_PER_MAD * median(abs(each - middle) for each in residuals) * math.sqrt(median(query.batches for _, query, _ in warm))
