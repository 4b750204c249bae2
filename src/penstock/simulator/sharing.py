"""What each of several queries gets of executors that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

Scheduler = Literal["fair", "fifo"]
"""How Spark schedules the queries of one application: in FAIR pools, or first come, first served."""

Share = Callable[[Sequence[float], float], list[float]]


def fair(wanted: Sequence[float], available: float) -> list[float]:
    """As much as each wants, or else as much as any other that wants more gets (max-min fairness): nothing is idle while anybody wants it.

    >>> fair([1.0, 5.0, 9.0], 12.0), fair([1.0, 2.0], 12.0)
    ([1.0, 5.0, 6.0], [1.0, 2.0])
    """
    got = [0.0] * len(wanted)
    for place, each in enumerate(sorted(range(len(wanted)), key=lambda number: wanted[number])):
        got[each] = min(wanted[each], available / (len(wanted) - place))
        available -= got[each]
    return got


def in_order(wanted: Sequence[float], available: float) -> list[float]:
    """As much as each wants, the first one first.

    >>> in_order([8.0, 5.0, 9.0], 12.0)
    [8.0, 4.0, 0.0]
    """
    got = []
    for each in wanted:
        got.append(min(each, available))
        available -= got[-1]
    return got


SCHEDULERS: dict[Scheduler, Share] = {"fair": fair, "fifo": in_order}
