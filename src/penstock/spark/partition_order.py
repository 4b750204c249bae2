"""Which task reads which partition: Spark does not tell, but a finished batch shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence


def order_of(task_rows: Sequence[int], partition_rows: Mapping[str, float]) -> tuple[str, ...] | None:
    """The partitions in the order of the tasks that read them, found by their row counts; None if the two do not fit each other.

    Partitions with the same count may stand for each other: they take their turns in the order of their names.

    >>> order_of([7, 9, 8], {"clicks-0": 8.0, "clicks-1": 7.0, "clicks-2": 9.0})
    ('clicks-1', 'clicks-2', 'clicks-0')
    """
    with_count: dict[float, list[str]] = defaultdict(list)
    for name in sorted(partition_rows, key=natural):
        with_count[partition_rows[name]].append(name)
    if sorted(task_rows) != sorted(partition_rows.values()):
        return None
    return tuple(with_count[rows].pop(0) for rows in task_rows)


def natural(name: str) -> tuple[str, int]:
    """Sorts partition 10 after partition 9.

    >>> sorted(["clicks-10", "clicks-9"], key=natural)
    ['clicks-9', 'clicks-10']
    """
    topic, _, number = name.rpartition("-")
    return topic, int(number) if number.isdigit() else 0
