"""Measure the errors of all models, on generated measurements and on the traces of a folder."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from penstock.core.models.arrays import Floats
from penstock.core.models.estimate import NotReady
from penstock.core.models.forecast.combined import HISTORY_S, HORIZON_S, LoadForecast
from penstock.core.models.forecast.evaluate import compared, gain, origins_of, tried
from penstock.core.models.forecast.series import STEP_S
from penstock.core.models.latency.latency_regression import LatencyRegression
from penstock.core.models.recovery.recovery_regression import RecoveryRegression
from penstock.core.models.surrogate.study import Studied
from penstock.experiments.cell import fingerprint
from penstock.experiments.runner import Progress, run_cells
from penstock.selftest.capacity_accuracy import SATURATED, capacity
from penstock.selftest.model_targets import SEEDS, Found, Measured, ModelsResult
from penstock.selftest.recovery_accuracy import formula
from penstock.selftest.worlds.khaos import LATENCIES, NOISY, QUIET, RECOVERIES, latencies, recoveries
from penstock.selftest.worlds.loads import LOADS, load
from penstock.tables.measurements import read_rates


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measurement:
    """A cell of the benchmark: a function of this package with its arguments, of which files count by their content."""

    function: Callable[..., Found]
    arguments: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        content = [each.read_bytes() if isinstance(each, Path) else pickle.dumps(each) for each in self.arguments]
        code = [fingerprint(package) for package in ("core", "selftest", "tables")]
        return sha256(b"\n".join(sha256(part).digest() for part in (self.function.__qualname__.encode(), *content, *code))).hexdigest()[:32]

    @property
    def in_parallel(self) -> bool:
        return True

    def run(self, progress: Callable[[float], None]) -> Found:
        return self.function(*self.arguments)


def measure_models(traces: Path | None, origins: int, keep: Path | None, progress: Progress) -> ModelsResult:
    """Measure all models, and store each measurement in `keep`, if given; each trace to forecast takes up to a minute, everything else seconds."""
    paths = sorted(traces.glob("*.csv")) if traces else []
    given = [(path.stem, *read_rates(path)) for path in paths]
    loads = given + [(name, *load(name, seed=7)) for name in LOADS]
    at_maximum = [path] if traces and (path := traces.parent / SATURATED).is_file() else []
    cells = {
        "capacity": Measurement(function=capacity, arguments=tuple(at_maximum)),
        "recovery formulas": Measurement(function=formula, arguments=(given,)),
        "regressions": Measurement(function=regressions),
        **{f"forecast of {name}": Measurement(function=forecast, arguments=(name, time_s, rate, origins)) for name, time_s, rate in loads},
    }
    found = run_cells(cells, Found, keep, progress=progress).complete()
    measured = [each for name in cells for each in found[name].measured]
    gains = [each.gain for each in found.values() if each.gain is not None]
    if gains:
        said = f"median {np.median(gains):.3g}, from {min(gains):.3g} to {max(gains):.3g}"
        measured.append(Measured(what="forecast: better than the best alone, mean over traces", found=float(np.mean(gains)), least=0.1, beside=said))
    return ModelsResult(measured=tuple(measured))


def forecast(name: str, time_s: Floats, rate: Floats, origins: int) -> Found:
    """Measure the forecasts of one trace."""
    moments = list(origins_of(time_s, rate, history_s=HISTORY_S, horizon_s=HORIZON_S, step_s=STEP_S, origins=origins))
    if not moments or not rate.any():
        return Found(measured=())
    trial = tried(moments, LoadForecast(), _unseen, perf_counter)
    found, alone = trial.evaluation(), compared(trial, _unseen)
    if found.wape is None:
        return Found(measured=())
    best, better = min(alone, key=lambda each: alone[each]), gain(found.wape, alone)
    beside = f"the best alone is {best}, {alone[best]:.3g}" + ("" if better is None else f": better by {better:.0%}")
    measured = (
        Measured(what=f"forecast of {name}: WAPE", found=found.wape, constant=alone["naive"], paper=alone["autoarima"], beside=beside),
        Measured(what=f"forecast of {name}: within the 80 % bounds", found=found.coverage_80, least=0.7, most=0.9),
        Measured(what=f"forecast of {name}: seconds each", found=trial.seconds_per_forecast, most=0.5),
    )
    return Found(measured=measured, gain=better)


def _unseen(done: int, total: int) -> None:
    """Ignore progress."""


def regressions(seeds: Sequence[int] = SEEDS[:3]) -> Found:
    """Measure Khaos's regressions on generated data with an interval left out; the targets for less noise are those of the paper's second data set."""
    noisy = [_measured("recovery", kind, NOISY, 0.16, [RecoveryRegression().learn(recoveries(kind, seed)) for seed in seeds]) for kind in RECOVERIES]
    quiet = [
        _measured("recovery", kind, QUIET, 0.09, [RecoveryRegression().learn(recoveries(kind, seed, noise=QUIET)) for seed in seeds]) for kind in RECOVERIES
    ]
    latency = [_measured("latency", kind, NOISY, 0.15, [LatencyRegression().learn(latencies(kind, seed)) for seed in seeds]) for kind in LATENCIES]
    return Found(measured=(*noisy, *quiet, *latency))


def _measured(what: str, kind: str, noise: float, most: float, models: Sequence[Studied]) -> Measured:
    scores = [score for model in models if not isinstance(score := model.score(), NotReady)]
    ours, plane, constant = (float(np.mean([getattr(score, name) for score in scores])) for name in ("mape", "paper_mape", "constant_mape"))
    said = f"{what} regression, {kind.replace('_', ' ')}, noise {noise:.0%}, an interval left out: MAPE"
    return Measured(what=said, found=ours, most=most, constant=constant, paper=plane)
