"""The oracle: the executors that break promises for the fewest seconds at the least cost, planned by someone who knows all that comes.

Dynamic programming over executors and backlog in equal steps of time. It plans on a model of the plant (`known_plant.py`); what other policies are compared
with is a run of its schedule on the plant itself.
"""

from dataclasses import dataclass

import numpy as np

from penstock.bench.known_plant import KnownPlant
from penstock.core.models.arrays import Flags, Floats, Ints
from penstock.core.models.recovery.arrivals import Arrivals

LEVELS = 96
"""Number of backlogs in the grid of the programme; it is finer where they are small."""
DEEPEST_S = 1800.0
"""Seconds of the highest rate that the deepest backlog holds."""
LATE_COST = 1e6
"""Executor-seconds that a second of violation counts as: more than a run has."""
CLEAR_S = 0.1
"""A job has recovered when no more waits than arrives in this time."""
HAIR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A failure: nothing is processed for `down_s`, and the rows of the `repeated_s` before it are processed again."""

    at_s: float
    down_s: float
    repeated_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Future:
    """All that comes, what is promised, and how many executors may run; `first` run at the start."""

    arrivals: Arrivals
    least: int
    most: int
    first: int
    outages: tuple[Outage, ...] = ()
    recovery_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Executors from these times on, and what the model of the plant expects of them."""

    changes: tuple[tuple[float, int], ...]
    violation_s: float
    executor_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reached:
    """Where some steps lead: the backlog, whether a failure is not recovered from, and the seconds of violation on the way. Flags come first in shapes."""

    backlog_rows: Floats
    recovering: Flags
    late_s: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change of the executors, or none: the steps it takes, during which as many as `work` process rows (None: the job is stopped)."""

    count: int
    work: int | None
    grows: bool = False


def best_schedule(plant: KnownPlant, future: Future, step_s: float) -> Schedule:
    """Return the schedule with the fewest seconds of violation, and of those the one with the fewest executor-seconds."""
    plan = Programme(plant, future, step_s)
    values, at, executors = plan.values(), 0, future.first
    backlog, recovering = np.zeros((1, 1)), np.zeros((1, 1, 1), dtype=bool)
    changes, violation_s, executor_s = [(float(plan.edges_s[0]), executors)], 0.0, 0.0
    while at < len(plan):
        wanted = plan.best(at, executors, backlog, recovering, values)
        if wanted != executors:
            changes.append((float(plan.edges_s[at]), wanted))
        move = plan.move(executors, wanted)
        reached = plan.through(at, move, backlog, recovering)
        executors, at, backlog, recovering = wanted, at + move.count, reached.backlog_rows, reached.recovering
        violation_s, executor_s = violation_s + float(reached.late_s.item()), executor_s + wanted * step_s * move.count
    return Schedule(changes=tuple(changes), violation_s=violation_s, executor_s=executor_s)


class Programme:
    """The dynamic programme: costs to the end by (recovering, executors, backlog), computed backwards."""

    def __init__(self, plant: KnownPlant, future: Future, step_s: float) -> None:
        arrivals, start_s = future.arrivals, future.arrivals.time_s[0]
        self._plant, self._future, self._step_s = plant, future, step_s
        self.edges_s = start_s + step_s * np.arange(max(1, int(np.ceil(arrivals.lasts_s / step_s - HAIR))) + 1)
        self._arrived = np.array([arrivals.rows(start_s, edge_s) for edge_s in self.edges_s])
        self._rows = np.diff(self._arrived)
        self._repeated, self._working = np.zeros(len(self)), np.ones(len(self))
        self._struck, self._overdue = np.zeros(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
        for outage in sorted(future.outages, key=lambda each: each.at_s):
            self._strike(outage)
        self.levels = DEEPEST_S * max(arrivals.rate_rows_per_s) * np.linspace(0.0, 1.0, LEVELS) ** 2
        self._counts = np.arange(future.least, future.most + 1)

    def __len__(self) -> int:
        return len(self.edges_s) - 1

    def _strike(self, outage: Outage) -> None:
        begins_s, ends_s, arrivals = self.edges_s[:-1], self.edges_s[1:], self._future.arrivals
        at = min(len(self) - 1, max(0, int((outage.at_s - begins_s[0]) // self._step_s)))
        down_s = np.clip(np.minimum(ends_s, outage.at_s + outage.down_s) - np.maximum(begins_s, outage.at_s), 0.0, None)
        self._struck[at] = True
        self._repeated[at] += arrivals.rows(max(float(begins_s[0]), outage.at_s - outage.repeated_s), outage.at_s)
        self._working = np.maximum(0.0, self._working - down_s / self._step_s)
        if self._future.recovery_s is not None:
            self._overdue = np.where(begins_s < outage.at_s, self._overdue, begins_s >= outage.at_s + self._future.recovery_s - HAIR)

    def move(self, executors: int, wanted: int) -> Move:
        """Return how the executors change: a change that stops the job, and live growth, take their time; live shrinking is done at once."""
        if wanted == executors or (wanted < executors and not self._plant.stops):
            return Move(count=1, work=wanted)
        count = max(1, round((self._plant.up_s if wanted > executors else self._plant.down_s) / self._step_s))
        return Move(count=count, work=None if self._plant.stops else executors, grows=wanted > executors)

    def through(self, first: int, move: Move, backlog: Floats, recovering: Flags) -> Reached:
        """Return where the steps of a move lead from these backlogs."""
        return self._through(first, move.count, None if move.work is None else np.array([[move.work]]), backlog, recovering, grows=move.grows)

    def _through(self, first: int, count: int, work: Ints | None, backlog: Floats, recovering: Flags, *, grows: bool = False) -> Reached:
        late_s = np.zeros(recovering.shape)
        if work is None:
            backlog = backlog + self._plant.repeated_s() * self._rows[max(0, first - 1)] / self._step_s
        for at in range(first, min(first + count, len(self))):
            rate, working = float(self._rows[at] / self._step_s), float(self._working[at])
            room = 0.0 if work is None else self._plant.throughput(work, backlog, rate) * self._step_s * working
            backlog = np.maximum(0.0, backlog + self._rows[at] + self._repeated[at] - room)
            recovering = recovering | self._struck[at]
            late = self._is_late(at, work, backlog, rate, grows=grows) | (recovering & self._overdue[at])
            late_s = late_s + self._step_s * late
            if work is not None and working == 1.0:
                recovering = recovering & (backlog > CLEAR_S * rate)
        return Reached(backlog_rows=backlog, recovering=recovering, late_s=late_s)

    def _is_late(self, at: int, work: Ints | None, backlog: Floats, rate_rows_per_s: float, *, grows: bool) -> Flags:
        """Return whether rows are late at the end of a step: the backlog began to wait when its first row arrived."""
        came_s = np.interp(self._arrived[at + 1] - backlog, self._arrived, self.edges_s)
        executors = self._counts[-1:, np.newaxis] if work is None else work
        waiting = backlog if work is not None else 0.0 * backlog
        return self._plant.is_late(executors, waiting, rate_rows_per_s, self.edges_s[at + 1] - came_s, grows=grows)

    def values(self) -> Floats:
        """Return the least cost from each step to the end; after the last one, to work off what still waits."""
        found = np.empty((len(self) + 1, 2, len(self._counts), LEVELS))
        found[-1] = self.levels / np.maximum(self._plant.throughput(self._counts[-1:, np.newaxis], self.levels[np.newaxis], 0.0) / self._counts[-1], HAIR)
        for at in reversed(range(len(self))):
            kept, changed = self._weighed(at, self.levels[np.newaxis], found)
            found[at] = np.minimum(kept, changed.min(axis=1))
        return found

    def best(self, at: int, executors: int, backlog: Floats, recovering: Flags, values: Floats) -> int:
        """Return the executors to have from this step on; a change must be cheaper."""
        kept, changed = self._weighed(at, backlog, values)
        which, now = int(recovering.item()), executors - self._future.least
        costs = changed[which, :, now, 0]
        return executors if costs.min() >= kept[which, now, 0] * (1.0 - HAIR) else int(self._counts[int(costs.argmin())])

    def _weighed(self, at: int, backlog: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the costs to the end by (recovering, executors, backlog) if these are kept for a step, and by (recovering, new, old, backlog) if not."""
        counts, new, old = self._counts[:, np.newaxis], self._counts[:, np.newaxis, np.newaxis], self._counts[:, np.newaxis]
        kept = self._cost(at, 1, counts, self._counts[:, np.newaxis], backlog, values, np.arange(len(counts))[:, np.newaxis])
        changed = np.full((2, len(counts), *kept.shape[1:]), np.inf)
        places, work = np.arange(len(counts))[:, np.newaxis, np.newaxis], None if self._plant.stops else counts
        up, down = (max(1, round(seconds / self._step_s)) for seconds in (self._plant.up_s, self._plant.down_s))
        grown = self._cost(at, up, work, new, backlog, values, places, grows=True)
        shrunk = self._cost(at, down, work, new, backlog, values, places) if self._plant.stops else kept[:, :, np.newaxis]
        changed = np.where(new > old, grown, changed)
        return kept, np.where(new < old, shrunk, changed)

    def _cost(self, at: int, count: int, work: Ints | None, paid: Ints, backlog: Floats, values: Floats, places: Ints, *, grows: bool = False) -> Floats:
        """Return the cost of some steps in which `work` executors process rows and `paid` cost, and of all after them with those at `places`."""
        count = min(count, len(self) - at)
        shape = 2, 1 if work is None else len(work), backlog.shape[1]
        recovering = np.broadcast_to(np.array([False, True])[:, np.newaxis, np.newaxis], shape)
        reached = self._through(at, count, work, backlog, recovering, grows=grows)
        which, late_s = reached.recovering.astype(np.int64), reached.late_s
        if places.ndim > 2:
            which, late_s = which[:, np.newaxis], late_s[:, np.newaxis]
        left = np.minimum(np.broadcast_to(reached.backlog_rows, shape[1:]), self.levels[-1])
        low = np.minimum(np.searchsorted(self.levels, left, side="right") - 1, LEVELS - 2)
        share = (left - self.levels[low]) / (self.levels[low + 1] - self.levels[low])
        ahead = values[at + count]
        later = ahead[which, places, low] * (1.0 - share) + ahead[which, places, low + 1] * share
        return np.asarray(count * self._step_s * paid + LATE_COST * late_s + later)
