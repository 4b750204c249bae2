"""The comparisons: workloads, plants, policies and failures. They are fixed before they are run, and nothing in them is tuned to a result."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from penstock.bench.known_plant import UNPROMISED_S, KnownContinuous, KnownMicroBatch, KnownPlant
from penstock.bench.loads import SIX_HOURS_S, STEP_S, load_of
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.errors import UserMistake
from penstock.core.models.arrays import Floats
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings
from penstock.simulator.graph import QueryGraph, Simulable
from penstock.simulator.seeded_draws import shares

STARTS = 200
"""Starts over which the share of the busiest executor is averaged."""
UNLUCKY = 0.1
"""The oracle does not know which executor a start gives the most rows: its plan holds for all starts but this share."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A job, as an engine simulates it, its load, and the policies to compare by their labels. `loads` has the arrivals of each repetition.

    Policies of `checkpoint_first` take a checkpoint before a rescale, so that it replays nothing; of others the engine's settings say it. What a paper says
    of the same experiment is in the tables `published` of published.toml.
    """

    name: str
    engine: Simulable
    loads: tuple[Arrivals, ...]
    limits: Limits
    promises: Promises
    policies: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    checkpoint_first: tuple[str, ...] = ()
    published: tuple[str, str] | None = None

    def engine_for(self, label: str) -> Simulable:
        return replace(self.engine, replays=False) if label in self.checkpoint_first and isinstance(self.engine, ContinuousSettings) else self.engine

    @cached_property
    def known(self) -> KnownPlant | None:
        """What the oracle knows of the plant; None of several queries, for which it cannot plan."""
        return known_plant(self.engine, self.promises, self.limits.max_executors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Workloads to compare policies on; all policies see the same load, plant, seed and failures in each repetition.

    `says` is what the report says about it first, `why` where our numbers differ from a paper's, and why. One of many workloads is `summarised`: the report
    has the distances from the oracle over all of them, in place of a figure for each.
    """

    name: str
    says: str
    workloads: tuple[Workload, ...]
    why: tuple[str, ...] = ()
    summarised: bool = False


def known_plant(engine: Simulable, promises: Promises, most_executors: int) -> KnownPlant | None:
    """Return the model of an engine that the oracle plans on."""
    if isinstance(engine, QueryGraph):
        return None
    if isinstance(engine, MicroBatchSettings):
        return KnownMicroBatch(
            law=engine.law,
            cadence=engine.cadence(promises),
            up_s=engine.up_s * (1.0 + engine.up_spread / 2),
            down_s=engine.down_s,
            noise=engine.noise,
            first_task_s=engine.first_task_s,
            cold_factor=engine.warm_up_factor,
        )
    sure = float(np.quantile(evennesses(engine.skew, most_executors), UNLUCKY))
    return KnownContinuous(
        each_rows_per_s=engine.capacity_rows_per_s * (1.0 - engine.pause_s / engine.interval_s) * sure,
        up_s=engine.up_s,
        down_s=engine.down_s,
        interval_s=engine.interval_s,
        replays=engine.replays,
        latency_s=UNPROMISED_S if promises.latency_p95_s is None else promises.latency_p95_s,
        base_s=engine.base_s,
        queue_s=engine.queue_s,
    )


def evenness(skew: float, executors: int) -> float:
    """Return the mean share of an executor relative to that of the busiest one, which limits the capacity.

    >>> evenness(0.0, 12), round(evenness(0.1, 12), 1)
    (1.0, 0.9)
    """
    return float(evennesses(skew, executors).mean())


def evennesses(skew: float, executors: int) -> Floats:
    """Return the same for many starts, at each of which the shares are drawn anew."""
    return np.array([1.0 / (executors * float(shares(0, start, executors, skew).max())) for start in range(STARTS)]) if skew else np.ones(1)


def spark_job(peak_rows_per_s: float, most_executors: int, *, trigger_s: float, overhead_s: float, noise: float) -> MicroBatchSettings:
    """Return a job in micro-batches whose largest number of executors carries the peak in four fifths of a trigger interval."""
    room_s = 0.8 * trigger_s - overhead_s
    return MicroBatchSettings(
        overhead_s=overhead_s,
        row_s=room_s * most_executors / (peak_rows_per_s * trigger_s),
        partitions=2 * most_executors,
        trigger=Trigger(interval_s=trigger_s),
        noise=noise,
        up_s=15.0,
        first_task_s=2.0,
    )


