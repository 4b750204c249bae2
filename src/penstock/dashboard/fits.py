"""Pictures of fitted models: what was measured as points, what the model says as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from penstock.core.models.capacity.scaleout import ScaleoutCapacity, ScaleoutMeasured
from penstock.core.models.estimate import Estimate
from penstock.core.models.latency.phoebe import ExpectedLatency, ProfileSeen, ScaleoutLatency
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.dashboard.chart import chart
from penstock.dashboard.palette import BLUE, GREEN, MUTED, ORANGE, PURPLE, VERMILION

LINE_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE, MUTED)
STEPS = 40
MOST_COLOURS = 12


def draw_capacity(
    path: Path, name: str, points: Sequence[tuple[float, float]], used_up_to: float, at: float, found: Estimate, line: Callable[[float], float]
) -> None:
    """Throughput of all workers over the utilisation of the busiest, and the capacity with its bounds."""

    def draw(axes: Axes) -> None:
        used = np.array([point for point in points if point[0] <= used_up_to])
        left_out = np.array([point for point in points if point[0] > used_up_to])
        axes.scatter(used[:, 0], used[:, 1], s=14, color=BLUE, alpha=0.6, linewidths=0, label="readings used")
        if len(left_out):
            axes.scatter(left_out[:, 0], left_out[:, 1], s=14, color=MUTED, alpha=0.4, linewidths=0, label="readings left out")
        along = np.linspace(min(used[:, 0].min(), at), max(used[:, 0].max(), at), STEPS)
        axes.plot(along, [line(float(u)) for u in along], color=ORANGE, label="model")
        axes.errorbar(
            [at], [found.value], yerr=[[found.value - found.low], [found.high - found.value]], color=VERMILION, fmt="o", capsize=4,
            label=f"capacity at {at:.0%}: {found.value:,.0f} rows/s",
        )  # fmt: skip
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")

    chart(path, f"Capacity, {name}", "utilisation of the busiest worker", "rows/s, all workers", draw)


def draw_scaleout(path: Path, name: str, measured: Sequence[ScaleoutMeasured], model: ScaleoutCapacity, wanted: Sequence[int]) -> None:
    """Capacity over scale-outs with the bounds of each prediction."""

    def draw(axes: Axes) -> None:
        most = max([each.scaleout for each in measured] + list(wanted))
        scaleouts = sorted({*(round(float(s)) for s in np.linspace(1, most, STEPS)), *wanted})
        answers = [(s, answer) for s in scaleouts if isinstance(answer := model.predict(s), Estimate)]
        x = [s for s, _ in answers]
        axes.fill_between(x, [a.low for _, a in answers], [a.high for _, a in answers], color=ORANGE, alpha=0.15, linewidth=0, label="4 of 5 cases")
        axes.plot(x, [a.value for _, a in answers], color=ORANGE, label=f"{model.form}")
        axes.scatter([m.scaleout for m in measured], [m.throughput_rows_per_s for m in measured], s=22, color=BLUE, zorder=3, label="measured")
        asked = [(s, a.value) for s, a in answers if s in wanted]
        if asked:
            axes.scatter([s for s, _ in asked], [rate for _, rate in asked], s=40, color=VERMILION, marker="D", zorder=4, label="predicted")

    chart(path, f"Capacity over scale-outs, {name}", "scale-out", "rows/s", draw)


def draw_regression(path: Path, name: str, columns: Mapping[str, npt.NDArray[Any]], what: str, predicted: Callable[[float, float, int | None], float]) -> None:
    """Measured values over the rate, a colour for each interval, and what the model says there."""

    def draw(axes: Axes) -> None:
        rates, intervals, values = columns["rate"], columns["interval_s"], columns[what]
        several = "scaleout" in columns and len(np.unique(columns["scaleout"])) > 1
        along = np.linspace(rates.min(), rates.max(), STEPS)
        several_intervals = np.unique(np.round(intervals, 6))
        few = several_intervals[:: max(1, len(several_intervals) // MOST_COLOURS)]
        for number, interval in enumerate(few):
            colour, here = LINE_COLOURS[number % len(LINE_COLOURS)], np.isclose(intervals, interval)
            axes.scatter(rates[here], values[here], s=20, color=colour, linewidths=0, label=f"{interval:g} s")
            if not several:
                scaleout = int(columns["scaleout"][0]) if "scaleout" in columns else None
                axes.plot(along, [predicted(float(interval), float(rate), scaleout) for rate in along], color=colour, linewidth=1.2)
        axes.set_ylim(0, 1.15 * values.max())
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))

    chart(path, f"{what.partition('_')[0].capitalize()} by checkpoint interval, {name}", "rows/s", "ms" if what == "latency_ms" else "s", draw)


def draw_profile(path: Path, name: str, seen: Sequence[ProfileSeen], model: ScaleoutLatency) -> None:
    """Latency over the rate, a colour for each scale-out; what did not keep up is a cross."""

    def draw(axes: Axes) -> None:
        scaleouts = sorted({each.scaleout for each in seen})
        for number, scaleout in enumerate(scaleouts):
            colour = colormaps["viridis"](0.9 * number / max(1, len(scaleouts) - 1))
            rows = sorted((each for each in seen if each.scaleout == scaleout), key=lambda each: each.rate_rows_per_s)
            rows = rows[:: max(1, len(rows) // STEPS)]
            answers = [(each, model.predict(scaleout, each.rate_rows_per_s)) for each in rows]
            kept_up = [(each, answer) for each, answer in answers if isinstance(answer, ExpectedLatency) and answer.valid]
            lost = [each for each, answer in answers if isinstance(answer, ExpectedLatency) and not answer.valid]
            axes.scatter([r.rate_rows_per_s for r, _ in kept_up], [1000 * r.latency_s for r, _ in kept_up], s=18, color=colour, label=f"{scaleout}")
            axes.scatter([r.rate_rows_per_s for r in lost], [1000 * r.latency_s for r in lost], s=22, color=colour, marker="x", linewidths=1)
            axes.plot([r.rate_rows_per_s for r, _ in kept_up], [1000 * a.latency.value for _, a in kept_up], color=colour, linewidth=1.2)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))

    chart(path, f"Latency by scale-out, {name} (crosses: did not keep up)", "rows/s", "ms", draw)


def draw_recovery(path: Path, name: str, arrivals: Arrivals, at_s: float, capacity_rows_per_s: float, downtime_s: float, took_s: float) -> None:
    """The rate around the failure, when the job was down and when it caught up."""

    def draw(axes: Axes) -> None:
        end_s = at_s + (took_s if np.isfinite(took_s) else max(4 * downtime_s, 600.0))
        along = np.linspace(at_s - 0.3 * (end_s - at_s), end_s + 0.3 * (end_s - at_s), 600)
        axes.plot(along, [arrivals.rate(float(t)) for t in along], color=ORANGE, label="arriving")
        axes.axhline(capacity_rows_per_s, color=MUTED, linewidth=1.1, linestyle=(0, (5, 3)), label="capacity")
        axes.axvspan(at_s, at_s + downtime_s, color=VERMILION, alpha=0.15, linewidth=0, label="down")
        if np.isfinite(took_s):
            axes.axvspan(at_s + downtime_s, at_s + took_s, color=BLUE, alpha=0.12, linewidth=0, label=f"catching up; recovered after {took_s:,.0f} s")
        axes.set_ylim(0, None)

    chart(path, f"A failure at {at_s:g} s, {name}", "s", "rows/s", draw)


def draw_forecasts(path: Path, name: str, time_s: npt.NDArray[np.float64], rate: npt.NDArray[np.float64], paths: Sequence[Any]) -> None:
    """The trace and some of its forecasts with the bounds of four cases in five."""

    def draw(axes: Axes) -> None:
        axes.plot(time_s, rate, color=MUTED, linewidth=0.8, label="measured")
        for number, each in enumerate(paths):
            along = each.start_s + each.step_s * (np.arange(len(each.mean)) + 0.5)
            axes.fill_between(along, each.at(0.1), each.at(0.9), color=ORANGE, alpha=0.2, linewidth=0, label=None if number else "4 of 5 cases")
            axes.plot(along, each.mean, color=ORANGE, linewidth=1.4, label=None if number else "forecast")
        axes.set_ylim(0, None)

    chart(path, f"Forecasts, {name}", "s", "rows/s", draw)
