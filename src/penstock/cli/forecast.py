"""`penstock forecast`: how well the load of a trace can be predicted, from many points in it."""

from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer

from penstock.cli.report import JsonOption, PlotOption, Report, bar, finite, present
from penstock.core.errors import UserMistake
from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.combined import FEWEST, LoadForecast
from penstock.core.models.forecast.evaluate import Evaluation, Origin, Trial, compared, gain, origins_of, tried, unbroken_from
from penstock.core.models.forecast.series import Series
from penstock.tables.measurements import read_rates

DRAWN = 8


def forecast(
    trace: Annotated[Path, typer.Argument(help="CSV with the columns t (s), rate (rows/s).", metavar="TRACE.CSV")],
    history: Annotated[float, typer.Option(help="Seconds of history that each forecast uses.", min=10)] = 3600.0,
    horizon: Annotated[float, typer.Option(help="Seconds to forecast.", min=1)] = 900.0,
    step: Annotated[float, typer.Option(help="Seconds between two points of a forecast.", min=0.1)] = 10.0,
    origins: Annotated[int, typer.Option(help="The number of forecasts, spread over the trace.", min=1)] = 40,
    baselines: Annotated[bool, typer.Option(help="Also score AutoARIMA, AutoETS and the naive forecast.")] = True,
    as_json: JsonOption = False,
    plot: PlotOption = None,
) -> None:
    """Forecast a trace from many points, and score the forecasts."""
    finite(history=history, horizon=horizon, step=step)
    if horizon < step or history < FEWEST * step:
        raise UserMistake(f"--step: found {step:g}, at most the horizon ({horizon:g}) and a {FEWEST}th of the history ({history:g}) is allowed")
    time_s, rate = read_rates(trace)
    moments = moments_of(trace, time_s, rate, history_s=history, horizon_s=horizon, step_s=step, origins=origins)
    with bar("forecasts") as progress:
        trial = tried(moments, LoadForecast(history_s=history, horizon_s=horizon, series=Series(step_s=step)), progress, perf_counter)
    if not trial.results:
        raise UserMistake(f"{trace}: nothing can be forecast from so few readings; take a longer --history or a shorter --step")
    alone: dict[str, float] = {}
    if baselines:
        with bar("baselines") as progress:
            alone = compared(trial, progress)
    evaluation = trial.evaluation()

    def draw(path: Path) -> None:
        from penstock.dashboard.fit_charts import draw_forecasts

        every = -(-len(trial.results) // DRAWN)
        draw_forecasts(path, trace.name, time_s, rate, [made for made, _ in trial.results[::every]])

    present(
        Report(
            title=f"forecasts of {horizon:g} s from {len(trial.results)} moments",
            found=as_object(trial, evaluation, alone),
            rows=as_rows(trial, evaluation, alone),
            draw=draw,
        ),
        as_json,
        plot,
    )


def moments_of(trace: Path, time_s: Floats, rate: Floats, *, history_s: float, horizon_s: float, step_s: float, origins: int) -> list[Origin]:
    """Return the points to forecast from, or raise a UserMistake that says why there are none."""
    apart_s = float(np.median(np.diff(time_s))) if len(time_s) > 1 else 0.0
    if apart_s > horizon_s:
        raise UserMistake(f"{trace}: its rows are {apart_s:g} s apart, at most the horizon ({horizon_s:g} s) is allowed")
    moments = list(origins_of(time_s, rate, history_s=history_s, horizon_s=horizon_s, step_s=step_s, origins=origins))
    if not moments:
        lasts_s = float(time_s[-1] - time_s[unbroken_from(time_s)])
        raise UserMistake(f"{trace}: {lasts_s:g} s without a long gap at its end, {history_s + horizon_s:g} s of history and horizon are needed")
    return moments


def as_object(trial: Trial, evaluation: Evaluation, alone: dict[str, float]) -> dict[str, Any]:
    return {
        "wape": evaluation.wape,
        "coverage_80": evaluation.coverage_80,
        "seconds_per_forecast": trial.seconds_per_forecast,
        "models": evaluation.models,
        "origins": evaluation.origins,
        "baselines": alone,
        "better_than_best_baseline": gain(evaluation.wape, alone),
    }


def as_rows(trial: Trial, evaluation: Evaluation, alone: dict[str, float]) -> list[tuple[str, str]]:
    used = ", ".join(f"{name} {share:.0%}" for name, share in sorted(evaluation.models.items(), key=lambda each: -each[1]))
    return [
        ("error (WAPE)", "unknown: the load is zero throughout" if evaluation.wape is None else f"{evaluation.wape:.2%}"),
        *((f"  {name} alone", f"{error:.2%}") for name, error in alone.items()),
        ("truth within the 80 % bounds", f"{evaluation.coverage_80:.0%}"),
        ("seconds a forecast", f"{trial.seconds_per_forecast:.2f}, refits included"),
        ("models used", used),
    ]
