"""The run of the demonstration beside a static deployment of the maximum, both reported in the same way over the same time."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot_events import Decided
from penstock.core.domain.events.event import Event
from penstock.core.domain.job_spec import JobSpec, Limits
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.dashboard.summary import RunSummary, summarise
from penstock.hindsight.whatif import Like
from penstock.selftest.demonstration import FIRST_S
from penstock.simulator.calibrate import calibrated
from penstock.simulator.rerun import rerun
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import simulate

NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A run over its whole time, and without its first minute."""

    whole: RunSummary
    later: RunSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideStatic:
    """Both deployments over the same time, and the measured one with its start. `static` and `p95_off` are None if nothing could be simulated."""

    policy: str
    executors: int
    started: RunSummary
    measured: Deployment
    static: Deployment | None
    p95_off: float | None

    def table(self) -> Table:
        table = Table(
            box=None, title_justify="left", title=f"beside a static deployment of the maximum, over the same {self.measured.whole.report.duration_s:,.0f} s"
        )
        for name in ("", f"{self.policy}, measured", f"static {self.executors}, simulated"):
            table.add_column(name)
        for row in self.rows():
            table.add_row(*row)
        return table

    def rows(self) -> list[tuple[str, str, str]]:
        promised_s = self.measured.whole.promised_p95_s
        promised = "nothing promised" if promised_s is None else f"within {duration_words(promised_s)}"
        one, other = self.measured, self.static
        whole, later = (None, None) if other is None else (other.whole, other.later)
        return [
            ("executor-seconds", executor_words(one.whole), executor_words(whole)),
            ("with the warm-up", executor_words(self.started), f"{self.started.executor_s_at_maximum:,.0f} (100% of the maximum)"),
            ("latency p50, p95", latency_words(one.whole), latency_words(whole)),
            (promised, within_words(one.whole), within_words(whole)),
            (f"{promised}, after {duration_words(FIRST_S)}", within_words(one.later), within_words(later)),
            ("promises broken", broken_words(one.whole), broken_words(whole)),
            ("rescales", str(one.whole.report.rescales), NOT_KNOWN if whole is None else str(whole.report.rescales)),
        ]

    def note(self) -> str:
        """Say which of the numbers were measured."""
        if self.static is None:
            return "The static deployment was not run, and the run does not show enough to simulate it."
        off = "" if self.p95_off is None else f", which is off by {self.p95_off:+.0%} (p95) on the measured run itself"
        return (
            "The policy was measured. The static deployment was simulated with the arrivals and batches of this run"
            f"{off}. `penstock demo --static` runs and measures it."
        )


def beside_static(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec, from_s: float | None = None) -> BesideStatic:
    """Compare a recorded run, from a time on, with a static deployment of the job's maximum number of executors.

    Both begin no earlier than the job had caught up after its start.
    """
    like = likeness(readings, events, spec)
    start_s = readings[0].at_s if from_s is None else from_s
    if like is not None:
        start_s = max(start_s, like.found.start_s + spec.config.reading_window_s)
    decided = [event.policy for event in events if isinstance(event, Decided)]
    return BesideStatic(
        policy=decided[-1] if decided else "as declared",
        executors=spec.limits.max_executors,
        started=since(readings, events, spec, readings[0].at_s),
        measured=deployment(readings, events, spec, start_s),
        static=static_run(like, spec, start_s) if like else None,
        p95_off=like.error.latency_p95 if like else None,
    )


def deployment(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec, from_s: float) -> Deployment:
    return Deployment(whole=since(readings, events, spec, from_s), later=since(readings, events, spec, from_s + FIRST_S))


def since(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec, at_s: float) -> RunSummary:
    seen, heard = [each for each in readings if each.at_s >= at_s], [each for each in events if each.at_s >= at_s]
    return summarise(seen, heard, spec.promises, spec.limits.max_executors, spec.config.reading_window_s)


def likeness(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec) -> Like | None:
    """Calibrate a simulator by the run; None if the run does not hold enough."""
    try:
        found = calibrated(readings, events, spec.config, autopilot=spec.autopilot)
        lived = rerun(found, readings, spec.config)
    except UserMistake:
        return None
    return Like(name=spec.name, found=found, error=lived.error, again=lived.readings, started=None)


def static_run(like: Like, spec: JobSpec, from_s: float) -> Deployment:
    """Simulate the same arrivals with the maximum number of executors."""
    autopilot = Autopilot(mode="active", policy="static", rollback=False)
    terms = Terms(limits=Limits(max_executors=spec.limits.max_executors), promises=spec.promises, config=spec.config, autopilot=autopilot)
    run = simulate(Setup(load=like.load, engine=like.engine, terms=terms))
    return deployment(run.readings, run.events, spec, from_s - like.found.start_s)


def executor_words(run: RunSummary | None) -> str:
    if run is None:
        return NOT_KNOWN
    executor_s, most = run.report.executor_s, run.executor_s_at_maximum
    return f"{executor_s:,.0f}" + (f" ({executor_s / most:.0%} of the maximum)" if most else "")


def latency_words(run: RunSummary | None) -> str:
    if run is None or run.report.latency is None:
        return NOT_KNOWN
    return f"{run.report.latency.p50_s:.3g} s, {run.report.latency.p95_s:.3g} s"


def within_words(run: RunSummary | None) -> str:
    return NOT_KNOWN if run is None or run.report.within_promise is None else f"{run.report.within_promise:.0%} of rows"


def broken_words(run: RunSummary | None) -> str:
    return NOT_KNOWN if run is None or run.decided is None else str(run.decided.broken)
