"""Estimate what another policy, or other promises, would have made of a recorded run, on a simulator calibrated from that run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from penstock.core.config import EVEN, Config
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.run_events import RunStarted
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.reading import Reading
from penstock.core.domain.trigger import Plant
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.estimate import Estimate
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.policies.registry import labelled, policy_of
from penstock.core.report.run_report import RunReport, run_report, usual_s
from penstock.simulator.calibrate import calibrated
from penstock.simulator.calibrated import Calibrated
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.simulator.rerun import OwnError, rerun
from penstock.simulator.sharing import Scheduler
from penstock.wiring.setup import SHORTEST_RUN_S, LeftOut, Setup, possible, with_downtimes
from penstock.wiring.simulation import Progress, Simulated, simulate_all

SHORTEST_INTERVAL_S, LONGEST_INTERVAL_S = 0.2, 600.0
SAME_EXECUTORS = 0.05
"""Average numbers of executors that differ by no more than this share are the same."""
LONGEST_S = 3 * 3600.0
"""The likely costs of rows are tried on at most the last this many seconds: an audit of a day would take three times as long otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Like:
    """A calibrated job: its settings, the simulator's error on the recorded run and its readings of it, and the job's terms if the history has them."""

    name: str
    found: Calibrated
    error: OwnError
    again: tuple[Reading, ...]
    started: RunStarted | None
    ran_under: Terms | None = None

    @property
    def load(self) -> Arrivals:
        """The arrivals; times count from the start of the simulated part."""
        time_s, rate = np.asarray(self.found.arrivals.time_s), np.asarray(self.found.arrivals.rate_rows_per_s)
        later = time_s > self.found.start_s
        first = self.found.arrivals.rate(self.found.start_s)
        return Arrivals.through(np.append(0.0, time_s[later] - self.found.start_s), np.append(first, rate[later]))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults, in the time of the load."""
        last_s = self.load.last_s
        moved = (replace(fault, at_s=fault.at_s - self.found.start_s) for fault in self.found.faults)
        return tuple(fault for fault in moved if 0 <= fault.at_s < last_s)

    @property
    def engine(self) -> Simulable:
        """The job, in the time of the load."""
        return self.found.engine(self.found.start_s)

    @property
    def engine_of_any_load(self) -> Simulable:
        """The job for another load, of which each query reads the share that it had of its own."""
        engine = self.engine
        return engine.of_one_load(self.load) if isinstance(engine, QueryGraph) else engine

    def refuse_short(self) -> None:
        """Raise `UserMistake` if too little is left to simulate."""
        left_s = self.load.last_s
        if left_s < SHORTEST_RUN_S:
            raise UserMistake(
                f"{self.name}: it is too short: {left_s:.0f} s are left of it after the job had caught up with what waited at its start, "
                f"and only these are simulated; at least {SHORTEST_RUN_S:g} s are needed"
            )

    @property
    def longest_batch_s(self) -> float:
        return 0.0 if self.ran_under is None else self.ran_under.config.longest_batch_s

    @property
    def min_executors(self) -> int:
        return 1 if self.ran_under is None else self.ran_under.limits.min_executors

    @property
    def max_executors(self) -> int:
        most = None if self.started is None else self.started.max_executors
        return max(self.found.executors, most or 1)


def calibrated_by(
    name: str, readings: Sequence[Reading], events: Sequence[Event], seed: int, ran_under: Terms | None = None, *,
    up_s: float | None = None, scheduler: Scheduler = "fair", only: Plant | None = None,
) -> Like:  # fmt: skip
    """Calibrate a simulator by these readings; raise `UserMistake` if there is nothing to simulate. For the other arguments see `calibrated`."""
    config = config_of(readings, ran_under)
    autopilot = None if ran_under is None else ran_under.autopilot
    found = calibrated(readings, events, config, autopilot=autopilot, up_s=up_s, scheduler=scheduler, only=only)
    started = [event for event in events if isinstance(event, RunStarted)]
    lived = rerun(found, readings, config, seed=seed)
    return Like(name=name, found=found, error=lived.error, again=lived.readings, started=started[-1] if started else None, ran_under=ran_under)


def config_of(readings: Sequence[Reading], ran_under: Terms | None) -> Config:
    """Return a configuration with the median time between two readings, and the longest batch that the job's terms set, if the history has them."""
    interval_s = min(max(usual_s(readings) or Config().reading_interval_s, SHORTEST_INTERVAL_S), LONGEST_INTERVAL_S)
    return Config(reading_interval_s=interval_s, longest_batch_s=0.0 if ran_under is None else ran_under.config.longest_batch_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    policies: tuple[str, ...]
    limits: Limits
    promises: Promises
    seed: int = 0

    def terms(self, like: Like) -> Terms:
        """Return the job's terms with what is asked for, without hours and calendars, which are of real days."""
        known = like.ran_under or Terms(config=EVEN)
        own = known.autopilot
        tried = own if own.policy in self.policies else labelled(self.policies[0]).on(own)
        autopilot = replace(tried, mode="active", rollback=False, hours=(), exclude=(), calendar=())
        given = with_downtimes(autopilot, like.engine, like.faults) if own.downtime_s is None else autopilot
        return replace(known, limits=self.limits, promises=self.promises, autopilot=given)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WhatIf:
    """The recorded run, its simulation with the recorded executors, and a simulated run of each policy; `left_out` are policies that could not be tried.

    `likely` are the average executors of each policy, with the interval by the likely costs of rows; empty if those are unknown.
    """

    like: Like
    asked: Asked
    recorded: RunReport
    again: RunReport
    runs: tuple[Simulated, ...]
    likely: Mapping[str, Estimate] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()

    @property
    def off(self) -> float | None:
        """The assumed relative error of simulated executors: the worst of the simulator's own errors, as an error in the cost of a row affects all.

        None if no error is known, or if a query is not simulated, whose executors are unknown.
        """
        if self.like.found.left_out:
            return None
        error = self.like.error
        known = [abs(each) for each in (error.executors, error.latency_p95, error.throughput) if each is not None]
        return max(known, default=None)

    def saved_executor_s(self, run: Simulated) -> float | None:
        """Return what the policy saves against the recorded run (negative: it costs more), by the averages of both; None if a query is not simulated."""
        if self.like.found.left_out:
            return None
        return (self.recorded.average_executors - run.report.average_executors) * run.report.duration_s

    def kept(self, run: Simulated) -> RunReport:
        """What a policy kept, by its readings: measured as what was run is, so that both can be compared."""
        return run_report(run.readings, self.asked.promises, run.events, window_s=run.setup.terms.config.reading_window_s)

    def is_at_recorded_executors(self, run: Simulated) -> bool:
        """Return whether the policy keeps the executors of the recorded run, on average."""
        return abs(run.report.average_executors - self.recorded.average_executors) <= SAME_EXECUTORS * self.recorded.average_executors

    def error_executor_s(self, run: Simulated) -> float | None:
        """Return the largest of three errors: the simulator's own; that by the likely costs of rows; and that if each rescale came a decision sooner or later.

        The own error does not hold for other numbers of executors if the job had only one: None then, if the likely costs are unknown too.
        """
        if self.like.found.left_out:
            return None
        likely = self.likely.get(run.policy)
        known = [] if likely is None else [max(likely.high - likely.value, likely.value - likely.low) * run.report.duration_s]
        if self.off is not None and (known or self.recorded.executors_used > 1 or self.is_at_recorded_executors(run)):
            known.append(self.off * run.report.executor_s)
        return max(*known, run.report.rescales * policy_of(run.setup.terms).period_s) if known else None


def what_if(like: Like, readings: Sequence[Reading], asked: Asked, progress: Progress = lambda done_s, total_s: None) -> WhatIf:
    """Simulate the recorded arrivals and faults under each policy, after profiling the same engine if the policy needs a profile.

    Each is simulated again with the likely costs of rows, unless a query is not simulated.
    """
    like.refuse_short()
    setup = Setup(load=like.load, engine=like.engine, terms=asked.terms(like), faults=like.faults, seed=asked.seed)
    window_s = setup.terms.config.reading_window_s
    tried, left_out = possible(setup, asked.policies)
    runs, likely = simulate_likely(setup, () if like.found.left_out else like.found.likely(like.found.start_s), tried, progress)
    return WhatIf(
        like=like,
        asked=asked,
        recorded=run_report([reading for reading in readings if like.found.counts(reading.at_s)], asked.promises, window_s=window_s),
        again=run_report(like.again, asked.promises, window_s=window_s),
        runs=runs,
        likely=likely,
        left_out=left_out,
    )


def simulate_likely(
    setup: Setup, likely: Sequence[Simulable], policies: Sequence[str], progress: Progress
) -> tuple[tuple[Simulated, ...], dict[str, Estimate]]:
    """Return the runs of all policies, and by policy the average executors with the interval by the likely settings, if there are any."""
    last = of_last(setup)
    engines = () if not likely else tuple(likely) if last is setup else (setup.engine, *likely)
    whole_s, last_s = (len(policies) * each.load.lasts_s for each in (setup, last))

    def part(before_s: float) -> Progress:
        return lambda done_s, _: progress(before_s + done_s, whole_s + len(engines) * last_s)

    runs = simulate_all(setup, policies, part(0.0))
    tried = [averages(runs)] if last is setup else []
    for number, engine in enumerate(engines):
        tried.append(averages(simulate_all(replace(last, engine=engine), policies, part(whole_s + number * last_s))))
    return runs, {run.policy: within(run.report.average_executors, [each[run.policy] for each in tried]) for run in runs} if likely else {}


def of_last(setup: Setup, longest_s: float = LONGEST_S) -> Setup:
    """Return the setup with the last `longest_s` of its load and faults."""
    start_s, end_s = setup.load.last_s - longest_s, setup.load.last_s
    if start_s <= setup.load.time_s[0]:
        return setup
    return replace(setup, load=setup.load.between(start_s, end_s), faults=tuple(fault for fault in setup.faults if fault.at_s >= start_s))


def averages(runs: Sequence[Simulated]) -> dict[str, float]:
    return {run.policy: run.report.average_executors for run in runs}


def within(value: float, tried: Sequence[float]) -> Estimate:
    """Return the value with bounds in the ratio of the least and the largest of `tried` to the first.

    >>> within(10.0, [4.0, 5.0, 3.0])
    Estimate(value=10.0, low=7.5, high=12.5)
    """
    return Estimate(value=value, low=value * (min(tried) / tried[0]), high=value * (max(tried) / tried[0]))


Level = Literal["good", "fair", "low"]
LEVELS: tuple[Level, ...] = ("good", "fair", "low")

FAIR_OFF, LOW_OFF = 0.15, 0.30
"""The simulator's worst own error above which confidence is fair, and low."""
FAIR_S, LOW_S = 2 * 3600.0, 1800.0
"""The recorded duration below which confidence is fair, and low."""
OR_OF_ROWS = ", the policy's executors where a row costs as much, or as little, as the measured batches allow"
OR_OF_MOMENTS = ", or where each rescale comes a decision sooner or later: the widest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    level: Level
    reasons: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.level if not self.reasons else f"{self.level}: {'; '.join(self.reasons)}"


def confidence(found: WhatIf) -> Confidence:
    knows_latency, left_out = found.like.error.latency_p95 is not None, len(found.like.found.left_out)
    return of(found.off, found.recorded.duration_s, found.recorded.executors_used, knows_latency=knows_latency, left_out=left_out)


def is_at_least(found: WhatIf) -> bool:
    """Return whether errors may be larger than the known ones."""
    return confidence(found).level != "good"


def error_reasons(found: WhatIf) -> tuple[str, ...]:
    """Return in words where the errors come from, why some are not known, and why some are lower bounds."""
    errors = [found.error_executor_s(run) for run in found.runs]
    said = []
    if any(error is not None for error in errors):
        said.append(f"how far the simulator is off on the recorded run{OR_OF_ROWS if found.likely else ''}{OR_OF_MOMENTS}")
    if found.off is not None and None in errors:
        said.append("? where a policy has another number of executors than the only one the job had, as the simulator's error there is not known")
    if is_at_least(found) and any(error is not None for error in errors):
        said.append(f"≥ for at least, as confidence is {confidence(found).level}")
    return tuple(said)


def of(off: float | None, recorded_s: float, executors_used: int, *, knows_latency: bool, left_out: int = 0) -> Confidence:
    """Return the confidence: the worst of all reasons counts.

    >>> str(of(0.05, 6 * 3600.0, 3, knows_latency=True))
    'good'
    >>> str(of(0.4, 3600.0, 1, knows_latency=True))
    'low: the simulator is off by 40% on the recorded run; only 1h was recorded; the job had one number of executors, others are extrapolated'
    """
    said: list[tuple[int, str]] = []
    if left_out:
        said.append((2, f"{left_out} quer{'y is' if left_out == 1 else 'ies are'} not simulated, and the executors needed for that are not known"))
    elif off is None:
        said.append((2, "nothing of the recorded run can be compared with the simulator"))
    elif off > FAIR_OFF:
        said.append((1 + (off > LOW_OFF), f"the simulator is off by {off:.0%} on the recorded run"))
    if not knows_latency and off is not None:
        said.append((1, "the latency of the recorded run is not known"))
    if recorded_s < FAIR_S:
        said.append((1 + (recorded_s < LOW_S), f"only {duration_words(round(recorded_s))} was recorded"))
    if executors_used < 2:
        said.append((1, "the job had one number of executors, others are extrapolated"))
    return Confidence(level=LEVELS[max((badness for badness, _ in said), default=0)], reasons=tuple(words for _, words in said))
