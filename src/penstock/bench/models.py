"""How well the models do: on generated measurements with a known truth, and on measured traces where a folder of them is given."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.bench.worlds.khaos import LATENCIES, RECOVERIES, latencies, recoveries
from penstock.bench.worlds.loads import LOADS, Floats, load
from penstock.bench.worlds.workers import rising, skewed
from penstock.core.models.capacity.extrapolation import quiet
from penstock.core.models.capacity.job import JobCapacity
from penstock.core.models.estimate import Estimate, NotReady
from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.forecast.evaluate import baselines_at, evaluation_of, forecast_at, origins_of
from penstock.core.models.forecast.series import LoadSeen
from penstock.core.models.latency.regression import LatencyRegression
from penstock.core.models.recovery.arrivals import Arrivals
from penstock.core.models.recovery.formula import recovery_s
from penstock.core.models.recovery.regression import RecoveryRegression
from penstock.core.models.score import wape
from penstock.tables.trace import read_rates

SEEDS = range(100, 106)
HISTORY_S, HORIZON_S, STEP_S = 3600.0, 900.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One target: what was measured, and what is wanted."""

    what: str
    found: float
    target: str
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelsResult:
    """All targets of the models."""

    measured: tuple[Measured, ...]

    def rows(self) -> list[tuple[str, str]]:
        return [(each.what, f"{each.found:.3g}; target {each.target}{'; ' + each.beside if each.beside else ''}") for each in self.measured]


def measure_models(traces: Path | None, origins: int, progress: Callable[[int, int], None]) -> ModelsResult:
    """Everything but the forecasts takes seconds; each forecast trace takes up to a minute."""
    paths = sorted(traces.glob("*.csv")) if traces else []
    loads = [(path.stem, *read_rates(path)) for path in paths] + [(name, *load(name, seed=7)) for name in LOADS]
    steps = 3 + len(loads)
    measured = [*capacity(), *formula()]
    progress(1, steps)
    measured += regressions()
    progress(2, steps)
    gains = []
    for number, (name, time_s, rate) in enumerate(loads):
        if time_s[-1] - time_s[0] > HISTORY_S + HORIZON_S and rate.any():
            found, gain = forecast(name, time_s, rate, origins)
            measured += found
            gains.append(gain)
        progress(3 + number, steps)
    measured.append(Measured(what="forecast: better than the best alone, mean over traces", found=float(np.mean(gains)), target=">= 0.10"))
    progress(steps, steps)
    return ModelsResult(measured=tuple(measured))


def capacity() -> list[Measured]:
    """Capacity of twelve skewed workers, learnt from moments at which the busiest was at most so busy."""
    found = []
    for limit in (0.5, 0.6):
        errors = []
        for seed in SEEDS:
            chance = random.Random(seed)
            workers = skewed(chance, utilization_noise=0.02)
            model = JobCapacity().learn(quiet(workers.ramp(chance, rising(0.1, 1.0, 120)), limit))
            answer = model.predict()
            errors.append(abs(answer.value / workers.capacity - 1) if isinstance(answer, Estimate) else 1.0)
        found.append(
            Measured(what=f"capacity from utilisation up to {limit}: error", found=float(np.mean(errors)), target="<= 0.05", beside=f"worst {max(errors):.3g}")
        )
    return found


