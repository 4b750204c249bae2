"""Pictures of fitted models: measurements as points, predictions as lines."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from penstock.core.domain.profile import ProfileSeen
from penstock.core.models.capacity.capacity_by_executors import CapacityByExecutors, CapacityMeasured
from penstock.core.models.estimate import HIGH_LEVEL, LOW_LEVEL, Estimate, NotReady
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.latency.latency_by_executors import ExpectedLatency, LatencyByExecutors
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.outage import Outage
from penstock.core.models.surrogate.crossvalidation import interval_groups
from penstock.core.models.surrogate.study import Studied
from penstock.dashboard.look import BLUE, INK, LINE, MUTED, ORANGE, VERMILION, chart

MOST_INTERVALS, MOST_EXECUTOR_COUNTS = 7, 8
STEPS = 40
MOST_POINTS = 2000
"""More points than this cover each other."""
ALONG = 600
LEAST_SHOWN_S = 60.0
"""The shortest time axis of a recovery."""


def draw_capacity(path: Path, name: str, points: Sequence[tuple[float, float, bool]], at: float, predicted: Callable[[float], Estimate | NotReady]) -> None:
    """Draw the throughput of all executors over the utilisation of the busiest, and the capacity with its bounds."""

    def draw(axes: Axes) -> None:
        shown = np.array(points[:: -(-len(points) // MOST_POINTS)])
        used = shown[:, 2] > 0
        for label, which, colour in (("readings used", used, BLUE), ("readings left out", ~used, MUTED)):
            if which.any():
                axes.scatter(shown[which, 0], shown[which, 1], s=14, color=colour, alpha=0.5, linewidths=0, label=label)
        most = max(float(shown[:, 0].max()), at)
        answers = [(u, each) for u in np.linspace(0, most, STEPS) if isinstance(each := predicted(float(u)), Estimate)]
        draw_estimates(axes, answers, "model")
        found = predicted(at)
        if isinstance(found, Estimate):
            yerr = [[found.value - found.low], [found.high - found.value]]
            label = f"capacity at {at:.0%}: {found.value:,.0f} rows/s"
            axes.errorbar([at], [found.value], yerr=yerr, color=VERMILION, fmt="o", capsize=4, zorder=4, label=label)
        axes.set_xlim(0, 1.04 * most)
        axes.set_ylim(0, None)
        axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))

    chart(path, f"Capacity, {name}", "utilisation of the busiest executor", "rows/s, all executors", draw)


def draw_capacity_by_executors(path: Path, name: str, measured: Sequence[CapacityMeasured], model: CapacityByExecutors, wanted: Sequence[int]) -> None:
    """Draw the capacity over executors with the bounds of each prediction."""

    def draw(axes: Axes) -> None:
        shown = measured[:: -(-len(measured) // MOST_POINTS)]
        most = max([each.executors for each in measured] + list(wanted))
        executor_counts = sorted({*(round(float(s)) for s in np.linspace(1, most, STEPS)), *wanted})
        answers = [(s, answer) for s in executor_counts if isinstance(answer := model.predict(s), Estimate)]
        draw_estimates(axes, answers, f"{model.form}, plateau from {model.plateau.first}" if model.plateau else f"{model.form}")
        axes.scatter([m.executors for m in shown], [m.throughput_rows_per_s for m in shown], s=22, color=BLUE, linewidths=0, zorder=3, label="measured")
        asked = [(s, a.value) for s, a in answers if s in wanted]
        if asked:
            across, up = [s for s, _ in asked], [rate for _, rate in asked]
            axes.scatter(across, up, s=70, facecolors="none", edgecolors=VERMILION, linewidths=1.6, marker="D", zorder=4, label="predicted")
        axes.set_xlim(0, 1.04 * most)
        highest = [min(answer.high, 2 * answer.value) for s, answer in answers if s in wanted]
        axes.set_ylim(0, 1.1 * max(highest + [m.throughput_rows_per_s for m in shown]))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    chart(path, f"Capacity over executors, {name}", "number of executors", "rows/s", draw)


def draw_estimates(axes: Axes, answers: Sequence[tuple[float, Estimate]], label: str) -> None:
    """Draw predictions with their 80 % bounds, as far as these are finite."""
    along = [x for x, _ in answers]
    high = [each.high if np.isfinite(each.high) else np.nan for _, each in answers]
    axes.fill_between(along, [each.low for _, each in answers], high, color=ORANGE, alpha=0.15, linewidth=0, label="4 of 5 cases")
    axes.plot(along, [each.value for _, each in answers], color=ORANGE, label=label)


def draw_regression(path: Path, name: str, columns: Mapping[str, npt.NDArray[Any]], what: str, model: Studied, scale: float) -> None:
    """Draw measured values and predictions over the rate, a shade for each interval; with several numbers of executors, by executor and for the median one."""
    counts = columns.get("scaleout")
    several = counts is not None and len(np.unique(counts)) > 1
    executors = None if counts is None else int(np.sort(counts)[len(counts) // 2])
    times = executors if several and executors is not None else 1

    def draw(axes: Axes) -> None:
        rates, values, groups = columns["rate"] / (counts if several else 1), columns[what], interval_groups(columns["interval_s"])
        along = np.linspace(rates.min(), rates.max(), STEPS)
        shown = np.unique(np.linspace(0, groups.max(), MOST_INTERVALS).astype(int))
        for group, colour in zip(shown, shades(len(shown)), strict=True):
            here = groups == group
            interval = float(np.median(columns["interval_s"][here]))
            answers = [model.predict(interval, times * float(rate), executors) for rate in along]
            line = [scale * each.value if isinstance(each, Estimate) and np.isfinite(each.value) else np.nan for each in answers]
            axes.scatter(rates[here], values[here], s=20, color=colour, linewidths=0, label=f"{interval:.3g} s")
            axes.plot(along, line, color=colour, linewidth=1.2)
        axes.set_ylim(0, 1.3 * values.max())
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))

    across = f"rows/s by executor (lines: {executors} executors)" if several else "rows/s"
    measured, unit = what.split("_")
    chart(path, f"{measured.capitalize()} by checkpoint interval, {name}", across, f"{measured} ({unit})", draw)


def draw_profile(path: Path, name: str, seen: Sequence[ProfileSeen], model: LatencyByExecutors) -> None:
    """Draw the latency over the rate, a shade for each number of executors; crosses did not keep up, and lines end where the model predicts that."""

    def draw(axes: Axes) -> None:
        executor_counts = sorted({each.executors for each in seen})
        shown = [executor_counts[int(place)] for place in np.unique(np.linspace(0, len(executor_counts) - 1, MOST_EXECUTOR_COUNTS).astype(int))]
        for executors, colour in zip(shown, shades(len(shown)), strict=True):
            rows = [each for each in seen if each.executors == executors]
            answers = {each: model.predict(executors, each.rate_rows_per_s) for each in rows[:: -(-len(rows) // STEPS)]}
            kept_up = {each: isinstance(answer, ExpectedLatency) and (answer.valid if each.valid is None else each.valid) for each, answer in answers.items()}
            for kept, marker in ((True, "o"), (False, "x")):
                points = [each for each in answers if kept_up[each] is kept]
                across, up = [each.rate_rows_per_s for each in points], [1000 * each.latency_s for each in points]
                axes.scatter(across, up, s=20, color=colour, marker=marker, linewidths=0 if kept else 1.2)
            rates = np.linspace(min(each.rate_rows_per_s for each in rows), max(each.rate_rows_per_s for each in rows), STEPS)
            expected = [model.predict(executors, float(rate)) for rate in rates]
            line = [1000 * each.latency.value if isinstance(each, ExpectedLatency) and each.valid else np.nan for each in expected]
            axes.plot(rates, line, color=colour, linewidth=1.4, label=f"{executors}")
        axes.set_yscale("log")
        axes.tick_params(which="minor", length=0)
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))

    chart(path, f"Latency by executors, {name} (crosses: did not keep up)", "rows/s", "latency (ms)", draw)


def shades(count: int) -> list[tuple[float, ...]]:
    return [colormaps["viridis"](0.9 * number / max(1, count - 1)) for number in range(count)]


def draw_recovery(path: Path, name: str, arrivals: Arrivals, outage: Outage, capacity_rows_per_s: float, took_s: float) -> None:
    def draw(axes: Axes) -> None:
        at_s, end_s = outage.at_s, outage.at_s + took_s
        shown_s = max(took_s if np.isfinite(took_s) else 4 * outage.downtime_s, LEAST_SHOWN_S)
        along = np.linspace(at_s - 0.3 * shown_s, at_s + 1.3 * shown_s, ALONG)
        arriving = np.array([arrivals.rate(float(t)) for t in along])
        kept_up = np.minimum(arriving, capacity_rows_per_s)
        processed = np.select([along < at_s, along < outage.back_s, along < end_s], [kept_up, 0.0, capacity_rows_per_s], kept_up)
        axes.axvspan(at_s, outage.back_s, color=VERMILION, alpha=0.15, linewidth=0, label=f"down for {outage.downtime_s:,.0f} s")
        caught_up = f"recovered after {took_s:,.0f} s" if np.isfinite(took_s) else "never recovers"
        axes.axvspan(outage.back_s, min(end_s, along[-1]), color=BLUE, alpha=0.12, linewidth=0, label=caught_up)
        axes.axhline(capacity_rows_per_s, color=MUTED, linewidth=1.1, linestyle=(0, (5, 3)), label="capacity")
        axes.plot(along, processed, color=BLUE, linewidth=1.4, label="processed")
        axes.plot(along, arriving, color=ORANGE, label="arriving")
        if arrivals.last_s < along[-1]:
            axes.axvline(arrivals.last_s, color=INK, linewidth=1.0, linestyle=":", label="end of the trace")
        axes.set_xlim(along[0], along[-1])
        axes.set_ylim(0, 1.5 * max(capacity_rows_per_s, float(arriving.max()), 1.0))

    chart(path, f"A failure at {outage.at_s:g} s, {name}", "s", "rows/s", draw)


def draw_forecasts(path: Path, name: str, time_s: npt.NDArray[np.float64], rate: npt.NDArray[np.float64], forecasts: Sequence[Forecast]) -> None:
    """Draw a trace and some of its forecasts with their 80 % bounds."""
    firsts = np.arange(0, len(time_s), -(-len(time_s) // MOST_POINTS))
    counts = np.diff(np.append(firsts, len(time_s)))

    def draw(axes: Axes) -> None:
        axes.plot(np.add.reduceat(time_s, firsts) / counts, np.add.reduceat(rate, firsts) / counts, color=MUTED, linewidth=0.9, label="measured")
        for number, each in enumerate(forecasts):
            along = each.start_s + each.step_s * (np.arange(len(each.mean)) + 0.5)
            axes.fill_between(along, each.at(LOW_LEVEL), each.at(HIGH_LEVEL), color=ORANGE, alpha=0.25, linewidth=0, label=None if number else "4 of 5 cases")
            axes.plot(along, each.mean, color=VERMILION, linewidth=1.4, label=None if number else "forecast")
            axes.axvline(each.start_s, color=LINE, linewidth=0.8, zorder=0)
        axes.set_ylim(0, None)
        axes.margins(x=0.01)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")

    chart(path, f"Forecasts of {forecasts[0].end_s - forecasts[0].start_s:g} s, {name}", "s", "rows/s", draw)
