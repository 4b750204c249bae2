"""Capacity by executors: from the model with the smaller error, and T_max from a profile."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from penstock.core.domain.cadence import Cadence, cadence_of
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.learnt import Learnt
from penstock.core.models.arrays import Flags
from penstock.core.models.capacity.batch_cost import BatchCost
from penstock.core.models.capacity.batch_law import LikelyLaws, capacities_by_laws, least_alike
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.capacity.capacity_model import CapacityModel, are_vague
from penstock.core.models.estimate import Estimate, Estimates, NotReady
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.models.usage import most_tasks, plant_of, share_of, slots_of

MOST_TIMES = 10.0
"""An upper bound is at most this many times the value: a few batches may leave open whether a row costs anything at all."""


def capacities(model: CapacityModel, executors: Sequence[int], cadence: Cadence) -> dict[int, Estimate]:
    """Return the capacity in rows/s by executors. Those whose lower bound is 0 are left out unless the upper bound is 0 too.

    Where there are micro-batches their cost answers for every policy, as soon as it is known (PAPER-NOTES "Micro-batch capacity").
    """
    answers = model.capacities(executors, cadence)
    return {} if isinstance(answers, NotReady) else by_executors(executors, bounded(answers), say_something(answers))


def say_something(capacities: Estimates) -> Flags:
    """Return whether the bounds of a capacity exclude anything: more than nothing, or surely nothing.

    >>> say_something(Estimates(value=np.array([9.0, 9.0, 0.0]), low=np.array([1.0, 0.0, 0.0]), high=np.array([99.0, 99.0, 0.0]))).tolist()
    [True, False, True]
    """
    return np.asarray(np.isfinite(capacities.value) & ((capacities.low > 0.0) | (capacities.high <= 0.0)))


def by_executors(executors: Sequence[int], answers: Estimates, known: Flags) -> dict[int, Estimate]:
    return {each: answer for each, answer, is_known in zip(executors, answers.each(), known.tolist(), strict=True) if is_known}


def carried_by(seen: Assessment, executors: int) -> Estimate | None:
    """Return the capacity of a number of executors: as learnt while the job ran, else as the profile has it."""
    return seen.capacities.get(executors) or seen.t_max.get(executors)


def bounded(capacities: Estimates) -> Estimates:
    """Return the capacities with finite upper bounds.

    >>> bounded(Estimates(value=np.array([100.0]), low=np.array([50.0]), high=np.array([np.inf]))).high.tolist()
    [1000.0]
    """
    return replace(capacities, high=np.minimum(capacities.high, MOST_TIMES * capacities.value))


def t_max_of(learnt: Learnt, reading: Reading, laws: LikelyLaws | None, executors: Sequence[int], cadence: Cadence) -> dict[int, Estimate]:
    """Return Phoebe's T_max by executors: where tasks run all the time a line or a power law (sec. III-D), at the pace that the job was seen to have.

    Of micro-batches their law as soon as it is known; before that the profile's curve over executors that differ in waves, as those that do not carry the
    same (PAPER-NOTES "T_max over scale-outs").
    """
    if plant_of(reading) == "continuous":
        return {each: answer.times(learnt.pace.share) for each in executors if isinstance(answer := learnt.t_max.predict(each), Estimate)}
    if not learnt.t_max.seen:
        return {}
    if laws is not None and laws.best.row_s > 0.0:
        found = capacities_by_laws(laws, executors, cadence)
        return by_executors(executors, bounded(found), np.isfinite(found.value))
    return by_waves(learnt.t_max, executors, tasks_of(reading), slots_of(reading))


def batch_laws(model: CapacityModel, reading: Reading) -> LikelyLaws | None:
    """Return the law of the batches of a job with a single query, by which it can process what it does now; None while it is not known."""
    laws = None if model.by_batches is None or plant_of(reading) == "continuous" else model.laws()
    return laws.carrying(reading.executors_running, reading.throughput_rows_per_s or 0.0) if isinstance(laws, LikelyLaws) else None


def as_processed(known: Mapping[int, Estimate], reading: Reading, cadence: Cadence) -> dict[int, Estimate]:
    """Return the capacities, of the present executors and of more at least what these process now in batches that are not too long."""
    now = reading.throughput_rows_per_s or 0.0
    if plant_of(reading) == "continuous" or any(query.batch is None or query.batch.total_s > cadence.longest_s for query in reading.active):
        return dict(known)
    return {each: answer.at_least(now) if each >= reading.executors_running else answer for each, answer in known.items()}


def by_slowest_query(
    known: Mapping[int, Estimate], costs: Mapping[str, BatchCost], reading: Reading, promises: Promises, longest_batch_s: float
) -> dict[int, Estimate]:
    """Return the capacities of a job whose queries share its executors: at most the rate at which the first of them reaches its longest batch.

    Utilisation knows no overhead: it says when the executors are full, and a batch may be too long before. A query whose cost is not known bounds nothing.
    """
    executors, found = list(known), dict(known)
    for query in reading.active if plant_of(reading) == "micro_batch" and len(reading.active) > 1 else ():
        laws, share = costs[query.name].laws() if query.name in costs else None, share_of(query, reading)
        if not isinstance(laws, LikelyLaws) or laws.best.row_s <= 0.0 or share <= 0.0:
            continue
        cadence = cadence_of(query.trigger, promises, rate_limit_rows_per_s=query.rate_limit_rows_per_s, longest_batch_s=longest_batch_s)
        answers = capacities_by_laws(laws, executors, cadence)
        for each, answer, vague in zip(executors, answers.each(), are_vague(answers).tolist(), strict=True):
            found[each] = found[each] if vague else found[each].at_most(answer.times(1.0 / share))
    return found


def by_waves(t_max: CapacityByExecutors, executors: Sequence[int], tasks: int | None, slots_each: int) -> dict[int, Estimate]:
    """Return the capacities of a profile, where executors that run `tasks` in equally many waves count as one; unchanged where the tasks are not known.

    >>> profile = [CapacityMeasured(executors=executors, throughput_rows_per_s=rate) for executors, rate in ((3, 300.0), (6, 600.0), (10, 600.0), (12, 1200.0))]
    >>> found = by_waves(CapacityByExecutors().learn(profile), [1, 10, 11], 12, 1)
    >>> {executors: round(each.value) for executors, each in found.items()}
    {1: 100, 10: 600, 11: 600}
    """
    if tasks is not None:
        alike = [CapacityMeasured(executors=least_alike(each.executors, tasks, slots_each), throughput_rows_per_s=each.mean) for each in t_max.seen]
        t_max = CapacityByExecutors().learn(alike)
    found = {each: t_max.predict(each if tasks is None else least_alike(each, tasks, slots_each)) for each in executors}
    return {each: answer for each, answer in found.items() if isinstance(answer, Estimate)}


def tasks_of(reading: Reading) -> int | None:
    """Return the tasks of a batch where the job has a single query; None where that is unknown, or queries share the slots."""
    return most_tasks(reading.active[0]) if len(reading.active) == 1 else None


def table_of(learnt: Learnt, reading: Reading, t_max: Mapping[int, Estimate]) -> LatencyTable | None:
    """Return the table of latencies at the pace that the job was seen to have; of micro-batches, a table knows no waves and T_max does."""
    if learnt.table is None or plant_of(reading) == "continuous":
        return paced(learnt)
    return learnt.table.within({executors: each.value for executors, each in t_max.items()})


def paced(learnt: Learnt) -> LatencyTable | None:
    return None if learnt.table is None else learnt.table.at_pace(learnt.pace.share)
