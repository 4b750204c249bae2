"""How much of the executors each of several queries gets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from penstock.core.shapes.chance import FloatArray

Scheduler = Literal["fair", "fifo"]
"""How Spark schedules the queries of one application: in FAIR pools, or first come, first served."""


def fair(wanted: Sequence[float], available: float) -> list[float]:
    """Return the max-min fair shares of what is available.

    >>> fair([1.0, 5.0, 9.0], 12.0), fair([1.0, 2.0], 12.0)
    ([1.0, 5.0, 6.0], [1.0, 2.0])
    """
    got = [0.0] * len(wanted)
    for place, each in enumerate(sorted(range(len(wanted)), key=lambda number: wanted[number])):
        got[each] = min(wanted[each], available / (len(wanted) - place))
        available -= got[each]
    return got


def in_order(wanted: Sequence[float], available: float) -> list[float]:
    """Return what each gets if it is served in order.

    >>> in_order([8.0, 5.0, 9.0], 12.0)
    [8.0, 4.0, 0.0]
    """
    got = []
    for each in wanted:
        got.append(min(each, available))
        available -= got[-1]
    return got


SCHEDULERS: dict[Scheduler, Callable[[Sequence[float], float], list[float]]] = {"fair": fair, "fifo": in_order}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sharer:
    """A query of a continuous job over some seconds. `capacity_rows_per_s` is that of all executors, `working` the share of each second in which it may run.

    `feeds` are the numbers of the queries that read its output; each of its rows is `selectivity` rows to them, a second later.
    """

    lag_rows: float
    arrived_rows: FloatArray
    capacity_rows_per_s: float
    limit_rows_per_s: float
    working: FloatArray
    feeds: tuple[int, ...] = ()
    selectivity: float = 1.0

    @property
    def most_rows_per_s(self) -> float:
        return min(self.capacity_rows_per_s, self.limit_rows_per_s)


def shared(queries: Sequence[Sharer]) -> list[FloatArray]:
    """Return for each query the share of each second in which it runs. Executors are shared fairly; a single query runs whenever it may.

    >>> busy = Sharer(lag_rows=0.0, arrived_rows=np.array([90.0]), capacity_rows_per_s=100.0, limit_rows_per_s=1e9, working=np.ones(1))
    >>> calm = Sharer(lag_rows=0.0, arrived_rows=np.array([25.0]), capacity_rows_per_s=100.0, limit_rows_per_s=1e9, working=np.ones(1))
    >>> [each.tolist() for each in shared([busy, calm])]
    [[0.75], [0.25]]
    """
    if len(queries) == 1:
        return [queries[0].working]
    waiting = [query.lag_rows for query in queries]
    arrived = [query.arrived_rows.tolist() for query in queries]
    working = [query.working.tolist() for query in queries]
    for second in range(len(working[0])):
        wanted = []
        for number, query in enumerate(queries):
            waiting[number] += arrived[number][second]
            wanted.append(min(waiting[number], query.most_rows_per_s * working[number][second]) / query.capacity_rows_per_s)
        got = fair(wanted, 1.0)
        for number, query in enumerate(queries):
            left = max(0.0, 1.0 - (sum(got) - got[number])) * query.capacity_rows_per_s / query.most_rows_per_s
            working[number][second] = min(working[number][second], left)
            done = min(waiting[number], query.most_rows_per_s * working[number][second])
            waiting[number] -= done
            if second + 1 < len(working[0]):
                for reader in query.feeds:
                    arrived[reader][second + 1] += query.selectivity * done
    return [np.array(each) for each in working]
