"""What new executors cost a job in micro-batches: how long their first task takes, and how slow they are after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from penstock.core.config import Config
from penstock.simulator.calibrated import Calibrated, Settings
from penstock.simulator.from_history import Rescale, Seen
from penstock.simulator.microbatch_settings import MicroBatchSettings
from penstock.simulator.own_error import first_engine, lately, run_again

FIRST_TASKS_S = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
FACTORS = (2.0, 1.0, 0.0)
"""What is tried; of two that do as well the first one, which is the usual one."""
NEW_S = 30.0
"""So long after they came they are seen in the latency."""


def with_newcomers(found: Calibrated, seen: Seen, changes: Sequence[Rescale], config: Config) -> Calibrated:
    """With those for which the recorded sizes, run again, come nearest to the latency that was recorded after scale-ups; as it is where there was none."""
    tried, recorded = lately(found, seen)
    new = [any(0 < reading.at_s - change.done_s <= NEW_S for change in changes if change.grows) for reading, _ in recorded]
    if not any(new):
        return found
    choices = [replace_newcomers(tried, first_task_s, factor) for first_task_s, factor in product(FIRST_TASKS_S, FACTORS)]
    best = min(choices, key=lambda choice: missed_s(choice, recorded, new, config))
    return replace(found, queries=best.queries)


def replace_newcomers(found: Calibrated, first_task_s: float, factor: float) -> Calibrated:
    def like(settings: Settings) -> Settings:
        assert isinstance(settings, MicroBatchSettings)
        return replace(settings, first_task_s=first_task_s, warm_up_factor=factor)

    return replace(found, queries=tuple(query.each(like) for query in found.queries))


def missed_s(choice: Calibrated, recorded: Seen, new: Sequence[bool], config: Config) -> float:
    """By how much its 95th percentiles are off, summed over the readings of new executors."""
    again = run_again(first_engine(choice, recorded, seed=0), choice, recorded, config)
    pairs = [(query.latency, reading.queries[0].latency) for (_, query), reading, is_new in zip(recorded, again, new, strict=True) if is_new]
    return sum(abs(one.p95_s - other.p95_s) for one, other in pairs if one is not None and other is not None)
