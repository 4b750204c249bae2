"""Compare micro-batches with Real-Time Mode: the same query at the same rate, in turns on one checkpoint."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from penstock.core.domain.command import SetKnob
from penstock.core.domain.reading import Quantiles
from penstock.core.domain.trigger import Trigger
from penstock.core.monitor.facts import OutputSample
from penstock.core.monitor.latency import latency_of_outputs
from penstock.kafka.tail import TopicTail
from penstock.selftest.spark_runs import ANSWER_S, OUTPUT, QUERY, clicks_job, wait_for
from penstock.wiring.running_job import RunningJob

NAME = "selftest-modes"
MODES = {"micro-batch": Trigger.parse("2s"), "real-time": Trigger.parse("realtime:10s")}
CALM_S = 3.0
ORDINARY_REAL_TIME_S = 2.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeResult:
    """One mode over all its turns; None is "not observed"."""

    mode: str
    trigger: str
    latency_p50_s: float
    latency_p95_s: float
    latency_p99_s: float
    boundary_pause_s: float | None
    recovery_s: float | None
    cpu_cores: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModesResult:
    rate_rows_per_s: float
    turns: int
    modes: tuple[ModeResult, ...]

    def rows(self) -> list[tuple[str, str]]:
        def ms(seconds: float | None) -> str:
            return "not seen" if seconds is None else f"{1000 * seconds:,.0f} ms"

        lines = [("rate", f"{self.rate_rows_per_s:,.0f} rows/s, {self.turns} turns of each mode")]
        for each in self.modes:
            lines += [
                (f"{each.mode} ({each.trigger})", ""),
                ("  latency at the sink", f"p50 {ms(each.latency_p50_s)}, p95 {ms(each.latency_p95_s)}, p99 {ms(each.latency_p99_s)}"),
                ("  pause at the boundary", ms(each.boundary_pause_s)),
                ("  back to normal after SIGKILL", "not seen" if each.recovery_s is None else f"{each.recovery_s:.1f} s"),
                ("  CPU of the executors", "unknown" if each.cpu_cores is None else f"{each.cpu_cores:.2f} cores"),
            ]
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    samples: tuple[OutputSample, ...]
    pauses_s: tuple[float, ...]
    cpu_cores: tuple[float, ...]


def measure_modes(rate_rows_per_s: float, turns: int, seconds: float, progress: Callable[[int, int], None]) -> ModesResult:
    """Run both modes in turns; then kill an executor in each mode. Kills come last, so that no turn has a cold executor."""
    steps = (turns + 1) * len(MODES)
    with running(rate_rows_per_s) as (job, tail):
        seen: dict[str, list[Turn]] = {mode: [] for mode in MODES}
        for turn in range(turns):
            for mode in MODES if turn % 2 == 0 else reversed(MODES):
                seen[mode].append(one_turn(job, tail, MODES[mode], seconds))
                progress(sum(map(len, seen.values())), steps)
        results = []
        for mode, trigger in MODES.items():
            enter(job, tail, trigger)
            normal_s = latency_in(seen[mode]).p99_s
            results.append(result_of(mode, seen[mode], recover(job, tail, normal_s)))
            progress(turns * len(MODES) + len(results), steps)
    return ModesResult(rate_rows_per_s=rate_rows_per_s, turns=turns, modes=tuple(results))


def result_of(mode: str, turns: Sequence[Turn], recovery_s: float | None) -> ModeResult:
    latency = latency_in(turns)
    pauses = [pause for turn in turns for pause in turn.pauses_s]
    cpu = [cores for turn in turns for cores in turn.cpu_cores]
    return ModeResult(
        mode=mode,
        trigger=str(MODES[mode]),
        latency_p50_s=latency.p50_s,
        latency_p95_s=latency.p95_s,
        latency_p99_s=latency.p99_s,
        boundary_pause_s=float(np.median(pauses)) if pauses else None,
        recovery_s=recovery_s,
        cpu_cores=float(np.mean(cpu)) if cpu else None,
    )


def latency_in(turns: Sequence[Turn]) -> Quantiles:
    latency, skew_s = latency_of_outputs([sample for turn in turns for sample in turn.samples])
    if latency is None:
        raise RuntimeError("nothing was seen at the sink" if skew_s is None else f"a result was written {skew_s:g} s before its input arrived")
    return latency


@contextmanager
def running(rate_rows_per_s: float) -> Iterator[tuple[RunningJob, TopicTail]]:
    """Run the clicks job, and yield it with the tail of its output topic."""
    with clicks_job(NAME, rate_rows_per_s) as job:
        assert job.spec.kafka.bootstrap is not None
        tail = TopicTail({"bootstrap.servers": job.spec.kafka.bootstrap}, OUTPUT, 1, "arrival")
        try:
            yield job, tail
        finally:
            tail.close()


def enter(job: RunningJob, tail: TopicTail, trigger: Trigger) -> None:
    clock = job.host.clock
    job.host.controller.submit(SetKnob(at_s=clock.now_s(), who="selftest", knob="trigger", value=str(trigger))).result(ANSWER_S)
    query = job.engine.queries[0]
    wait_for(lambda: query.settings.trigger == trigger and query.state == "running", "the change of the mode")
    settle(tail, trigger)


def one_turn(job: RunningJob, tail: TopicTail, trigger: Trigger, seconds: float) -> Turn:
    enter(job, tail, trigger)
    samples: list[OutputSample] = []
    pauses: dict[int, float] = {}
    cpu: list[float] = []
    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        time.sleep(0.5)
        samples += tail.take()
        reading = job.host.controller.last_reading
        seen = next((each for each in reading.queries if each.name == QUERY), None) if reading else None
        if reading and seen and seen.trigger == trigger:
            known = [executor.cpu_cores for executor in reading.executors if executor.cpu_cores is not None]
            cpu += [sum(known)] if known else []
            if seen.boundary_pause_s is not None and seen.batch_id is not None and trigger.kind == "real_time":
                pauses[seen.batch_id] = seen.boundary_pause_s
    return Turn(samples=tuple(samples), pauses_s=tuple(pauses.values()), cpu_cores=tuple(cpu))


def settle(tail: TopicTail, trigger: Trigger) -> None:
    """Wait until the backlog of the change is processed: no unusual latency for more than an interval."""
    ordinary_s = ORDINARY_REAL_TIME_S if trigger.kind == "real_time" else 2 * trigger.interval_s + 1
    calm_since, heard_s, deadline = time.monotonic(), 0.0, time.monotonic() + ANSWER_S
    while time.monotonic() - calm_since < trigger.interval_s + CALM_S and time.monotonic() < deadline:
        time.sleep(1.0)
        fresh = tail.take()
        heard_s = time.monotonic() if fresh else heard_s
        # Micro-batches write only once in each interval.
        if time.monotonic() - heard_s > trigger.interval_s or any(sample.latency_s > ordinary_s for sample in fresh):
            calm_since = time.monotonic()


def recover(job: RunningJob, tail: TopicTail, normal_s: float) -> float | None:
    """Kill the busiest executor; return the seconds until the latency is back to normal for a while, None if it is not."""
    reading = job.host.controller.last_reading
    busiest = max(reading.executors, key=lambda each: each.throughput_rows_per_s or 0.0) if reading else None
    process = job.engine.processes.process(busiest.executor_id) if busiest else None
    if process is None:
        return None
    killed_wall_s = time.time()
    process.kill()
    late_wall_s = killed_wall_s
    deadline = time.monotonic() + ANSWER_S
    newest_wall_s = 0.0
    while time.monotonic() < deadline:
        time.sleep(0.5)
        for sample in tail.take():
            newest_wall_s = max(newest_wall_s, sample.wall_s)
            if sample.wall_s >= killed_wall_s and sample.latency_s > 1.5 * normal_s:
                late_wall_s = max(late_wall_s, sample.wall_s)
        if newest_wall_s - late_wall_s > 2 * CALM_S and late_wall_s > killed_wall_s:
            return late_wall_s - killed_wall_s
        if late_wall_s == killed_wall_s and newest_wall_s - killed_wall_s > 10 * CALM_S:
            return 0.0
    return None
