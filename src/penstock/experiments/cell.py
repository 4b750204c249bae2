"""A cell of an experiment: everything that one run depends on, as plain values, and the run itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Protocol, TypeVar

from penstock.core.domain.autopilot import Chosen
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.events.event import Event
from penstock.core.domain.fault import Fault
from penstock.core.domain.job_spec import FeedSpec, JobSpec, SourceSpec
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.report.run_report import RunReport, Span, run_report
from penstock.ports import Clock, Copy
from penstock.runtime.steady_clock import SteadyClock
from penstock.simulator.graph import Simulable, configured
from penstock.stores.codec import encode
from penstock.stores.recorder import digest
from penstock.stores.snapshot import take_snapshot
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import simulate

Traced = TypeVar("Traced", SourceSpec, FeedSpec)
LEADS_S = (60.0, 120.0, 240.0)
"""On Spark the first rate of a workload holds for this time before the run begins: a copy starts and warms up meanwhile. A copy that takes longer is
launched once more, with the next."""
WATCH_S = 0.5
SIMULATED_CODE = ("core", "simulator", "runtime", "profiling", "wiring", "experiments")


class Plant(Protocol):
    """Makes a job from the description that a cell is, and runs it: in the simulator or on Spark."""

    @property
    def in_parallel(self) -> bool:
        """Whether cells run beside each other."""
        ...

    def code(self) -> list[bytes]:
        """Return digests of the code that a run depends on."""
        ...

    def run(self, cell: Cell, progress: Callable[[float], None]) -> RunReport: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Report by readings from `from_s` on, with latencies of the spans in `left_out` left out."""

    from_s: float = -math.inf
    left_out: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run: the plant starts with the configuration, and the policy decides from there on.

    Times of the workload and of the faults are the same; the run begins with the workload and lasts for `duration_s`, or to its end. A simulated run is
    reported exactly unless `observed` asks for a report by readings, as it is made of a real run.
    """

    workload: Arrivals
    plant: Plant
    configuration: Configuration
    policy: Chosen
    seed: int = 0
    faults: tuple[Fault, ...] = ()
    duration_s: float | None = None
    observed: Observed | None = None

    @property
    def load(self) -> Arrivals:
        """The workload for as long as the run lasts."""
        start_s = self.workload.time_s[0]
        return self.workload if self.duration_s is None else self.workload.between(start_s, start_s + self.duration_s)

    @property
    def key(self) -> str:
        """A digest of all that the report depends on: the cell, Penstock's code and, on Spark, the job's."""
        parts = [encode(self).encode(), *self.plant.code()]
        return sha256(b"\n".join(sha256(part).digest() for part in parts)).hexdigest()[:32]

    @property
    def in_parallel(self) -> bool:
        return self.plant.in_parallel

    def run(self, progress: Callable[[float], None] = lambda share: None) -> RunReport:
        """Run the cell, in the simulator or on Spark; `progress` is called with the share that is done."""
        return self.plant.run(self, progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedJob:
    """A job in the simulator, and the terms it runs under, of which a cell sets the policy and the first executors."""

    engine: Simulable
    terms: Terms
    in_parallel: ClassVar[bool] = True

    def code(self) -> list[bytes]:
        return [fingerprint(package) for package in SIMULATED_CODE]

    def run(self, cell: Cell, progress: Callable[[float], None]) -> RunReport:
        limits = replace(self.terms.limits, start_executors=cell.configuration.executors)
        terms = replace(self.terms, limits=limits, autopilot=cell.policy.on(self.terms.autopilot))
        ran = simulate(Setup(load=cell.load, engine=configured(self.engine, cell.configuration), terms=terms, faults=cell.faults, seed=cell.seed))
        if cell.observed is None:
            return ran.report
        seen = [reading for reading in ran.readings if reading.at_s >= cell.observed.from_s]
        return run_report(seen, terms.promises, ran.events, window_s=terms.config.reading_window_s, left_out=cell.observed.left_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkJob:
    """A job of which a copy runs on an embedded cluster of its own; copies would compete for cores."""

    spec: JobSpec
    secrets: tuple[str, ...] = ()
    in_parallel: ClassVar[bool] = False

    def code(self) -> list[bytes]:
        return [fingerprint(""), *sources_of(self.spec)]

    def run(self, cell: Cell, progress: Callable[[float], None]) -> RunReport:
        return reported(cell, record_on_spark(cell, self, lambda now_s, share: progress(share)))


@cache
def fingerprint(package: str) -> bytes:
    return (digest(files(f"penstock.{package}" if package else "penstock")) or "").encode()


def sources_of(spec: JobSpec) -> list[bytes]:
    """Return the files of the job's own code."""
    references = [query.function for query in spec.queries] + [source.options.get("rows", "") for source in spec.sources]
    paths = {Path(spec.folder) / reference.rpartition(":")[0] for reference in references if reference.rpartition(":")[0].endswith(".py")}
    return [path.read_bytes() for path in sorted(paths) if path.is_file()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a run on Spark left, its start included; the workload began at `start_s` and was over at `end_s`."""

    readings: tuple[Reading, ...]
    events: tuple[Event, ...]
    terms: Terms
    start_s: float
    end_s: float


def record_on_spark(cell: Cell, plant: SparkJob, watch: Callable[[float, float], None], history: Path | None = None) -> Recording:
    """Run a copy of the job under the policy, which decides once the workload begins; faults strike executors at their times.

    `watch` is called all the time with the time and the share of the run that is done. The history of the copy is kept at `history`, if given.
    """
    from penstock.spark.executor_faults import NO_RESTART
    from penstock.wiring.copies import SparkTestbed

    autopilot, load, clock = cell.policy.on(plant.spec.autopilot), cell.load, SteadyClock()
    if any(fault.kind == "restart" for fault in cell.faults):
        raise UserMistake(NO_RESTART)
    with TemporaryDirectory(prefix="penstock-load-") as folder:
        for lead_s in LEADS_S:
            spec = following(plant.spec, load, Path(folder) / "load.csv", cell.seed, lead_s)
            with closing(SparkTestbed(spec, clock, secrets=frozenset(plant.secrets), autopilot=autopilot)) as testbed:
                copy = testbed.launch(cell.configuration)
                start_s = copy.began_s() + lead_s
                if clock.now_s() > start_s:
                    continue
                copy.pause(start_s - clock.now_s())
                drive(copy, cell, start_s, lead_s, clock, watch)
                readings, events = copy.recorded()
                if history is not None:
                    take_snapshot(copy.history, history)
                return Recording(readings=readings, events=events, terms=Terms.of(copy.spec), start_s=start_s, end_s=start_s + load.lasts_s)
    raise RuntimeError(f"a copy of {plant.spec.name} took longer than {LEADS_S[-1]:g} s to start")


def drive(copy: Copy, cell: Cell, start_s: float, lead_s: float, clock: Clock, watch: Callable[[float, float], None]) -> None:
    """Inject the faults of a cell at their times, and return when its workload is over."""
    first_s, end_s = cell.load.time_s[0], start_s + cell.load.lasts_s
    strikes = [(start_s + fault.at_s - first_s, fault) for fault in sorted(cell.faults, key=lambda fault: fault.at_s)]
    for until_s, fault in (*strikes, (end_s, None)):
        while (now_s := clock.now_s()) < until_s:
            watch(now_s, max(0.0, now_s - start_s + lead_s) / (end_s - start_s + lead_s))
            clock.wait(min(WATCH_S, until_s - now_s))
        if fault is not None:
            copy.faults.inject(fault)


def reported(cell: Cell, run: Recording) -> RunReport:
    """Report a run on Spark from the beginning of its workload; what is observed is given in the workload's times."""
    observed, later_s = cell.observed or Observed(), run.start_s - cell.load.time_s[0]
    from_s = max(run.start_s, observed.from_s + later_s)
    left_out = [(since_s + later_s, until_s + later_s) for since_s, until_s in observed.left_out]
    seen = [reading for reading in run.readings if from_s <= reading.at_s <= run.end_s]
    happened = [event for event in run.events if from_s <= event.at_s <= run.end_s]
    return run_report(seen, run.terms.promises, happened, window_s=run.terms.config.reading_window_s, left_out=left_out)


def following(spec: JobSpec, load: Arrivals, csv: Path, seed: int, lead_s: float) -> JobSpec:
    """Return the job with its trace sources and feeds on this load, in equal parts, after the lead."""
    parts = sum(source.format == "trace" for source in spec.sources) + len(spec.kafka.feeds)
    if not parts:
        raise UserMistake(f"{spec.name} has no trace source or feed that could follow a workload")
    moved = load.moved(lead_s - load.time_s[0])
    points = [(0.0, moved.rate_rows_per_s[0]), *zip(moved.time_s, moved.rate_rows_per_s, strict=True)]
    csv.write_text("t,rate\n" + "".join(f"{at_s!r},{rate / parts!r}\n" for at_s, rate in points))

    def on_load(of: Traced) -> Traced:
        kept = {name: value for name, value in of.options.items() if name not in ("rate", "compression", "factor", "at_end")}
        return replace(of, options={**kept, "csv": str(csv), "seed": str(seed)})

    sources = tuple(on_load(source) if source.format == "trace" else source for source in spec.sources)
    return replace(spec, sources=sources, kafka=replace(spec.kafka, feeds=tuple(map(on_load, spec.kafka.feeds))))
