"""A job of which everything is known, second by second, and the analyse phase turning over its readings: for tests of that phase."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from changes import rescaled, scaled_to

from penstock.core.analyze.analyze import analyze, assessed
from penstock.core.config import Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.reading import ExecutorReading, Quantiles, QueryReading, Reading
from penstock.core.domain.trigger import Trigger
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge, Pending
from penstock.core.knowledge.policy import Need
from penstock.core.knowledge.steering import Applied
from penstock.core.knowledge.terms import Terms
from penstock.core.monitor.outcomes import take_outcomes
from penstock.runtime.fakes import blank_reading

Said = TypeVar("Said", bound=Event)
READING_S = 15.0
TERMS = Terms(limits=Limits(min_executors=1, max_executors=8), config=Config(reading_interval_s=READING_S, reading_window_s=READING_S))
LEARNING: frozenset[Need] = frozenset({"load", "capacity", "forecast"})


class SteadyJob:
    """Tasks that run all the time on executors that take this many rows a second each; a stop lasts `downtime_s` and repeats the last interval."""

    def __init__(
        self, *, executors: int = 4, each_rows_per_s: float = 1000.0, load: Callable[[float], float] = lambda at_s: 2000.0, interval_s: float = 10.0,
        downtime_s: float = 30.0,
    ) -> None:  # fmt: skip
        self.executors, self.each, self.load, self.interval_s, self.downtime_s = executors, each_rows_per_s, load, interval_s, downtime_s
        self.at_s, self.lag, self.back_s, self.failures = 0.0, 0.0, -math.inf, 0
        self.disturbed_s: float | None = None

    @property
    def capacity(self) -> float:
        return self.executors * self.each

    def stop(self) -> None:
        self.disturbed_s, self.back_s = self.at_s, self.at_s + self.downtime_s
        self.lag += self.load(self.at_s) * self.interval_s

    def fail(self) -> None:
        self.failures += 1
        self.stop()

    def run(self, seconds: float) -> tuple[float, float]:
        arrived = done = 0.0
        for _ in range(round(seconds)):
            came = self.load(self.at_s)
            taken = min(self.capacity, self.lag + came) if self.at_s >= self.back_s else 0.0
            self.lag, self.at_s, arrived, done = self.lag + came - taken, self.at_s + 1.0, arrived + came, done + taken
        return arrived, done

    def reading(self, seconds: float = READING_S) -> Reading:
        arrived, done = (rows / seconds for rows in self.run(seconds))
        share = done / self.executors
        executors = tuple(
            ExecutorReading(executor_id=f"{number}", host="a", slots=1, uptime_s=self.at_s, throughput_rows_per_s=share, cpu_cores=share / self.each)
            for number in range(self.executors)
        )
        latency_s = 0.2 + self.lag / self.capacity
        query = QueryReading(
            name="q", state="running", trigger=Trigger(kind="real_time", interval_s=self.interval_s), rate_limit_rows_per_s=None,
            arrival_rows_per_s=arrived, throughput_rows_per_s=done, lag_rows=self.lag, excess_lag_rows=self.lag, failures=self.failures,
        )  # fmt: skip
        return blank_reading(
            self.at_s, uptime_s=self.at_s, since_disturbance_s=None if self.disturbed_s is None else self.at_s - self.disturbed_s,
            executors_running=self.executors, executors_requested=self.executors, arrival_rows_per_s=arrived, throughput_rows_per_s=done,
            lag_rows=self.lag, excess_lag_rows=self.lag, latency=Quantiles(p50_s=latency_s, p95_s=2 * latency_s, p99_s=3 * latency_s),
            failures=self.failures, executors=executors, queries=(query,),
        )  # fmt: skip


class Analysed:
    """The phase over a job: knowledge goes from turn to turn, events are gathered."""

    def __init__(self, job: SteadyJob, terms: Terms = TERMS, needs: frozenset[Need] = LEARNING) -> None:
        self.job, self.terms, self.needs = job, terms, needs
        self.knowledge = Knowledge(declared=scaled_to(job.executors), desired=scaled_to(job.executors))
        self.events: list[Event] = []

    def turn(self, *, outcomes: tuple[Outcome, ...] = (), fits: tuple[FitDone, ...] = (), reading: Reading | None = None) -> FitAsked | None:
        reading = reading or self.job.reading()
        self.knowledge, _ = take_outcomes(replace(self.knowledge, last=reading), outcomes, reading.at_s)
        inputs = Inputs(at_s=reading.at_s, reading=reading, outcomes=outcomes, fits=fits)
        done = analyze(self.knowledge, inputs, self.terms, self.needs, decides=False)
        self.knowledge, self.events = done.knowledge, [*self.events, *done.events]
        return done.fit

    def turns(self, number: int) -> None:
        for _ in range(number):
            self.turn()

    def seen(self) -> Assessment:
        self.knowledge, seen = assessed(self.knowledge, self.job.at_s, self.terms, self.needs, decides=True)
        return seen

    def rescale(self, executors: int, number: int = 1) -> None:
        """As the loop does when it asks for another number of executors: the job stops at once, and the number is the desired one."""
        asked = Applied(number=number, decision_id=None, change=rescaled(self.job.executors, executors), at_s=self.job.at_s)
        schedule = replace(self.knowledge.schedule, rescaled_s=self.job.at_s)
        pending = Pending(instruction=Instruction(number=number, change=asked.change), since_s=self.job.at_s)
        self.knowledge = replace(self.knowledge.wanting(scaled_to(executors)), applied=(*self.knowledge.applied, asked), schedule=schedule, pending=(pending,))
        self.job.executors = executors
        self.job.stop()

    def said(self, kind: type[Said]) -> list[Said]:
        return [event for event in self.events if isinstance(event, kind)]


def daily(at_s: float) -> float:
    return 2000.0 - 1000.0 * math.cos(2 * math.pi * at_s / 7200.0)
