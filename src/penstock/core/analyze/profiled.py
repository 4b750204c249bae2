"""What a profile says of a job as it runs now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from penstock.core.analyze.batches import most_tasks
from penstock.core.analyze.capacities import bounded, by_size
from penstock.core.analyze.job_shape import slots_of
from penstock.core.domain.reading import Reading
from penstock.core.learnt import Learnt
from penstock.core.models.capacity.batch_law import LikelyLaws, capacities_by_laws, least_alike
from penstock.core.models.capacity.scaleout_capacity import ScaleoutCapacity, ScaleoutMeasured
from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.latency_table import LatencyTable
from penstock.core.usage.utilization import plant_of


def t_max_of(learnt: Learnt, reading: Reading, sizes: Sequence[int], interval_s: float) -> dict[int, Estimate]:
    """Phoebe's T_max of each size: where tasks run all the time a line or a power law (sec. III-D), at the pace that the job was seen to have.

    Of micro-batches their law as soon as it is known; before that the profile's curve over sizes that differ in waves, as those that do not carry the
    same (PAPER-NOTES "T_max over scale-outs").
    """
    if plant_of(reading) == "continuous":
        return {size: answer.times(learnt.pace.share) for size in sizes if isinstance(answer := learnt.t_max.predict(size), Estimate)}
    if not learnt.t_max.seen:
        return {}
    laws = learnt.capacity.by_batches.laws() if learnt.capacity.by_batches else None
    if isinstance(laws, LikelyLaws) and laws.best.row_s > 0.0:
        found = capacities_by_laws(laws, sizes, interval_s)
        return by_size(sizes, bounded(found), np.isfinite(found.value))
    return by_waves(learnt.t_max, sizes, tasks_of(reading), slots_of(reading))


def by_waves(t_max: ScaleoutCapacity, sizes: Sequence[int], tasks: int | None, slots_each: int) -> dict[int, Estimate]:
    """The capacities of a profile, where sizes that run `tasks` in equally many waves count as one; unchanged where the tasks are not known.

    >>> profile = [ScaleoutMeasured(scaleout=size, throughput_rows_per_s=rate) for size, rate in ((3, 300.0), (6, 600.0), (10, 600.0), (12, 1200.0))]
    >>> found = by_waves(ScaleoutCapacity().learn(profile), [1, 10, 11], 12, 1)
    >>> {size: round(each.value) for size, each in found.items()}
    {1: 100, 10: 600, 11: 600}
    """
    if tasks is not None:
        alike = [ScaleoutMeasured(scaleout=least_alike(each.scaleout, tasks, slots_each), throughput_rows_per_s=each.mean) for each in t_max.seen]
        t_max = ScaleoutCapacity().learn(alike)
    found = {size: t_max.predict(size if tasks is None else least_alike(size, tasks, slots_each)) for size in sizes}
    return {size: answer for size, answer in found.items() if isinstance(answer, Estimate)}


def tasks_of(reading: Reading) -> int | None:
    """Tasks of a batch where the job has a single query; None where nobody knows, or queries share the slots."""
    return most_tasks(reading.queries[0]) if len(reading.queries) == 1 else None


def table_of(learnt: Learnt, reading: Reading, t_max: Mapping[int, Estimate]) -> LatencyTable | None:
    """The table of latencies at the pace that the job was seen to have; of micro-batches, a table knows no waves and T_max does."""
    if learnt.table is None or plant_of(reading) == "continuous":
        return paced(learnt)
    return learnt.table.within({size: each.value for size, each in t_max.items()})


def paced(learnt: Learnt) -> LatencyTable | None:
    return None if learnt.table is None else learnt.table.at_pace(learnt.pace.share)
