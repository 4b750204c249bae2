"""Compare the simulator with real embedded Spark: the same trace under the same policy."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from statistics import median

from penstock.core.domain.autopilot import Chosen
from penstock.core.domain.configuration import Configuration
from penstock.core.domain.reading import Reading
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.core.report.run_report import RunReport, run_report
from penstock.experiments.cell import LEADS_S, Cell, Observed, SimulatedJob
from penstock.experiments.runner import run_cells
from penstock.selftest.recorded_run import MOST_STOLEN, Made, Progress, Recorded, Span, quiet_run, within
from penstock.simulator.calibrate import calibrated
from penstock.simulator.calibrated import Calibrated
from penstock.stores.reader import read_history

HIGHEST, LOWER = 1500.0, 1200.0
"""Peak of the waves in rows/s: above the capacity of two executors, and, to calibrate the simulator, just below it."""
SEEDS = 3
"""The simulator's numbers are medians over this many seeds."""
EXECUTORS_OFF, RESCALES_OFF, LATENCY_OFF = 0.15, 2.0, 0.30
"""The allowed errors of the simulator: relative, and a number of rescales."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two runs, measured by its readings."""

    average_executors: float
    rescales: float
    latency_p50_s: float
    latency_p95_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One number of both runs; `off` is the simulator's error, relative or, for rescales, a difference."""

    what: str
    spark: float
    simulator: float
    off: float
    allowed: float
    met: bool

    def words(self) -> str:
        """
        >>> Compared(what="average executors", spark=2.0, simulator=2.2, off=0.1, allowed=0.15, met=True).words()
        'Spark 2, simulator 2.2: +10.0 %, within 15 %: pass'
        >>> Compared(what="rescales", spark=6.0, simulator=3.0, off=-3.0, allowed=2.0, met=False).words()
        'Spark 6, simulator 3: -3, within 2: MISS'
        """
        relative = self.allowed < 1
        off, allowed = (f"{100 * self.off:+.1f} %", f"{100 * self.allowed:.0f} %") if relative else (f"{self.off:+g}", f"{self.allowed:g}")
        return f"Spark {self.spark:.3g}, simulator {self.simulator:.3g}: {off}, within {allowed}: {'pass' if self.met else 'MISS'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Honesty:
    policy: str
    compared_s: float
    stolen_s: float
    """The part of it with CPU steal; its latency is left out on both sides."""
    calibrated_from: str
    spark: Side
    simulator: Side
    compared: tuple[Compared, ...]
    unsifted: Compared
    """The latency with nothing left out; it has no target."""
    notes: tuple[str, ...]
    repeated: int = 0
    """Runs that were repeated because of CPU steal."""
    kept: str | None = None
    """The folder with the histories of the runs on Spark."""

    @property
    def missed(self) -> tuple[str, ...]:
        return tuple(each.what for each in self.compared if not each.met)

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("compared", f"{self.compared_s:,.0f} s of the policy {self.policy}, from when the real job had caught up after its start"),
            ("calibrated from", self.calibrated_from),
            ("CPU steal", f"for {self.stolen_s:,.0f} s, whose latency is left out on both sides" if self.stolen_s else "never for long"),
            *((("repeated", f"{self.repeated} runs with CPU steal for more than {MOST_STOLEN:.0%} of the time"),) if self.repeated else ()),
            *((each.what, each.words()) for each in self.compared),
            *(((f"{self.unsifted.what}, nothing left out", self.unsifted.words()),) if self.stolen_s else ()),
            ("latency p50", f"Spark {self.spark.latency_p50_s:.3g} s, simulator {self.simulator.latency_p50_s:.3g} s"),
            *(("note", note) for note in self.notes),
            *((("histories", self.kept),) if self.kept else ()),
        ]


def measure_honesty(minutes: float, calibrate_from: Path | None, keep: Path, progress: Progress) -> Honesty:
    """Run a job twice on Spark, first on a lower wave to calibrate the simulator, unless a history is given for that.

    Both runs are of the same length, as it takes minutes until the JVM is warm. Their histories stay in the folder `keep`.
    """
    seconds = 60.0 * minutes
    each_s = LEADS_S[0] + seconds
    first_s = 0.0 if calibrate_from else each_s

    made = Made(progress=progress, all_s=first_s + each_s)
    if calibrate_from is None:
        source = quiet_run(seconds, LOWER, keep / "calibration.db", made)
        words = f"another run, {seconds:,.0f} s after its start on a wave up to {LOWER:,.0f} rows/s"
        known = calibrated(source.readings, source.events, source.terms.config, autopilot=source.terms.autopilot)
        real = quiet_run(seconds, HIGHEST, keep / "run.db", made)
    else:
        words = f"the history {calibrate_from}"
        readings, events = read_history(calibrate_from)
        if len({query.name for reading in readings for query in reading.queries}) > 1:
            raise UserMistake(f"--calibrate-from: {calibrate_from} is of a job of several queries, and the one that is run here has one")
        real = quiet_run(seconds, HIGHEST, keep / "run.db", made)
        known = calibrated(readings, events, real.terms.config, autopilot=real.terms.autopilot)
    return replace(honesty(real, known, words), kept=str(keep), repeated=made.repeated)


