"""All targets of the models, on generated measurements and on the traces of a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from penstock.selftest.models.capacity import capacity
from penstock.selftest.models.forecasts import forecast
from penstock.selftest.models.measured import Measured, ModelsResult
from penstock.selftest.models.recovery import formula
from penstock.selftest.models.regressions import regressions
from penstock.selftest.worlds.loads import LOADS, load
from penstock.tables.measurements import read_rates


def measure_models(traces: Path | None, origins: int, progress: Callable[[int, int], None]) -> ModelsResult:
    """Everything but the forecasts takes seconds; each forecast trace takes up to a minute."""
    paths = sorted(traces.glob("*.csv")) if traces else []
    loads = [(path.stem, *read_rates(path)) for path in paths] + [(name, *load(name, seed=7)) for name in LOADS]
    steps = 3 + len(loads)
    given = loads[: len(paths)]
    measured = [*capacity(traces.parent if traces else None), *formula(given)]
    progress(1, steps)
    measured += regressions()
    progress(2, steps)
    gains: list[float] = []
    for number, (name, time_s, rate) in enumerate(loads):
        found, gain = forecast(name, time_s, rate, origins)
        measured += found
        gains += [] if gain is None else [gain]
        progress(3 + number, steps)
    if gains:
        said = f"median {np.median(gains):.3g}, from {min(gains):.3g} to {max(gains):.3g}"
        measured.append(Measured(what="forecast: better than the best alone, mean over traces", found=float(np.mean(gains)), least=0.1, beside=said))
    progress(steps, steps)
    return ModelsResult(measured=tuple(measured))
