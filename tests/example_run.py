"""A run that never was: four minutes of a job whose rate climbs past one executor and falls again, for tests and for looking at the picture."""

import math
from dataclasses import replace

from changes import rescaled

from penstock.core.domain.events.event import Event
from penstock.core.domain.events.query_events import QueryFailed, QueryRestarted, QueryStarted
from penstock.core.domain.events.run_events import NothingToDo, RunStarted
from penstock.core.domain.events.steering_events import CommandTaken, InstructionDone, InstructionGiven
from penstock.core.domain.reading import IN_TASKS, BatchParts, ExecutorReading, Quantiles, QueryReading, Reading, StageReading
from penstock.core.domain.trigger import Trigger

START_S = 1_760_000_000.0
STEP_S = 5.0
ROWS_PER_EXECUTOR_S = 950.0
TRIGGER_S = 2.0
RESCALES = ((65.0, 1, 2), (95.0, 2, 4), (190.0, 4, 2))
ARRIVES_AFTER_S = 6.0
FAILED_S, RESTARTED_S = 153.0, 161.0


def example_run(seconds: float = 240.0) -> tuple[list[Reading], list[Event]]:
    readings, lag_rows = [], 0.0
    for step in range(int(seconds / STEP_S) + 1):
        t = step * STEP_S
        down = FAILED_S <= t < RESTARTED_S
        arrival, running = _arrival(t), _executors(t - ARRIVES_AFTER_S)
        capacity = 0.0 if down else running * ROWS_PER_EXECUTOR_S * (1 + 0.03 * math.sin(1.7 * step))
        throughput = min(capacity, arrival + lag_rows / STEP_S)
        lag_rows += (arrival - throughput) * STEP_S
        readings.append(_reading(t, arrival=arrival, throughput=throughput, lag_rows=lag_rows, running=running, down=down))
    return readings, [event for event in _events() if event.at_s <= START_S + seconds]


def _arrival(t: float) -> float:
    climb = 1 / (1 + math.exp(-(t - 80) / 14)) - 1 / (1 + math.exp(-(t - 185) / 12))
    return 550 + 2450 * climb + 60 * math.sin(t / 7) + 25 * math.sin(t * 1.3)


def _executors(t: float) -> int:
    return next((after for at, _, after in reversed(RESCALES) if t >= at), RESCALES[0][1])


def _reading(t: float, *, arrival: float, throughput: float, lag_rows: float, running: int, down: bool) -> Reading:
    sawtooth_rows = arrival * TRIGGER_S / 2
    wait_s = lag_rows / max(throughput, ROWS_PER_EXECUTOR_S)
    busyness = min(1.0, throughput / (running * ROWS_PER_EXECUTOR_S))
    p50_s = 0.6 * TRIGGER_S + wait_s
    query = QueryReading(
        name="lookup", state="restarting" if down else "running", trigger=Trigger(interval_s=TRIGGER_S), rate_limit_rows_per_s=None,
        batch_id=int(t / TRIGGER_S), batches=7, since_commit_s=0.8, uptime_s=t, arrival_rows_per_s=arrival, throughput_rows_per_s=throughput,
        lag_rows=lag_rows + sawtooth_rows, lag_s=(lag_rows + sawtooth_rows) / arrival, excess_lag_rows=lag_rows,
        latency=None if down else Quantiles(p50_s=p50_s, p95_s=1.35 * p50_s + 0.4, p99_s=1.5 * p50_s + 0.7),
        batch=BatchParts(total_s=0.4 + 1.5 * busyness, parts_s={IN_TASKS: 0.3 + 1.5 * busyness, "walCommit": 0.1}), busyness=busyness,
        stages=(StageReading(position=0, name="lookup", tasks=4, rows_per_s=throughput, run_time_s_per_s=busyness * running, busyness=busyness),),
        partitions=4, failures=int(t >= FAILED_S),
    )  # fmt: skip
    executors = tuple(_executor(i, t, throughput / running, busyness) for i in range(running))
    return Reading(
        at_s=START_S + t, uptime_s=t, since_disturbance_s=None, executors_running=running, executors_requested=_executors(t),
        arrival_rows_per_s=query.arrival_rows_per_s, throughput_rows_per_s=query.throughput_rows_per_s, lag_rows=query.lag_rows, lag_s=query.lag_s,
        excess_lag_rows=query.excess_lag_rows, latency=query.latency, busyness=busyness, failures=query.failures, executors=executors,
        queries=(query,),
    )  # fmt: skip


def _executor(i: int, t: float, throughput: float, busyness: float) -> ExecutorReading:
    return ExecutorReading(
        executor_id=str(i), host="127.0.0.1", slots=1, uptime_s=t, throughput_rows_per_s=throughput, busyness=busyness, cpu_cores=0.2 * busyness if i else None
    )


def _events() -> list[Event]:
    at = [
        RunStarted(at_s=-1, job="demo", master="spark://127.0.0.1:7077", mode="observe", spark_version="4.3.0", resumed=False),
        QueryStarted(at_s=0, query="lookup", trigger="2s"),
        NothingToDo(at_s=5),
        QueryFailed(at_s=FAILED_S, query="lookup", cause="ConnectionError: the lookup service went away"),
        QueryRestarted(at_s=RESTARTED_S, query="lookup", attempt=1, downtime_s=RESTARTED_S - FAILED_S, cause="ConnectionError: the lookup service went away"),
    ]
    for number, (t, before, after) in enumerate(RESCALES, start=1):
        at += [
            CommandTaken(at_s=t, who="ada", knob="executors", value=str(after), held_until_s=t + 3600),
            InstructionGiven(at_s=t, number=number, knob="executors", change=rescaled(before, after), reason="set by ada"),
            InstructionDone(at_s=t + ARRIVES_AFTER_S, number=number, knob="executors", took_s=ARRIVES_AFTER_S, delayed_rows=0),
        ]
    return [_moved(event) for event in sorted(at, key=lambda event: event.at_s)]


def _moved(event: Event) -> Event:
    if isinstance(event, CommandTaken):
        event = replace(event, held_until_s=event.held_until_s + START_S)
    return replace(event, at_s=event.at_s + START_S)
