"""The bottleneck of a job that more executors did not help."""

from penstock.core.domain.decision import Comparison
from penstock.core.domain.reading import IN_TASKS, QueryReading, Reading

SKEWED = 2.0
"""Work is skewed if one executor processes more than this many times the mean."""

MOSTLY = 0.5
LAST_STAGE = 0.6
"""A last stage with more than this share of the task time is where the rows are stuck."""


def bottleneck(reading: Reading) -> Comparison:
    """Return the first reason that the reading shows, with its two numbers; the code `unknown_bottleneck` if it shows none.

    Asked in overload: batches follow each other without a pause, so seconds of tasks per second are shares of a batch.
    """
    slots = sum(executor.slots for executor in reading.executors)
    found = (
        next((why for query in reading.active if (why := _rate_limited(query))), None)
        or _too_few_tasks(reading, slots)
        or _skewed(reading)
        or next((why for query in reading.active if (why := _slow_sink(query, slots))), None)
        or next((why for query in reading.active if (why := _overhead(query))), None)
    )
    return found or Comparison(code="unknown_bottleneck", value=reading.throughput_rows_per_s)


def _rate_limited(query: QueryReading) -> Comparison | None:
    limit, arrive = query.rate_limit_rows_per_s, query.arrival_rows_per_s
    return Comparison(code="rate_limit", value=limit, limit=arrive) if limit is not None and arrive is not None and limit <= arrive else None


def _too_few_tasks(reading: Reading, slots: int) -> Comparison | None:
    """Queries run side by side, each with the tasks of one stage at a time; tasks that run all the time hold a slot for every stage."""
    known = [query for query in reading.active if query.stages]
    if not known or len(known) < len(reading.active):
        return None
    tasks = sum((sum if query.trigger.kind == "real_time" else max)(stage.tasks for stage in query.stages) for query in known)
    return Comparison(code="partitions", value=tasks, limit=slots) if tasks < slots else None


def _skewed(reading: Reading) -> Comparison | None:
    rates = [executor.throughput_rows_per_s for executor in reading.executors if executor.throughput_rows_per_s is not None]
    mean = sum(rates) / len(rates) if rates else 0.0
    return Comparison(code="skew", value=max(rates), limit=mean) if rates and max(rates) > SKEWED * mean else None


def _slow_sink(query: QueryReading, slots: int) -> Comparison | None:
    """Return a slow sink: the last of several stages takes most task time, or a batch mostly writes while no task runs."""
    run_s_per_s = [stage.run_time_s_per_s for stage in query.stages]
    share = run_s_per_s[-1] / sum(run_s_per_s) if len(run_s_per_s) > 1 and sum(run_s_per_s) > 0 else 0.0
    if share > LAST_STAGE:
        return Comparison(code="sink", value=share, limit=LAST_STAGE)
    if query.trigger.kind == "real_time" or query.batch is None or query.batch.total_s <= 0 or not slots:
        return None
    in_tasks = sum(stage.run_time_s_per_s / max(1.0, min(slots, stage.tasks)) for stage in query.stages)
    written = query.batch.parts_s.get(IN_TASKS, 0.0) / query.batch.total_s - in_tasks
    return Comparison(code="sink", value=written, limit=MOSTLY) if run_s_per_s and written > MOSTLY else None


def _overhead(query: QueryReading) -> Comparison | None:
    if query.batch is None:
        return None
    inside_s = query.batch.parts_s.get(IN_TASKS, 0.0)
    outside_s = sum(query.batch.parts_s.values()) - inside_s
    return Comparison(code="overhead", value=outside_s, limit=inside_s) if outside_s > MOSTLY * query.batch.total_s else None
