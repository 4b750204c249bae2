"""`penstock forecast`: how well the load of a trace can be foretold, tried at many moments of it."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from penstock.cli.bench import bar
from penstock.cli.report import JsonOption, PlotOption, Report, finite, present
from penstock.core.errors import UserMistake
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import FEWEST, LoadForecast
from penstock.core.models.forecast.evaluate import Evaluation, Origin, baselines_at, evaluation_of, forecast_at, origins_of
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen, Series, longest_gap_s
from penstock.core.models.score import wape
from penstock.tables.trace import read_rates

DRAWN = 8


def forecast(
    trace: Annotated[Path, typer.Argument(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")],
    history: Annotated[float, typer.Option(help="Seconds of history that a forecast is made from.", min=10)] = 3600.0,
    horizon: Annotated[float, typer.Option(help="Seconds to forecast.", min=1)] = 900.0,
    step: Annotated[float, typer.Option(help="Seconds of one step.", min=0.1)] = 10.0,
    origins: Annotated[int, typer.Option(help="At how many moments of the trace.", min=1)] = 40,
    baselines: Annotated[bool, typer.Option(help="Also what AutoARIMA, AutoETS and the naive forecast say alone.")] = True,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Forecast a trace from many of its moments, and compare with what came."""
    finite(history=history, horizon=horizon, step=step)
    if horizon < step or history < FEWEST * step:
        raise UserMistake(f"--step: found {step:g}, at most the horizon ({horizon:g}) and a {FEWEST}th of the history ({history:g}) is allowed")
    time_s, rate = read_rates(trace)
    seen = [LoadSeen(at_s=t, rate_rows_per_s=r) for t, r in zip(time_s.tolist(), rate.tolist(), strict=True)]
    moments = list(origins_of(seen, history_s=history, horizon_s=horizon, step_s=step, origins=origins))
    if not moments:
        raise UserMistake(
            f"{trace}: {time_s[-1] - unbroken_since(time_s):g} s without a long gap at its end, {history + horizon:g} s of history and horizon are needed"
        )
    results, seconds = tried(moments, LoadForecast(history_s=history, horizon_s=horizon, series=Series(step_s=step)))
    if not results:
        raise UserMistake(f"{trace}: nothing can be forecast from so few readings; take a longer --history or a shorter --step")
    alone = compared([origin for _, origin in results]) if baselines else {}
    evaluation = evaluation_of(results)

    def draw(path: Path) -> None:
        from penstock.dashboard.fits import draw_forecasts

        every = max(1, len(results) // DRAWN)
        draw_forecasts(path, trace.name, time_s, rate, [made for made, _ in results[::every]])

    present(
        Report(
            title=f"forecasts of {horizon:g} s from {len(results)} moments",
            found=as_object(evaluation, seconds, alone),
            rows=as_rows(evaluation, seconds, alone),
            draw=draw,
        ),
        as_json,
        plot,
    )


def unbroken_since(time_s: npt.NDArray[np.float64]) -> float:
    """The beginning of what follows the last long gap."""
    breaks = np.flatnonzero(np.diff(time_s) > longest_gap_s(time_s))
    return float(time_s[int(breaks[-1]) + 1] if len(breaks) else time_s[0])


def tried(moments: list[Origin], model: LoadForecast) -> tuple[list[tuple[Forecast, Origin]], float]:
    """All forecasts, one after the other as a running job would make them; and the seconds each took on average, refits included."""
    import statsforecast.models  # noqa: F401  # seconds, once: not the time of a forecast

    results: list[tuple[Forecast, Origin]] = []
    spent_s = 0.0
    with bar("forecasts") as progress:
        for number, origin in enumerate(moments):
            began_s = time.perf_counter()
            model, made = forecast_at(model, origin)
            spent_s += time.perf_counter() - began_s
            if not isinstance(made, NotReady):
                results.append((made, origin))
            progress(number + 1, len(moments))
    return results, spent_s / len(moments)


def compared(moments: list[Origin]) -> dict[str, float]:
    """The error of each simple forecaster alone, over the same moments."""
    said: dict[str, list[float]] = defaultdict(list)
    truth: list[float] = []
    with bar("baselines") as progress:
        for number, origin in enumerate(moments):
            truth += origin.truth
            for name, path in baselines_at(origin).items():
                said[name] += path
            progress(number + 1, len(moments))
    return {name: wape(path, truth) for name, path in said.items()} if sum(truth) > 0 else {}


def as_object(evaluation: Evaluation, seconds: float, alone: dict[str, float]) -> dict[str, Any]:
    return {
        "wape": evaluation.wape,
        "coverage_80": evaluation.coverage_80,
        "seconds_per_forecast": seconds,
        "models": evaluation.models,
        "origins": evaluation.origins,
        "baselines": alone,
        "better_than_best_baseline": gain(evaluation, alone),
    }


def gain(evaluation: Evaluation, alone: dict[str, float]) -> float | None:
    """By how much the error is smaller than that of the best simple forecaster; None without one."""
    best = min(alone.values(), default=0.0)
    return 1 - evaluation.wape / best if best > 0 and evaluation.wape is not None else None


def as_rows(evaluation: Evaluation, seconds: float, alone: dict[str, float]) -> list[tuple[str, str]]:
    used = ", ".join(f"{name} {share:.0%}" for name, share in sorted(evaluation.models.items(), key=lambda each: -each[1]))
    return [
        ("error (WAPE)", "unknown: the load is zero throughout" if evaluation.wape is None else f"{evaluation.wape:.2%}"),
        *((f"  {name} alone", f"{error:.2%}") for name, error in alone.items()),
        ("truth within the 80 % bounds", f"{evaluation.coverage_80:.0%}"),
        ("seconds a forecast", f"{seconds:.2f}, refits included"),
        ("models used", used),
    ]