def honesty(real: Recorded, known: Calibrated, words: str) -> Honesty:
    """Simulate the arrivals of the real job under its terms with the calibrated settings, and compare.

    The comparison begins when the real job had caught up after its start and the policy began to decide.
    """
    ran = calibrated(real.readings, real.events, real.terms.config, autopilot=real.terms.autopilot)
    terms, from_s = real.terms, max(ran.start_s, real.start_s)
    cell = Cell(
        workload=ran.arrivals,
        plant=SimulatedJob(engine=known.engine(), terms=terms),
        configuration=Configuration(executors=terms.limits.first),
        policy=Chosen(name=terms.autopilot.policy, parameters=terms.autopilot.parameters),
    )
    left_out = {"quiet": tuple(real.stolen), "all": ()}
    cells = {
        f"{what}, seed {seed}": replace(cell, seed=seed, observed=Observed(from_s=from_s, left_out=spans))
        for what, spans in left_out.items()
        for seed in range(SEEDS)
    }
    reports = run_cells(cells, RunReport).complete()

    def sides(what: str) -> tuple[Side, Side]:
        simulated = [as_side(report) for name, report in reports.items() if name.startswith(what)]
        return side_of(real.readings, from_s, terms, left_out[what]), middle(simulated)

    spark, simulated = sides("quiet")
    return Honesty(
        policy=terms.autopilot.policy,
        compared_s=real.readings[-1].at_s - from_s,
        stolen_s=real.stolen_s(from_s),
        calibrated_from=words,
        spark=spark,
        simulator=simulated,
        compared=compare(spark, simulated),
        unsifted=compare(*sides("all"))[-1],
        notes=known.notes,
    )


def side_of(readings: Sequence[Reading], from_s: float, terms: Terms, stolen: Sequence[Span] = ()) -> Side:
    """Return a run from `from_s` on. Where time was stolen, latency is left out."""
    seen = [reading for reading in readings if reading.at_s >= from_s]
    late = [reading for reading in seen if reading.latency is not None and not within(reading.at_s, stolen)]
    if len(seen) < 2 or len(late) < len(seen) / 2:
        raise RuntimeError("the run was too short, or half of it had CPU steal: there is nothing to compare")
    return as_side(run_report(seen, terms.promises, window_s=terms.config.reading_window_s, left_out=stolen))


def as_side(report: RunReport) -> Side:
    if report.latency is None or not report.processed_rows:
        raise RuntimeError("the run processed nothing: there is nothing to compare")
    return Side(
        average_executors=report.average_executors, rescales=float(report.rescales), latency_p50_s=report.latency.p50_s, latency_p95_s=report.latency.p95_s
    )


def middle(sides: Sequence[Side]) -> Side:
    return Side(**{each.name: median(getattr(side, each.name) for side in sides) for each in fields(Side)})


def compare(spark: Side, simulator: Side) -> tuple[Compared, ...]:
    """Compare the three numbers with targets.

    >>> one, other = (Side(average_executors=2.0, rescales=r, latency_p50_s=1.0, latency_p95_s=s) for r, s in ((4.0, 3.0), (6.0, 4.5)))
    >>> [(each.what, each.met) for each in compare(one, other)]
    [('average executors', True), ('rescales', True), ('latency p95, s', False)]
    """

    def compared(what: str, real: float, simulated: float, off: float, allowed: float) -> Compared:
        return Compared(what=what, spark=real, simulator=simulated, off=off, allowed=allowed, met=abs(off) <= allowed)

    executors_off, late = simulator.average_executors / spark.average_executors - 1, simulator.latency_p95_s / spark.latency_p95_s - 1
    return (
        compared("average executors", spark.average_executors, simulator.average_executors, executors_off, EXECUTORS_OFF),
        compared("rescales", spark.rescales, simulator.rescales, simulator.rescales - spark.rescales, RESCALES_OFF),
        compared("latency p95, s", spark.latency_p95_s, simulator.latency_p95_s, late, LATENCY_OFF),
    )
