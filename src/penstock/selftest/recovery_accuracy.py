"""Measure the errors of the recovery formulas against simulated queues that share no code with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.core.domain.cadence import Cadence, batch_latency_s
from penstock.core.domain.trigger import next_trigger_s
from penstock.core.models.arrays import Floats
from penstock.core.models.capacity.batch_law import BatchLaw
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.batch_recovery import BatchOutage, recovery_by_batches_s
from penstock.core.models.recovery.outage import Outage, phoebe_recovery_s, recovery_s
from penstock.core.models.score import mape
from penstock.selftest.model_targets import SEEDS, Found, Measured
from penstock.selftest.worlds.loads import LOADS, load

INTERVAL_S, DOWNTIME_S = 10, 110
"""Phoebe sec. IV: checkpoints every 10 s; 110 s from a time-out failure until the job works again."""
SERVICE_NOISE, DOWNTIME_NOISE, BATCH_NOISE = 0.1, 0.05, 0.05
"""Relative noise of the service rate, the downtime and the batch duration around the values given to the formula."""
UTILIZATIONS = np.arange(0.45, 0.951, 0.02)

Trace = tuple[str, Floats, Floats]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The actual recovery, our prediction, and that of Phoebe's plain formula, which stops at its first step below a second and ignores batches."""

    predicted_s: float
    paper_s: float
    actual_s: float


def formula(traces: Sequence[Trace] = ()) -> Found:
    """Measure all recovery formulas on generated loads and on `traces` (name, time, rate)."""
    curve = [recovery_s(Arrivals.constant(u), 0.0, 1.0, INTERVAL_S, DOWNTIME_S) for u in UTILIZATIONS]
    closed = [DOWNTIME_S + (INTERVAL_S + DOWNTIME_S) * u / (1 - u) for u in UTILIZATIONS]
    jumps = [later / earlier - 1 for earlier, later, u in zip(curve, curve[1:], UTILIZATIONS[1:], strict=False) if u < 0.8]
    failures = {kind: [failure for _, t, rate in several for failure in failures_on(t, rate)] for kind, several in kinds(traces).items()}
    measured = (
        *(scored(f"recovery formula against a queue, {kind}", each) for kind, each in failures.items()),
        scored("recovery formula, an overload that passes", passing_overloads()),
        scored("recovery by micro-batches against an engine", micro_batches()),
        Measured(what="recovery formula: largest jump for 0.02 of utilisation below 0.8", found=max(jumps), most=0.12),
        Measured(what="recovery formula: seconds off for a constant rate", found=float(np.abs(np.subtract(curve, closed)).max()), most=1.0),
    )
    return Found(measured=measured)


def scored(what: str, failures: Sequence[Failure]) -> Measured:
    """Return the error of the predictions, with that of the mean of the other failures and of the paper's formula."""
    actual = np.array([each.actual_s for each in failures])
    others = (actual.sum() - actual) / max(1, len(actual) - 1)
    said = [[each.predicted_s for each in failures], others.tolist(), [each.paper_s for each in failures]]
    ours, constant, paper = (mape(each, actual.tolist()) for each in said)
    return Measured(what=f"{what}: MAPE", found=ours, most=0.12, constant=constant, paper=paper, beside=f"{len(failures)} failures")


def kinds(traces: Sequence[Trace]) -> dict[str, list[Trace]]:
    generated = [(name, *load(name, seed=11)) for name in LOADS]
    return {"generated loads": generated} | ({"given traces": list(traces)} if traces else {})


def failures_on(time_s: Floats, rate: Floats) -> list[Failure]:
    """Return failures all over a trace at utilisations from 0.45 to 0.95, if the queue empties before the trace ends."""
    seconds = np.arange(time_s[0], time_s[-1] + 1)
    by_second, arrivals = np.interp(seconds, time_s, rate), Arrivals.through(time_s, rate)
    rng = np.random.default_rng(0)
    failures = []
    for share, utilization in zip(np.linspace(0.05, 0.85, 9), np.linspace(0.45, 0.95, 9)[[0, 5, 1, 6, 2, 7, 3, 8, 4]], strict=True):
        at = int(share * len(seconds))
        capacity = float(by_second[at] / utilization)
        if capacity > 0:
            took_s = queue_s(by_second, at, capacity, INTERVAL_S, DOWNTIME_S, rng)
            if np.isfinite(took_s):
                failures.append(by_formula(arrivals, Outage(at_s=float(seconds[at]), interval_s=INTERVAL_S, downtime_s=DOWNTIME_S), capacity, took_s))
    return failures


def by_formula(arrivals: Arrivals, outage: Outage, capacity: float, took_s: float) -> Failure:
    ours, paper = (phoebe_recovery_s(arrivals, outage, capacity, tail=tail) for tail in (True, False))
    return Failure(predicted_s=ours, paper_s=paper, actual_s=took_s)