def quick(repetitions: int, lasts_s: float = 7200.0) -> Comparison:
    """Return a first table: two loads of two hours on Spark's micro-batches, whose executors change live."""
    peak, most = 24_000.0, 12
    names = ("two_sines", "two_spikes")
    job = spark_job(peak, most, trigger_s=5.0, overhead_s=0.8, noise=0.1)
    return Comparison(
        name="quick",
        says="Two loads of two hours on simulated micro-batches of 5 s, 1 to 12 executors, 12 s of p95 latency promised.",
        workloads=tuple(
            Workload(
                name=name,
                engine=job,
                loads=tuple(load_of(name, peak, seed, lasts_s) for seed in range(repetitions)),
                limits=Limits(max_executors=most),
                promises=Promises(latency_p95_s=12.0, recovery_s=300.0),
                policies=live_policies(most),
                faults=(Fault(at_s=0.6 * lasts_s, kind="kill"),),
            )
            for name in names
        ),
    )


def live_policies(most_executors: int) -> tuple[str, ...]:
    """Return what people run micro-batches with, beside Daedalus and `auto`."""
    return f"static({most_executors})", "hpa(80)", "spark_dra", "trigger_dra", "elastic", "ds2", "daedalus", "auto"


def mine(name: str, load: Arrivals, engine: Simulable, limits: Limits, promises: Promises, repetitions: int) -> Comparison:
    """Return the same for a user's load, on an engine like his job's."""
    return Comparison(
        name="mine",
        says=f"{name}: {load.lasts_s / 3600.0:.1f} h, {limits.min_executors} to {limits.max_executors} executors.",
        workloads=(
            Workload(name=name, engine=engine, loads=(load,) * repetitions, limits=limits, promises=promises, policies=live_policies(limits.max_executors)),
        ),
    )


def flink_job(peak_rows_per_s: float, most_executors: int, *, base_s: float, skew: float) -> ContinuousSettings:
    """Return a job of Daedalus's experiments: its largest number of executors carries the peak with a tenth to spare (4.2), and a rescale replays (4.4)."""
    each = peak_rows_per_s / 0.9 / most_executors / evenness(skew, most_executors)
    return ContinuousSettings(capacity_rows_per_s=each, base_s=base_s, queue_s=0.2, skew=skew, downtime_s=30.0, timeout_s=20.0, up_s=30.0, down_s=15.0)


def kafka_streams_job(peak_rows_per_s: float, most_executors: int) -> ContinuousSettings:
    """Return WordCount on an engine like Kafka Streams: keys are spread less evenly, so that the busiest worker is full while the average is not (4.6)."""
    return replace(flink_job(peak_rows_per_s, most_executors, base_s=7.0, skew=0.25), up_s=45.0, down_s=45.0, downtime_s=45.0)


def daedalus(repetitions: int, lasts_s: float = SIX_HOURS_S) -> Comparison:
    """Return the comparisons of Daedalus 4.5 to 4.7: three jobs against HPA, one on another engine, and one against Phoebe."""
    promises = Promises(recovery_s=600.0)

    def loads(name: str, peak_rows_per_s: float) -> tuple[Arrivals, ...]:
        return tuple(load_of(name, peak_rows_per_s, seed, lasts_s) for seed in range(repetitions))

    jobs = {
        "wordcount": ("two_sines", 60_000.0, flink_job(60_000.0, 12, base_s=0.6, skew=0.1)),
        "ysb": ("clicks", 120_000.0, flink_job(120_000.0, 12, base_s=5.0, skew=0.03)),
        "traffic": ("two_spikes", 60_000.0, flink_job(60_000.0, 12, base_s=5.0, skew=0.05)),
        "kafka_streams_wordcount": ("two_sines", 60_000.0, kafka_streams_job(60_000.0, 12)),
    }
    against_hpa = tuple(
        Workload(
            name=name,
            engine=engine,
            loads=loads(load, peak),
            limits=Limits(max_executors=12),
            promises=promises,
            policies=("static(12)", *(hpas(60, 80) if name == "kafka_streams_wordcount" else hpas(80, 85)), "daedalus", "auto"),
            published=("daedalus", name),
        )
        for name, (load, peak, engine) in jobs.items()
    )
    against_phoebe = Workload(
        name="against_phoebe",
        engine=flink_job(180_000.0, 18, base_s=2.5, skew=0.03),
        loads=loads("two_sines", 180_000.0),
        limits=Limits(max_executors=18),
        promises=promises,
        policies=("static(18)", "phoebe", "daedalus", "auto"),
        checkpoint_first=("phoebe",),
        published=("daedalus", "against_phoebe"),
    )
    return Comparison(
        name="daedalus",
        says="Daedalus 4.5 to 4.7: six hours, at most 12 executors (18 against Phoebe), recovery within 600 s, no failures; a rescale replays since the last"
        " checkpoint, Phoebe's does not.",
        workloads=(*against_hpa, against_phoebe),
    )


