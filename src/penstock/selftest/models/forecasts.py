"""Forecasts of traces beside what simple forecasters say alone."""

from __future__ import annotations

from time import perf_counter

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, LoadForecast
from penstock.core.models.forecast.evaluate import compared, gain, origins_of, tried
from penstock.core.models.forecast.series import STEP_S
from penstock.selftest.models.measured import Measured


def forecast(name: str, time_s: Floats, rate: Floats, origins: int) -> tuple[list[Measured], float | None]:
    """The targets of one trace, and the gain on the best simple forecaster."""
    moments = list(origins_of(time_s, rate, history_s=HISTORY_S, horizon_s=HORIZON_S, step_s=STEP_S, origins=origins))
    if not moments or not rate.any():
        return [], None
    trial = tried(moments, LoadForecast(), _unseen, perf_counter)
    found, alone = trial.evaluation(), compared(trial, _unseen)
    if found.wape is None:
        return [], None
    best, better = min(alone, key=lambda each: alone[each]), gain(found.wape, alone)
    beside = f"the best alone is {best}, {alone[best]:.3g}" + ("" if better is None else f": better by {better:.0%}")
    return [
        Measured(what=f"forecast of {name}: WAPE", found=found.wape, constant=alone["naive"], paper=alone["autoarima"], beside=beside),
        Measured(what=f"forecast of {name}: within the 80 % bounds", found=found.coverage_80, least=0.7, most=0.9),
        Measured(what=f"forecast of {name}: seconds each", found=trial.seconds_per_forecast, most=0.5),
    ], better


def _unseen(done: int, total: int) -> None:
    """Progress that nobody looks at."""
