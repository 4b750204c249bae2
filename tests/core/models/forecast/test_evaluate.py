"""The score of the forecast on a trace."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np

from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.forecast.evaluate import Origin, baselines_at, evaluation_of, forecast_at, origins_of
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import LoadSeen


def swing(length_s: int) -> list[LoadSeen]:
    chance = random.Random(5)
    return [LoadSeen(at_s=float(at_s), rate_rows_per_s=1000.0 + 700.0 * math.sin(at_s / 800.0) + chance.gauss(0.0, 20.0)) for at_s in range(0, length_s, 5)]


def origins(trace: list[LoadSeen], count: int = 6) -> list[Origin]:
    return list(origins_of(trace, history_s=1200.0, horizon_s=300.0, step_s=10.0, origins=count))


def test_every_origin_has_its_history_before_and_its_truth_after_it() -> None:
    trace = swing(4000)
    found = origins(trace)
    assert len(found) == 6 and found[0].at_s == 1200.0 and found[-1].at_s == 3700.0
    assert all(len(each.history) == 120 and len(each.truth) == 30 for each in found)
    assert all(each.new[-1].at_s < each.at_s for each in found)
    told = [each for origin in found for each in origin.new]
    assert told == [each for each in trace if each.at_s < found[-1].at_s]


def test_a_trace_too_short_or_broken_has_no_origins() -> None:
    assert origins([]) == [] and origins(swing(1400)) == []
    broken = swing(2000) + [replace(each, at_s=each.at_s + 10_000.0) for each in swing(1000)]
    assert origins(broken) == []


def test_on_a_swing_with_noise_it_beats_what_each_model_says_alone() -> None:
    model, results, alone = LoadForecast(history_s=1200.0, horizon_s=300.0), [], {"autoarima": 0.0, "autoets": 0.0, "naive": 0.0}
    for origin in origins(swing(6000), 8):
        model, forecast = forecast_at(model, origin)
        assert isinstance(forecast, Forecast)
        results.append((forecast, origin))
        for name, path in baselines_at(origin).items():
            alone[name] += float(np.abs(np.array(path) - np.array(origin.truth)).sum())
    found = evaluation_of(results)
    load = sum(sum(origin.truth) for _, origin in results)
    assert found.wape is not None and found.wape < 0.9 * min(alone.values()) / load
    assert found.coverage_80 > 0.6 and abs(sum(found.models.values()) - 1.0) < 1e-6
