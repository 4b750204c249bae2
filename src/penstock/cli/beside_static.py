"""Compare a policy with a static deployment of the maximum. The static one is not run: its cost is computed, its latency simulated."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.events.autopilot import Decided
from penstock.core.domain.events.event import Event
from penstock.core.domain.job import JobSpec, Limits
from penstock.core.domain.reading import Reading
from penstock.core.domain.units import duration_words
from penstock.core.errors import UserMistake
from penstock.core.knowledge.terms import Terms
from penstock.dashboard.summary import RunSummary, summarise
from penstock.hindsight.whatif import Like
from penstock.simulator.calibrate import calibrated
from penstock.simulator.rerun import rerun
from penstock.wiring.setup import Setup
from penstock.wiring.simulation import simulate

NOT_KNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideStatic:
    """Both deployments over the same time, from when the job had caught up after its start. `static` and `p95_off` are None if nothing could be simulated."""

    policy: str
    executors: int
    measured: RunSummary
    static: RunSummary | None
    p95_off: float | None

    def table(self) -> Table:
        table = Table(
            box=None, title_justify="left", title=f"beside a static deployment of the maximum, over the same {self.measured.report.duration_s:,.0f} s"
        )
        for name in ("", f"{self.policy}, measured", f"static {self.executors}, not run"):
            table.add_column(name)
        for row in self.rows():
            table.add_row(*row)
        return table

    def rows(self) -> list[tuple[str, str, str]]:
        measured = self.measured
        promised = "nothing promised" if measured.promised_p95_s is None else f"within {duration_words(measured.promised_p95_s)}"
        return [
            ("executor-seconds", f"{measured.report.executor_s:,.0f}{self._share()}", f"{measured.executor_s_at_maximum:,.0f} (computed)"),
            ("latency p50, p95", latency_words(measured), latency_words(self.static)),
            (promised, within_words(measured), within_words(self.static)),
            ("promises broken", broken_words(measured), broken_words(self.static)),
            ("rescales", str(measured.report.rescales), "0"),
        ]

    def _share(self) -> str:
        most = self.measured.executor_s_at_maximum
        return f" ({self.measured.report.executor_s / most:.0%})" if most else ""

    def note(self) -> str:
        """Say which of the numbers were measured."""
        if self.static is None:
            return "The static deployment was not run: its executor-seconds are the maximum times the same time; its latency is not known."
        off = "" if self.p95_off is None else f", which is off by {self.p95_off:+.0%} (p95) on the measured run itself"
        return (
            "The policy was measured. The static deployment was not run: its executor-seconds are the maximum times the same time, "
            f"its latency is simulated with what this run showed{off}."
        )


def beside_static(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec) -> BesideStatic:
    """Compare a recorded run with a static deployment of the job's maximum number of executors."""
    most = spec.limits.max_executors
    like = likeness(readings, events, spec)
    from_s = like.found.start_s + spec.config.reading_window_s if like else readings[0].at_s
    seen, heard = [each for each in readings if each.at_s >= from_s], [each for each in events if each.at_s >= from_s]
    decided = [event.policy for event in events if isinstance(event, Decided)]
    return BesideStatic(
        policy=decided[-1] if decided else "as declared",
        executors=most,
        measured=summarise(seen, heard, spec.promises, most, spec.config.reading_window_s),
        static=static_run(like, spec) if like else None,
        p95_off=like.error.latency_p95 if like else None,
    )


def likeness(readings: Sequence[Reading], events: Sequence[Event], spec: JobSpec) -> Like | None:
    """Calibrate a simulator by the run; None if the run does not hold enough."""
    try:
        found = calibrated(readings, events, spec.config, autopilot=spec.autopilot)
        lived = rerun(found, readings, spec.config)
    except UserMistake:
        return None
    return Like(name=spec.name, found=found, error=lived.error, again=lived.readings, started=None)


def static_run(like: Like, spec: JobSpec) -> RunSummary:
    """Simulate the same arrivals with the maximum number of executors, and summarise from one window after the start."""
    most = spec.limits.max_executors
    autopilot = Autopilot(mode="active", policy="static", rollback=False)
    terms = Terms(limits=Limits(max_executors=most), promises=spec.promises, config=spec.config, autopilot=autopilot)
    run = simulate(Setup(load=like.load, engine=like.engine, terms=terms))
    seen = [each for each in run.readings if each.at_s >= spec.config.reading_window_s]
    return summarise(seen, run.events, spec.promises, most, spec.config.reading_window_s)


def latency_words(run: RunSummary | None) -> str:
    if run is None or run.report.latency is None:
        return NOT_KNOWN
    return f"{run.report.latency.p50_s:.3g} s, {run.report.latency.p95_s:.3g} s"


def within_words(run: RunSummary | None) -> str:
    return NOT_KNOWN if run is None or run.report.within_promise is None else f"{run.report.within_promise:.0%} of rows"


def broken_words(run: RunSummary | None) -> str:
    return NOT_KNOWN if run is None or run.decided is None else str(run.decided.broken)
