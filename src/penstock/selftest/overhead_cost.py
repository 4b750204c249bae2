"""Compute the cost of observation in throughput, with its bound, from interleaved turns; and store measured starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean, median

import numpy as np
from scipy import stats

from penstock.stores.codec import DecodeError, decode, encode
from penstock.stores.recorder import digest

MOST = 0.03
"""The target of the upper bound."""
TRIMMED = 0.125
"""The share of pairs trimmed on each side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Some batches of one query: their duration, the duration that their work would take on an idle machine, and the driver's CPU seconds."""

    wall_s: float
    work_s: float
    driver_cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Measurements with one set of executors: turns of the plain query without the loop (if it came first), then pairs of turns; and the extra
    memory of the driver, if known.

    JIT-compiled code stays the same while its JVM lives, and two equal queries differ by some percent. The pairs of a start are therefore not
    independent: the mean of a start is one measurement.
    """

    alone: tuple[Turn, ...]
    plain: tuple[Turn, ...]
    under: tuple[Turn, ...]
    driver_extra_mb: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A share of throughput, and its one-sided 90 % bound by Student's distribution over the starts."""

    share: float
    upper_90: float

    def words(self) -> str:
        return f"{self.share:.2%}, at most {self.upper_90:.2%} (90 %)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """The cost of observation to a saturated query: by the clock, and by the work of a turn (CPU and garbage collection of its tasks over the cores,
    and the driver's time around its jobs), which other processes disturb less. Both include the loop in the driver."""

    starts: int
    pairs: int
    rows_per_turn: int
    plain_s: float
    penstock_s: float
    by_clock: Cost
    by_work: Cost
    driver_extra_cpu_cores: float
    driver_extra_mb: float
    start_costs: tuple[tuple[float, float], ...]

    @property
    def missed(self) -> tuple[str, ...]:
        costs = {"cost in throughput, by the clock": self.by_clock, "cost in throughput, by its work": self.by_work}
        return tuple(what for what, cost in costs.items() if cost.upper_90 >= MOST)

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("pairs of turns", f"{self.pairs} of {self.rows_per_turn:,} rows, after {self.starts} starts of the executors"),
            ("plain", f"{self.plain_s:.2f} s a turn"),
            ("under Penstock", f"{self.penstock_s:.2f} s a turn"),
            ("cost in throughput, by the clock", f"{self.by_clock.words()}; target below {MOST:.0%}"),
            ("cost in throughput, by its work", f"{self.by_work.words()}; target below {MOST:.0%}"),
            ("of each start, by the clock", " ".join(f"{wall:+.1%}" for wall, _ in self.start_costs)),
            ("of each start, by its work", " ".join(f"{work:+.1%}" for _, work in self.start_costs)),
            ("driver, extra CPU", f"{self.driver_extra_cpu_cores:.3f} cores"),
            ("driver, extra memory", f"{self.driver_extra_mb:.1f} MB"),
        ]


def overhead_of(starts: Sequence[Start], *, rows_per_turn: int, cores: int) -> Overhead:
    """Compute the cost over pairs of turns.

    >>> quiet, watched = Turn(wall_s=1.0, work_s=0.9, driver_cpu_s=0.1), Turn(wall_s=1.0, work_s=0.9, driver_cpu_s=0.12)
    >>> slower = Turn(wall_s=1.02, work_s=0.918, driver_cpu_s=0.12)
    >>> start = Start(alone=(quiet,) * 3, plain=(watched,) * 10, under=(slower,) * 10, driver_extra_mb=4.0)
    >>> found = overhead_of([start, start], rows_per_turn=1, cores=2)
    >>> round(found.driver_extra_cpu_cores, 4), round(found.by_clock.share, 4), round(found.by_work.upper_90, 4)
    (0.02, 0.0294, 0.0294)
    """
    loops = [busy_cores(start.plain) - busy_cores(start.alone) for start in starts if start.alone]
    loop_cores = max(0.0, fmean(loops))
    costs = tuple((usual_cost(start, "wall_s"), usual_cost(start, "work_s")) for start in starts)
    return Overhead(
        starts=len(starts),
        pairs=sum(len(start.plain) for start in starts),
        rows_per_turn=rows_per_turn,
        plain_s=fmean(each.wall_s for start in starts for each in start.plain),
        penstock_s=fmean(each.wall_s for start in starts for each in start.under),
        by_clock=cost_of([wall for wall, _ in costs], loop_cores / cores),
        by_work=cost_of([work for _, work in costs], loop_cores / cores),
        driver_extra_cpu_cores=loop_cores,
        driver_extra_mb=fmean(start.driver_extra_mb for start in starts if start.driver_extra_mb is not None),
        start_costs=tuple((round(wall, 4), round(work, 4)) for wall, work in costs),
    )


def busy_cores(turns: Sequence[Turn]) -> float:
    return median(each.driver_cpu_s / each.wall_s for each in turns)


def usual_cost(start: Start, what: str) -> float:
    """Return the trimmed mean over pairs of the logarithm of the ratio of both durations."""
    plain, under = ([getattr(each, what) for each in turns] for turns in (start.plain, start.under))
    return float(stats.trim_mean(np.log(np.asarray(under) / np.asarray(plain)), TRIMMED))


def cost_of(costs: Sequence[float], loop_share: float) -> Cost:
    """Return the mean over starts, plus the share of the machine that the loop takes during both turns of a pair."""
    mean = fmean(costs)
    bound = mean + float(stats.t.ppf(0.9, len(costs) - 1)) * float(np.std(costs, ddof=1)) / len(costs) ** 0.5

    def share(cost: float) -> float:
        return float(1 - np.exp(-cost) * (1 - loop_share))

    return Cost(share=share(mean), upper_90=share(bound))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A stored start, with the digest of the code that measured it and its number of pairs; only starts with the same values are reused."""

    sources: str | None
    pairs: int
    start: Start


class Kept:
    """The file of starts measured by the same code with the same number of pairs, one JSON line each; None keeps nothing."""

    def __init__(self, file: Path | None, pairs: int) -> None:
        self._file, self._pairs = file, pairs
        self._sources = digest(files("penstock"))

    def starts(self) -> Sequence[Start]:
        if self._file is None or not self._file.exists():
            return ()
        lines = [line_of(text) for text in self._file.read_text().splitlines()]
        return [line.start for line in lines if line is not None and (line.sources, line.pairs) == (self._sources, self._pairs)]

    def add(self, start: Start) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(encode(Line(sources=self._sources, pairs=self._pairs, start=start)) + "\n")


def line_of(text: str) -> Line | None:
    """Decode a line; None if it is incomplete or has another format."""
    try:
        return decode(Line, text)
    except DecodeError:
        return None
