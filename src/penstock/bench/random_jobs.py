"""Jobs and loads drawn at random, to compare policies on what they were not developed on."""

from zlib import crc32

import numpy as np

from penstock.bench.comparisons import Comparison, Workload, evenness
from penstock.bench.loads import CURVES, STEP_S, Chance, bump, wandering
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import Limits, Promises
from penstock.core.domain.trigger import Trigger
from penstock.core.models.arrays import Floats
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.simulator.engine_settings import ContinuousSettings, MicroBatchSettings

LASTS_S = 7200.0
LIVE, STOPS = "live", "stops"
"""The executors of a job change while it runs (micro-batches), or every change stops it (the continuous engine)."""
FIRST_UNSEEN = 10_000
"""No seed from this one on was used while a policy was developed."""


def random_jobs(count: int, first_seed: int) -> Comparison:
    """Return a comparison of as many jobs, in turn one whose executors change live and one that stops for it."""
    return Comparison(
        name=f"random-{first_seed}",
        says=f"{count} random jobs of two hours, half in micro-batches and half on an engine that stops for a rescale; seeds from {first_seed} on.",
        workloads=tuple(random_job(seed) for seed in range(first_seed, first_seed + count)),
        summarised=True,
    )


def random_job(seed: int) -> Workload:
    """Return the job of a seed: even ones in micro-batches, odd ones on the continuous engine."""
    chance = np.random.default_rng((seed, crc32(b"job")))
    most, peak = int(chance.integers(4, 25)), float(10 ** chance.uniform(3.5, 5.3))
    engine, promises = (micro_batches if seed % 2 == 0 else continuous)(chance, most, peak)
    faults = sorted(chance.uniform(0.15, 0.9, size=int(chance.integers(0, 3))) * LASTS_S)
    return Workload(
        name=f"{LIVE if seed % 2 == 0 else STOPS} {seed}",
        engine=engine,
        loads=(random_load(chance, peak),),
        limits=Limits(max_executors=most),
        promises=promises,
        policies=(f"static({most})", "hpa(80)", "spark_dra", "ds2", "daedalus", "lookahead", "auto"),
        faults=tuple(Fault(at_s=float(at_s)) for at_s in faults),
    )


def random_load(chance: Chance, peak_rows_per_s: float) -> Arrivals:
    """Return one of the papers' shapes or a shape of bumps and steps, with noise, and now and then a burst."""
    time_s = np.arange(0.0, LASTS_S + STEP_S, STEP_S)
    share = time_s / LASTS_S
    shapes = (*CURVES.values(), bumps, steps)
    curve = shapes[int(chance.integers(len(shapes)))](share, chance)
    for _ in range(int(chance.integers(0, 3))):
        curve = curve + bump(share, chance.uniform(0.1, 0.95), chance.uniform(0.004, 0.03), chance.uniform(0.1, 0.5) * float(curve.max()))
    curve = np.maximum(0.0, curve * (1.0 + chance.uniform(0.0, 0.05) * chance.normal(size=len(curve)).clip(-2.0, 2.0)))
    return Arrivals.through(time_s, peak_rows_per_s * curve / curve.max())


def bumps(share: Floats, chance: Chance) -> Floats:
    made = sum(bump(share, chance.uniform(0, 1), chance.uniform(0.03, 0.2), chance.uniform(0.2, 1.0)) for _ in range(4))
    return wandering(np.asarray(chance.uniform(0.05, 0.5) + made), chance, spread=0.03)


def steps(share: Floats, chance: Chance) -> Floats:
    edges = np.sort(chance.uniform(0.05, 0.95, size=5))
    return wandering(chance.uniform(0.15, 1.0, size=6)[np.searchsorted(edges, share)], chance, spread=0.03)


def micro_batches(chance: Chance, most: int, peak_rows_per_s: float) -> tuple[MicroBatchSettings, Promises]:
    """Return a job whose most executors carry the peak with something to spare: batches of the peak take 50 to 90 % of the time they may."""
    trigger_s = float(chance.choice([2.0, 5.0, 10.0]))
    overhead_s = float(chance.uniform(0.1, 0.4) * trigger_s)
    skew = float(chance.uniform(1.0, 1.4))
    room_s = chance.uniform(0.5, 0.9) * trigger_s - overhead_s
    engine = MicroBatchSettings(
        overhead_s=overhead_s,
        row_s=room_s * most / (peak_rows_per_s * trigger_s * skew),
        partitions=int(chance.integers(1, 5)) * most,
        trigger=Trigger(interval_s=trigger_s),
        skew=skew,
        noise=float(chance.uniform(0.02, 0.15)),
        up_s=float(chance.uniform(5.0, 40.0)),
        first_task_s=float(chance.uniform(0.0, 3.0)),
    )
    return engine, Promises(latency_p95_s=float(chance.uniform(2.3, 4.0) * trigger_s), recovery_s=float(chance.uniform(120.0, 600.0)))


def continuous(chance: Chance, most: int, peak_rows_per_s: float) -> tuple[ContinuousSettings, Promises]:
    """Return a job whose most executors have 5 to 40 % to spare at the peak; one half promises a latency that outlasts a rescale, the other a shorter one."""
    skew = float(chance.uniform(0.0, 0.1))
    base_s = float(chance.uniform(0.2, 4.0))
    engine = ContinuousSettings(
        capacity_rows_per_s=peak_rows_per_s / chance.uniform(0.6, 0.95) / most / evenness(skew, most),
        base_s=base_s,
        queue_s=float(chance.uniform(0.05, 0.3)),
        skew=skew,
        downtime_s=float(chance.uniform(20.0, 90.0)),
        up_s=float(chance.uniform(15.0, 60.0)),
        down_s=float(chance.uniform(10.0, 40.0)),
        replays=bool(chance.integers(0, 2)),
    )
    latency_s = base_s + (chance.uniform(3.0, 15.0) if chance.integers(0, 2) else chance.uniform(60.0, 240.0))
    return engine, Promises(latency_p95_s=float(latency_s), recovery_s=float(chance.uniform(180.0, 600.0)))
