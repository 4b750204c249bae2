"""Run a job on real embedded Spark for a comparison, keep its history, and repeat runs with much CPU steal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.core.domain.autopilot import Chosen
from penstock.core.domain.configuration import Configuration
from penstock.core.errors import UserMistake
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.experiments.cell import LEADS_S, Cell, Recording, SparkJob, record_on_spark
from penstock.selftest.spark_runs import workload_folder

Span = tuple[float, float]
"""Start and end in seconds."""

TOO_MUCH = 0.1
"""The share of the cores' time above which steal matters; a healthy job has this much to spare."""
OVER_S = 5.0
"""The shortest span over which steal is measured."""
AFTER_S = 30.0
"""How long the backlog of a steal affects the latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuTime:
    """CPU ticks of all cores since boot."""

    at_s: float
    stolen: int
    all: int


def cpu_time(at_s: float, stat: Path = Path("/proc/stat")) -> CpuTime | None:
    """Read the CPU time of now; None if the machine does not report it."""
    try:
        ticks = [int(each) for each in stat.read_text().splitlines()[0].split()[1:9]]
    except (OSError, ValueError, IndexError):
        return None
    return CpuTime(at_s=at_s, stolen=ticks[7], all=sum(ticks)) if len(ticks) == 8 else None


def stolen_spans(times: Sequence[CpuTime]) -> tuple[Span, ...]:
    """Return the spans with too much steal, each extended by `AFTER_S`.

    >>> times = [CpuTime(at_s=float(second), stolen=20 * max(0, min(second, 40) - 20), all=200 * second) for second in range(0, 101, 5)]
    >>> stolen_spans(times)
    ()
    >>> stolen_spans([CpuTime(at_s=each.at_s, stolen=3 * each.stolen, all=each.all) for each in times])
    ((20.0, 70.0),)
    """
    spans: list[Span] = []
    before: CpuTime | None = None
    for now in times:
        if before is None:
            before = now
        elif now.at_s - before.at_s >= OVER_S:
            if now.stolen - before.stolen > TOO_MUCH * (now.all - before.all):
                joined = spans.pop()[0] if spans and before.at_s <= spans[-1][1] else before.at_s
                spans.append((joined, now.at_s + AFTER_S))
            before = now
    return tuple(spans)


def within(at_s: float, spans: Sequence[Span]) -> bool:
    return any(from_s <= at_s <= until_s for from_s, until_s in spans)


NAME = "selftest-honesty"
SLOWER = {
    'name = "penstock-demo"': f'name = "{NAME}"',
    'trigger = "2s"': 'trigger = "5s"',
    'latency_p95 = "8s"': 'latency_p95 = "15s"',
    "reading_window_s = 6": "reading_window_s = 10",
}
"""Changes to the job of the demonstration, in which a batch of 2 s that waits 4 s for a new executor dominates the p95."""
LOWEST = 200.0
"""Rows/s: less than half of the capacity of one executor."""
WAVE_SHARE = 0.85
"""The wave lasts this share of the time; then the load is at its lowest again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded(Recording):
    """A recording of a wave of load; `stolen` is when CPU steal makes the latency useless."""

    stolen: tuple[Span, ...] = ()

    def stolen_s(self, from_s: float) -> float:
        """Return the seconds of CPU steal since a time."""
        last_s = self.readings[-1].at_s
        return sum(max(0.0, min(until_s, last_s) - max(since_s, from_s)) for since_s, until_s in self.stolen)


def recorded_run(seconds: float, highest: float, history: Path, progress: Callable[[float], None]) -> Recorded:
    """Run the job of the demonstration with longer batches on a wave of load, and write its history to a file; `progress` is called with the share done."""
    history.parent.mkdir(parents=True, exist_ok=True)
    spent: list[CpuTime] = []

    def watch(now_s: float, share: float) -> None:
        progress(share)
        spent.extend([now] if (now := cpu_time(now_s)) else [])

    with workload_folder("lookup", NAME, slower) as loaded:
        spec = loaded.spec
        policy = Chosen(name=spec.autopilot.policy, parameters=spec.autopilot.parameters)
        plant = SparkJob(spec=spec)
        cell = Cell(workload=wave(seconds, highest), plant=plant, configuration=Configuration(executors=spec.limits.first), policy=policy)
        run = record_on_spark(cell, plant, watch, history)
    return Recorded(readings=run.readings, events=run.events, terms=run.terms, start_s=run.start_s, end_s=run.end_s, stolen=stolen_spans(spent))


def slower(toml: str) -> str:
    for usual, changed in SLOWER.items():
        if toml.count(usual) != 1:
            raise RuntimeError(f"the job of the demonstration has changed: {usual} is not in it once")
        toml = toml.replace(usual, changed)
    return toml


def wave(seconds: float, highest: float) -> Arrivals:
    """Return rows/s in each second of a run.

    >>> rates = wave(200.0, 1500.0).rate_rows_per_s
    >>> len(rates), rates[0], round(rates[85]), rates[-1]
    (201, 200.0, 1500, 200.0)
    """
    second, wave_s = np.arange(seconds + 1.0), WAVE_SHARE * seconds
    height = (1.0 - np.cos(2.0 * np.pi * second / wave_s)) / 2.0
    return Arrivals.through(second, np.where(second < wave_s, LOWEST + (highest - LOWEST) * height, LOWEST))


ATTEMPTS, MOST_STOLEN = 3, 0.25
"""The maximum number of runs, and the share of CPU steal above which a run is repeated."""

Progress = Callable[[int, int], None]


@dataclass(kw_only=True)
class Made:
    """The progress of the runs in seconds; a repeated run makes it longer."""

    progress: Progress
    all_s: float
    done_s: float = 0.0
    repeated: int = 0

    def ran(self, seconds: float, *, again: bool) -> None:
        self.done_s += seconds
        self.all_s += seconds if again else 0.0
        self.repeated += again


def quiet_run(seconds: float, highest: float, history: Path, made: Made) -> Recorded:
    """Run on Spark; repeat the run if there was much CPU steal, whatever its result."""
    each_s = LEADS_S[0] + seconds
    for left in reversed(range(ATTEMPTS)):
        run = recorded_run(seconds, highest, history, lambda share: made.progress(int(made.done_s + share * each_s), int(made.all_s)))
        stolen_s = run.stolen_s(run.start_s)
        loud = stolen_s > MOST_STOLEN * seconds
        made.ran(each_s, again=loud and left > 0)
        if not loud:
            return run
    raise UserMistake(
        f"CPU steal (/proc/stat) for {stolen_s:,.0f} of {seconds:,.0f} s in the last of {ATTEMPTS} runs: nothing can be compared; "
        f"try again on an idle machine. The history is {history}"
    )
