"""What a reading shows of the job at work: its plant, its interval and slots, how busy executors are and were while they were there."""

from collections.abc import Mapping

from penstock.core.domain.cadence import Cadence, cadence_of
from penstock.core.domain.job_spec import Promises
from penstock.core.domain.reading import ExecutorReading, QueryReading, Reading
from penstock.core.domain.trigger import Plant, Trigger, interval_of, rows_per_batch

COMING_BACK = ("starting", "restarting", "failed")
"""States of a query that does not run and will; one that was stopped or given up leaves its executors to the others."""


def plant_of(reading: Reading) -> Plant:
    return "continuous" if any(query.trigger.kind == "real_time" for query in reading.active) else "micro_batch"


def is_stalled(reading: Reading) -> bool:
    """Return whether a micro-batch has run for longer than the reading looks back: executors seem idle then, as task time counts at the commit."""
    batched = (query for query in reading.active if query.trigger.kind != "real_time")
    return any(query.batch is None and query.batch_id is not None and bool(query.lag_rows) for query in batched)


def is_down(reading: Reading) -> bool:
    """Return whether a query does not run and is to come back: its executors do nothing then, but not for want of work."""
    return any(query.state in COMING_BACK for query in reading.active)


def looks_back_on_a_stop(reading: Reading, cpu_s: float) -> bool:
    """Return whether a query has come back so lately that the reading averages over time in which it was down.

    CPU is an average of the last `cpu_s`; in micro-batches the average reaches back to where the window of commits began.
    """
    for query in reading.active:
        up_s = query.uptime_s or reading.since_disturbance_s
        if up_s is not None and up_s < (cpu_s if query.trigger.kind == "real_time" else looked_back_s(query)):
            return True
    return False


def utilization(executor: ExecutorReading, plant: Plant, cpu_cores_each: float | None = None) -> float | None:
    """Return 0 to 1: task time over slots in micro-batches; where tasks never end, CPU over what counts as a whole executor (its slots by default).

    >>> one = ExecutorReading(executor_id="1", host="a", slots=2, uptime_s=60.0, busyness=0.3, cpu_cores=1.5)
    >>> utilization(one, "micro_batch"), utilization(one, "continuous")
    (0.3, 0.75)
    """
    if plant == "micro_batch":
        return executor.busyness
    return None if executor.cpu_cores is None else min(1.0, executor.cpu_cores / (cpu_cores_each or executor.slots))


def looked_back_s(query: QueryReading) -> float:
    """Return how long ago the window began: it ends at the last commit, or now where nothing waits."""
    return query.window_s + (query.since_commit_s or 0.0 if query.lag_rows else 0.0)


def presence(executor: ExecutorReading, reading: Reading) -> float:
    """Return the share of the window (0 to 1) in which the executor ran, averaged over the micro-batch queries weighted by their busyness.

    It is 0 if the executor came after the last commit, and 1 if no window is known.
    """
    weighed = [(query.busyness, query.window_s, looked_back_s(query)) for query in reading.active if query.batch and query.busyness]
    total = sum(busy for busy, _, _ in weighed)
    if total <= 0.0:
        return 1.0
    there = sum(busy * min(1.0, max(0.0, executor.uptime_s - back_s + length_s) / length_s) for busy, length_s, back_s in weighed if length_s > 0)
    return there / total


def row_costs(reading: Reading, remembered: Mapping[str, float]) -> dict[str, float]:
    """Return the task seconds of one row by query in micro-batches: from the batches that the reading looks back on, else as remembered."""
    slots, found = sum(executor.slots for executor in reading.executors), dict[str, float]()
    for query in reading.active:
        if query.batch and query.busyness and query.throughput_rows_per_s:
            found[query.name] = query.busyness * slots / query.throughput_rows_per_s
        elif query.name in remembered:
            found[query.name] = remembered[query.name]
    return found


def overdue_s(query: QueryReading) -> float | None:
    """Return how long a batch must have been running, in seconds: excess rows wait, and no commit has come for longer than a trigger interval. None otherwise.

    >>> from penstock.core.domain.trigger import Trigger
    >>> late = dict(name="q", state="running", trigger=Trigger(interval_s=5.0), excess_lag_rows=9000.0)
    >>> overdue_s(QueryReading(**late, since_commit_s=60.0, lag_s=62.0)), overdue_s(QueryReading(**late, since_commit_s=60.0, lag_s=3.0))
    (60.0, None)
    """
    if query.trigger.kind == "real_time" or not query.excess_lag_rows or query.since_commit_s is None:
        return None
    waits_s = min(each for each in (query.since_commit_s, query.lag_s, query.uptime_s or None) if each is not None)
    return waits_s if waits_s > interval_of(query.trigger, query.rate_limit_rows_per_s) else None


def overdue_busyness(reading: Reading, costs: Mapping[str, float]) -> float | None:
    """Return the busyness (0 to 1) while a commit is overdue: the task time of the excess rows over the slot time since then; None otherwise.

    In an overload that is 1, as on the machine. Where a batch hangs it is what the arrivals need, where it waits for a slow sink no more than its rows
    need: a job that has enough executors gets no more. Other queries count as they are read.
    """
    slots, waits_s = sum(executor.slots for executor in reading.executors), {query.name: overdue_s(query) for query in reading.active}
    if not slots or all(each is None for each in waits_s.values()):
        return None
    busy = 0.0
    for query in reading.active:
        since_s, row_s = waits_s[query.name], costs.get(query.name)
        if since_s is None:
            busy += query.busyness or 0.0
        elif row_s is None:
            return None
        else:
            busy += most_rows(query) * row_s / (slots * since_s)
    return min(1.0, busy)


def most_rows(query: QueryReading) -> float:
    """Return the excess rows that one batch will take: all of them, or as many as the rate limit allows."""
    excess, limit = query.excess_lag_rows or 0.0, query.rate_limit_rows_per_s
    return excess if limit is None else min(excess, rows_per_batch(query.trigger, limit))


def cadence_of_job(reading: Reading, promises: Promises, longest_batch_s: float) -> Cadence:
    """Return the cadence of the query whose batches may be the furthest apart."""
    cadences = [
        cadence_of(query.trigger, promises, rate_limit_rows_per_s=query.rate_limit_rows_per_s, longest_batch_s=longest_batch_s) for query in reading.active
    ]
    return max(cadences, key=lambda each: each.cycle_s, default=cadence_of(Trigger(), promises, longest_batch_s=longest_batch_s))


def share_of(query: QueryReading, reading: Reading) -> float:
    """Return the share of all arrivals that one query gets; an even one while that is unknown."""
    if query.arrival_rows_per_s is None or not reading.arrival_rows_per_s:
        return 1.0 / len(reading.active)
    return query.arrival_rows_per_s / reading.arrival_rows_per_s


def slots_of(reading: Reading) -> int:
    """Return the slots of one executor; 1 while there is none."""
    return max((executor.slots for executor in reading.executors), default=1)


def most_tasks(query: QueryReading) -> int | None:
    """Return the tasks of the stage that has the most of them; None while no stage was seen."""
    return max((max(1, round(stage.tasks)) for stage in query.stages), default=None)