def formula() -> list[Measured]:
    """The recovery formula against a queue worked off second by second, its smoothness, and its exactness for a constant rate."""
    errors = []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        rate = 50_000 * (1 + 0.5 * np.sin(np.arange(7200) / rng.uniform(300, 900)) + rng.normal(0, 0.03, 7200)).clip(0)
        arrivals, limit = Arrivals.through(np.arange(7200.0), rate), 1.3 * float(rate.max())
        errors += [abs(recovery_s(arrivals, at, limit, 10.0, 110.0) / queue_s(rate, int(at), limit, 10, 110) - 1) for at in (1200.0, 2400.0, 3600.0)]
    curve = [recovery_s(Arrivals.constant(u), 0.0, 1.0, 10.0, 110.0) for u in np.arange(0.45, 0.951, 0.02)]
    below = [(b / a - 1) for a, b, u in zip(curve, curve[1:], np.arange(0.47, 0.951, 0.02), strict=False) if u <= 0.8]
    exact = [abs(recovery_s(Arrivals.constant(u), 0.0, 1.0, 10.0, 110.0) - (110 + 120 * u / (1 - u))) for u in np.arange(0.45, 0.951, 0.02)]
    return [
        Measured(what="recovery formula against a simulated queue: MAPE", found=float(np.mean(errors)), target="<= 0.12"),
        Measured(what="recovery formula: largest jump for 0.02 of utilisation below 0.8", found=max(below), target="<= 0.12"),
        Measured(what="recovery formula: seconds off for a constant rate", found=max(exact), target="< 1"),
    ]


def queue_s(rate: Floats, at: int, capacity: float, interval: int, downtime: int) -> float:
    """Seconds until a queue that was not served for the downtime, and whose last interval is repeated, is empty."""
    waiting = float(rate[at - interval : at].sum())
    for second in range(at, len(rate)):
        waiting += rate[second]
        if second >= at + downtime:
            waiting -= capacity
            if waiting <= 0:
                return float(second - at + 1 + waiting / capacity)
    return float("inf")


def regressions() -> list[Measured]:
    """Khaos's models on worlds of many kinds, an interval left out."""
    found = []
    for what, kinds, target in (("recovery", RECOVERIES, "<= 0.16"), ("latency", LATENCIES, "<= 0.15")):
        for kind in kinds:
            errors, planes = [], []
            for seed in list(SEEDS)[:3]:
                score = (RecoveryRegression().learn(recoveries(kind, seed)) if what == "recovery" else LatencyRegression().learn(latencies(kind, seed))).score()
                if not isinstance(score, NotReady):
                    errors.append(score.mape)
                    planes.append(score.paper_mape or 0.0)
            beside = f"the paper's plane {np.mean(planes):.3g}"
            found.append(Measured(what=f"{what} regression, {kind}, an interval left out: MAPE", found=float(np.mean(errors)), target=target, beside=beside))
    return found


def forecast(name: str, time_s: Floats, rate: Floats, origins: int) -> tuple[list[Measured], float]:
    """The forecast of one trace beside what each simple forecaster says alone."""
    seen = [LoadSeen(at_s=float(t), rate_rows_per_s=float(r)) for t, r in zip(time_s, rate, strict=True)]
    moments = list(origins_of(seen, history_s=HISTORY_S, horizon_s=HORIZON_S, step_s=STEP_S, origins=origins))
    import statsforecast.models  # noqa: F401  # seconds, once: not the time of a forecast

    model, results, spent_s = LoadForecast(), [], 0.0
    for origin in moments:
        began_s = time.perf_counter()
        model, made = forecast_at(model, origin)
        spent_s += time.perf_counter() - began_s
        if not isinstance(made, NotReady):
            results.append((made, origin))
    evaluation = evaluation_of(results)
    assert evaluation.wape is not None
    alone = [baselines_at(origin) for origin in moments]
    truth = [value for origin in moments for value in origin.truth]
    errors = {each: wape([value for said in alone for value in said[each]], truth) for each in alone[0]}
    best = min(errors, key=lambda each: errors[each])
    gain = 1 - evaluation.wape / errors[best] if errors[best] > 0 else 0.0
    return [
        Measured(what=f"forecast of {name}: WAPE", found=evaluation.wape, target="10 % below the best alone", beside=f"{best} alone {errors[best]:.3g}"),
        Measured(what=f"forecast of {name}: better than the best alone", found=gain, target=">= 0.10 on average"),
        Measured(what=f"forecast of {name}: within the 80 % bounds", found=evaluation.coverage_80, target="0.7 to 0.9"),
        Measured(what=f"forecast of {name}: seconds each", found=spent_s / len(moments), target="<= 0.5"),
    ], gain