def hpas(*percents: int) -> tuple[str, ...]:
    return tuple(f"hpa_paper({each})" for each in percents)


FAILURES_APART_S = 1200.0


def phoebe(repetitions: int, lasts_s: float = SIX_HOURS_S) -> Comparison:
    """Return the comparison of Phoebe IV: two jobs, eight time-out failures, three static deployments, and TWRES and reactive mode."""
    rates = {
        "tsw": ("vehicles", 166_000.0, (52e3, 54e3, 140e3, 73e3, 84e3, 135e3, 166e3, 62e3)),
        "ysb": ("noisy_sine", 195_000.0, (186e3, 72e3, 60e3, 195e3, 7e3, 136e3, 130e3, 14e3)),
    }
    workloads = []
    for name, (load, peak, at_rates) in rates.items():
        engine = ContinuousSettings(
            capacity_rows_per_s=peak / 0.52 / 24, base_s=0.8, queue_s=0.2, downtime_s=90.0, timeout_s=20.0, up_s=30.0, down_s=15.0, replays=False
        )
        loads = tuple(load_of(load, peak, seed, lasts_s) for seed in range(repetitions))
        faults = tuple(Fault(at_s=at_s, kind="freeze") for at_s in moments_at(loads[0], at_rates, FAILURES_APART_S))
        workloads.append(
            Workload(
                name=name,
                engine=engine,
                loads=loads,
                limits=Limits(min_executors=2, max_executors=24),
                promises=Promises(recovery_s=180.0),
                policies=("static(24)", "static(12)", "static(4)", "phoebe", "reactive", "twres", "auto"),
                faults=faults,
                published=("phoebe", name),
            )
        )
    return Comparison(
        name="phoebe",
        says="Phoebe IV: six hours, at most 24 executors, recovery within 180 s, eight time-out failures of 110 s; a rescale takes a checkpoint first.",
        workloads=tuple(workloads),
    )


def moments_at(load: Arrivals, rates_rows_per_s: tuple[float, ...], apart_s: float) -> tuple[float, ...]:
    """Return a time for each rate, ascending and at least `apart_s` apart: each moment is the one in its part of the load that comes nearest to a rate left.

    >>> ramp = Arrivals.through((0.0, 1000.0, 2000.0), (0.0, 100.0, 0.0))
    >>> moments_at(ramp, (80.0, 20.0), 300.0)
    (200.0, 1200.0)
    """
    left, found = list(rates_rows_per_s), list[float]()
    lasts_s, start_s = load.lasts_s, load.time_s[0]
    part_s = lasts_s / len(left)
    for number in range(len(rates_rows_per_s)):
        first_s = max(start_s + number * part_s, found[-1] + apart_s if found else start_s)
        moments = np.arange(first_s, start_s + (number + 1) * part_s, STEP_S).tolist()
        at_s, rate = min(((at_s, rate) for at_s in moments for rate in left), key=lambda pair: abs(load.rate(pair[0]) - pair[1]))
        left.remove(rate)
        found.append(at_s)
    return tuple(found)


PAPERS = {"daedalus": daedalus, "phoebe": phoebe}


def paper(name: str, repetitions: int) -> Comparison:
    """Return the comparison of a paper; raise `UserMistake` for one that is not there."""
    if name not in PAPERS:
        raise UserMistake(f'--paper: found "{name}", {" or ".join(PAPERS)} is allowed')
    return PAPERS[name](repetitions)
