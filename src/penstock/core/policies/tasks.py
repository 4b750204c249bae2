"""How many tasks of micro-batches are there at one time: no more slots can work."""

from __future__ import annotations

from math import ceil

from penstock.core.assessment import Assessment
from penstock.core.domain.reading import Reading


def tasks_at_once(reading: Reading) -> dict[str, int]:
    """By query, the tasks of its largest stage, as the stages of a query follow each other; only of those whose batches the reading shows."""
    return {query.name: ceil(max(stage.tasks for stage in query.stages)) for query in reading.queries if query.stages}


def executors_filled(seen: Assessment) -> int | None:
    """So many executors the tasks of all queries can fill at once; None where tasks run all the time, or those of a query are not known."""
    tasks = tasks_at_once(seen.reading)
    if seen.plant == "continuous" or not tasks or len(tasks) < len(seen.reading.queries):
        return None
    return max(1, ceil(sum(tasks.values()) / seen.slots_each))