def queue_s(rate: Floats, at: int, capacity: float, interval: int, downtime: int, rng: np.random.Generator | None = None) -> float:
    """Return the seconds until the queue is empty after a downtime and the replay of the last interval; `rng` adds noise.

    >>> round(queue_s(np.full(2000, 51.0), 100, 100.0, 10, 110), 1)
    234.9
    """
    served = np.full(len(rate), capacity)
    if rng is not None:
        served *= rng.lognormal(-(SERVICE_NOISE**2) / 2, SERVICE_NOISE, len(rate))
        downtime = round(downtime * rng.lognormal(0, DOWNTIME_NOISE))
    waiting = float(rate[max(0, at - interval) : at].sum())
    for second in range(at, len(rate)):
        room = float(served[second]) if second >= at + downtime else 0.0
        spare = room - float(rate[second])
        if 0 < waiting <= spare:
            return second - at + waiting / spare
        waiting -= spare
    return float("inf")


def passing_overloads() -> list[Failure]:
    """Return failures soon before the load exceeds the capacity for some minutes, by up to a half."""
    failures = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        t = np.arange(14_400.0)
        begins, lasts, above = rng.uniform(1250, 1500), rng.uniform(120, 900), rng.uniform(1.1, 1.5)
        rate = np.where((t >= begins) & (t < begins + lasts), above, rng.uniform(0.3, 0.7)) * 50_000 * (1 + rng.normal(0, 0.03, len(t)))
        outage = Outage(at_s=1200.0, interval_s=INTERVAL_S, downtime_s=DOWNTIME_S)
        failures.append(by_formula(Arrivals.through(t, rate), outage, 50_000.0, queue_s(rate, 1200, 50_000.0, INTERVAL_S, DOWNTIME_S, rng)))
    return failures


def micro_batches() -> list[Failure]:
    """Return failures of micro-batch engines with varying load and noisy batches, with and without a limit of rows."""
    failures = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for utilization, limited in ((0.4, False), (0.6, True), (0.7, False), (0.8, True)):
            interval_s, overhead_s, row_s = rng.uniform(3, 20), rng.uniform(0.3, 1.5), 10 ** rng.uniform(-5, -3)
            capacity = (1 - overhead_s / interval_s) / row_s
            limit_rows = capacity * interval_s if limited else None
            t = np.arange(0.0, 7200.0, 5.0)
            rate = utilization * capacity * (1 + 0.15 * np.sin(t / rng.uniform(100, 900) + rng.uniform(0, 6)))
            law = BatchLaw(overhead_s=overhead_s, row_s=row_s, partitions=1, limit_rows=limit_rows)
            cadence = Cadence(interval_s=interval_s, longest_s=interval_s)
            outage = BatchOutage(at_s=600.0, downtime_s=rng.uniform(20, 120), cadence=cadence, executors=1, uncommitted_s=interval_s)
            engine = Engine(overhead_s=overhead_s, row_s=row_s, cadence=cadence, limit_rows=limit_rows)
            arrivals, took_s = Arrivals.through(t, rate), engine.recovery_s(t, rate, 600.0, outage.downtime_s, interval_s, rng)
            by_paper = by_formula(arrivals, Outage(at_s=600.0, interval_s=interval_s, downtime_s=outage.downtime_s), capacity, took_s)
            failures.append(replace(by_paper, predicted_s=recovery_by_batches_s(law, arrivals, outage)))
    return failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Micro-batches as in Spark: a trigger at every multiple of the interval, immediately if one was missed.

    >>> steady, cadence = np.full(200, 500.0), Cadence(interval_s=10.0, longest_s=10.0)
    >>> Engine(overhead_s=1.0, row_s=0.001, cadence=cadence).recovery_s(np.arange(200.0), steady, 50.0, 16.0, 16.0)
    48.25
    """

    overhead_s: float
    row_s: float
    cadence: Cadence
    limit_rows: float | None = None

    def recovery_s(self, t: Floats, rate: Floats, at_s: float, downtime_s: float, repeated_s: float, rng: np.random.Generator | None = None) -> float:
        """Return the seconds until the end of the first batch that takes all waiting rows and is back within the latency allowed."""
        arrived = np.concatenate([[0.0], np.cumsum(np.diff(t) * (rate[1:] + rate[:-1]) / 2)])
        seen_s, clock_s = at_s - repeated_s, at_s + downtime_s
        taken = np.interp(at_s - repeated_s, t, arrived)
        while clock_s < t[-1]:
            waiting = np.interp(clock_s, t, arrived) - taken
            rows = np.floor(waiting if self.limit_rows is None else min(waiting, self.limit_rows))
            batch_s = (self.overhead_s + self.row_s * rows) * (1.0 if rng is None else rng.lognormal(0, BATCH_NOISE))
            if batch_latency_s(clock_s - seen_s, batch_s) <= self.cadence.latency_s and rows > waiting - 1:
                return float(clock_s + batch_s - at_s)
            taken += rows
            seen_s, clock_s = clock_s, max(clock_s + batch_s, next_trigger_s(clock_s, self.cadence.interval_s))
        return float("inf")
