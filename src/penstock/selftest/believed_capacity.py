"""Compare what is believed of random simulated jobs with the truth: their capacity after ten minutes, and their recovery from a failure."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np

from penstock.core.analyze.analyze import analyze
from penstock.core.analyze.assess import assess
from penstock.core.config import USUAL_READING_S, Config
from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.fault import Fault, FaultKind
from penstock.core.domain.job_spec import Limits
from penstock.core.domain.reading import Reading
from penstock.core.knowledge.assessment import Assessment
from penstock.core.knowledge.inputs import Inputs
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.experiments.cell import SIMULATED_CODE, fingerprint
from penstock.experiments.runner import Runnable, run_cells
from penstock.selftest.contended_run import NEEDS, Saturated, contended_run
from penstock.selftest.model_targets import Measured, ModelsResult
from penstock.selftest.worlds.random_jobs import MOST_EXECUTORS, RandomJob, random_job
from penstock.simulator.load import Load
from penstock.simulator.microbatch import MicroBatchEngine
from penstock.simulator.plant import SimulatedClock, SimulatedPlant
from penstock.wiring.setup import Setup, with_downtimes
from penstock.wiring.simulation import simulate

AT_ONCE = 10
"""Jobs in one cell."""
KINDS: tuple[FaultKind, ...] = ("kill", "freeze", "restart")
SHORT = 2.0
"""A recovery within this many of the longest cycles is over with the batch that was hit or the next: which one is chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Believed:
    """A capacity in rows/s of a number of executors, and the truth; None where it is not known."""

    present: bool
    truth: float
    value: float | None = None
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovering:
    """A recovery in seconds, as predicted and as it was; `cycle_s` is the longest time between two batches."""

    kind: FaultKind
    predicted_s: float | None
    measured_s: float | None
    cycle_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsReport:
    """What some random jobs showed, or one on Spark."""

    believed: tuple[Believed, ...] = ()
    recovering: tuple[Recovering, ...] = ()
    saturated: tuple[Saturated, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsCell:
    """Random jobs of some seeds, each watched for its capacity or struck by a failure."""

    seeds: tuple[int, ...]
    fails: bool

    @property
    def key(self) -> str:
        code = b"".join(map(fingerprint, (*SIMULATED_CODE, "selftest")))
        return f"{self.name} {sha256(code).hexdigest()[:16]}"

    @property
    def name(self) -> str:
        return f"{'failures' if self.fails else 'capacity'} {self.seeds[0]} to {self.seeds[-1]}"

    @property
    def in_parallel(self) -> bool:
        return True

    def run(self, progress: Callable[[float], None]) -> JobsReport:
        believed, recovering = list[Believed](), list[Recovering]()
        for done, seed in enumerate(self.seeds, start=1):
            if self.fails:
                recovering.append(recovered(seed))
            else:
                believed += believed_of(random_job(seed))
            progress(done / len(self.seeds))
        return JobsReport(believed=tuple(believed), recovering=tuple(recovering))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkCell:
    """The job of the demonstration on real Spark, after others took the CPU."""

    number: int

    @property
    def key(self) -> str:
        return f"{self.name} {fingerprint('').decode()}"

    @property
    def name(self) -> str:
        return f"run {self.number} on Spark"

    @property
    def in_parallel(self) -> bool:
        return False

    def run(self, progress: Callable[[float], None]) -> JobsReport:
        return JobsReport(saturated=(contended_run(progress),))


def terms_of(job: RandomJob, autopilot: Autopilot) -> Terms:
    return Terms(limits=Limits(max_executors=MOST_EXECUTORS), promises=job.promises, config=Config(reading_interval_s=USUAL_READING_S), autopilot=autopilot)


def watched(job: RandomJob) -> Iterator[tuple[Reading, Callable[[], Assessment]]]:
    """Yield the readings of a job to its end, each with the assessment of its executors and of half and twice as many."""
    terms, clock = terms_of(job, Autopilot(mode="shadow")), SimulatedClock(0.0)
    engine = MicroBatchEngine(job.settings, Load.of(job.load, 0.0), executors=job.executors, seed=job.seed)
    plant = SimulatedPlant(engine, clock, terms.config, terms.promises)
    desired = Configuration(executors=job.executors)
    knowledge = Knowledge(declared=desired, desired=desired)
    while clock.now_s() < job.length_s:
        clock.wait(USUAL_READING_S)
        reading = plant.read()
        knowledge = analyze(replace(knowledge, last=reading), Inputs(at_s=reading.at_s, reading=reading), terms, NEEDS, decides=False).knowledge
        yield reading, partial(assess, knowledge, None, clock.now_s(), terms, NEEDS, sorted((job.executors, *job.unseen)))


def believed_of(job: RandomJob) -> list[Believed]:
    """Watch a job to its end, and return what is believed then of its executors, and of half and twice as many."""
    *_, (_, assessment) = watched(job)
    seen, found = assessment(), list[Believed]()
    for executors in (job.executors, *job.unseen):
        truth, known = job.capacity_rows_per_s(executors), seen.capacities.get(executors)
        one = Believed(present=executors == job.executors, truth=truth)
        found.append(one if known is None else replace(one, value=known.value, low=known.low, high=known.high))
    return found


def recovered(seed: int) -> Recovering:
    """Strike a job of half an hour after fifteen minutes or more, and return its recovery."""
    job, chance = random_job(seed, 1800.0), random.Random(f"failure {seed}")
    fault = Fault(at_s=chance.uniform(900.0, 1300.0), kind=chance.choice(KINDS))
    settings = replace(job.settings, contention=(), failed_s=chance.uniform(1.0, 60.0), retry_s=chance.uniform(1.0, 10.0))
    autopilot = with_downtimes(Autopilot(mode="active", policy="static", rollback=False), settings, (fault,))
    terms = replace(terms_of(job, autopilot), limits=Limits(max_executors=job.executors))
    (failure,) = simulate(Setup(terms=terms, engine=settings, load=job.load, seed=seed, faults=(fault,))).failures
    return Recovering(kind=fault.kind, predicted_s=failure.predicted_s, measured_s=failure.measured_s, cycle_s=job.cadence.cycle_s)


def measure_believed(jobs: int, failures: int, runs: int, keep: Path | None, progress: Callable[[float, int], None]) -> ModelsResult:
    """Measure all jobs and failures, in parallel, then the runs on Spark; cells in the file `keep` that the same code has made are not made again."""
    cells: dict[str, Runnable[JobsReport]] = {cell.name: cell for fails, count in ((False, jobs), (True, failures)) for cell in cells_of(count, fails)}
    cells |= {cell.name: cell for cell in (SparkCell(number=number + 1) for number in range(runs))}
    reports: Mapping[str, JobsReport] = run_cells(cells, JobsReport, keep, progress=progress).complete()
    believed = [each for report in reports.values() for each in report.believed]
    present, unseen = ([each for each in believed if each.present == here] for here in (True, False))
    found = recoveries([each for report in reports.values() for each in report.recovering])
    ran = on_spark([each for report in reports.values() for each in report.saturated])
    return ModelsResult(measured=(*capacities(present, "present", 0.15, 0.35), *capacities(unseen, "unseen", 0.2, 0.5), *found, *ran))


def cells_of(count: int, fails: bool) -> list[JobsCell]:
    return [JobsCell(seeds=tuple(range(first, min(first + AT_ONCE, count))), fails=fails) for first in range(0, count, AT_ONCE)]


def capacities(believed: Sequence[Believed], which: str, middle: float, most: float) -> tuple[Measured, ...]:
    """Return how many capacities are known, the errors of those, and how often their bounds hold."""
    known = [(each.value, each) for each in believed if each.value is not None]
    errors = np.array([abs(value / each.truth - 1.0) for value, each in known])
    covered = float(np.mean([each.low <= each.truth <= each.high for _, each in known]))
    of = f"{len(known)} of {len(believed)}"
    return (
        Measured(what=f"capacity of {which} executors: known", found=len(known) / len(believed), least=0.95, beside=of),
        Measured(what=f"capacity of {which} executors: median error", found=float(np.median(errors)), most=middle),
        Measured(what=f"capacity of {which} executors: error of 95 %", found=float(np.quantile(errors, 0.95)), most=most),
        Measured(what=f"capacity of {which} executors: within its bounds", found=covered, least=0.75, most=0.9),
    )


def recoveries(failures: Sequence[Recovering]) -> tuple[Measured, ...]:
    """Return the errors of the predicted recoveries, of all and of those that are long enough to be predicted."""
    known = [(each.predicted_s, each.measured_s, each) for each in failures if each.predicted_s is not None and each.measured_s]
    errors = {id(each): abs(predicted / measured - 1.0) for predicted, measured, each in known}
    short = [errors[id(each)] for _, measured, each in known if measured < SHORT * each.cycle_s]
    beside = f"{len(short)} are over within {SHORT:g} of the longest cycles: {np.median(short or [0.0]):.2f}"
    by_kind = {kind: [errors[id(each)] for _, _, each in known if each.kind == kind] for kind in KINDS}
    return (
        Measured(what="recovery of micro-batches: predicted", found=len(known) / len(failures), least=0.95, beside=f"{len(known)} of {len(failures)}"),
        Measured(what="recovery of micro-batches: median error", found=float(np.median(list(errors.values()))), most=0.25, beside=beside),
        *(Measured(what=f"recovery, {kind}: median error", found=float(np.median(of)), beside=f"{len(of)} failures") for kind, of in by_kind.items() if of),
    )


def on_spark(runs: Sequence[Saturated]) -> tuple[Measured, ...]:
    """Return the error of the throughput that was believed in each run; not known counts as wrong.

    >>> [each.said for each in on_spark([Saturated(executors=2, believed_rows_per_s=900.0, measured_rows_per_s=1000.0)])]
    ['0.1; target at most 0.25; 2 executors: 900 rows/s believed, 1,000 measured']
    """
    return tuple(
        Measured(
            what=f"saturated throughput on Spark, run {number}: error",
            found=1.0 if run.believed_rows_per_s is None else abs(run.believed_rows_per_s / run.measured_rows_per_s - 1.0),
            most=0.25,
            beside=f"{run.executors} executors: {run.believed_rows_per_s or 0.0:,.0f} rows/s believed, {run.measured_rows_per_s:,.0f} measured",
        )
        for number, run in enumerate(runs, start=1)
    )
