from unittest.mock import Mock

import numpy as np
import pytest

from penstock.core.models.arrays import Floats
from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.forecast.evaluate import Origin, Trial, baselines_at, forecast_at, origins_of
from penstock.core.models.forecast.forecast import Forecast
from penstock.core.models.forecast.series import Series


def swing(length_s: int) -> tuple[Floats, Floats]:
    time_s = np.arange(0.0, length_s, 5.0)
    return time_s, 1000.0 + 700.0 * np.sin(time_s / 800.0) + np.random.default_rng(5).normal(0.0, 20.0, len(time_s))


def origins(time_s: Floats, rate: Floats, count: int = 6) -> list[Origin]:
    return list(origins_of(time_s, rate, history_s=1200.0, horizon_s=300.0, step_s=10.0, origins=count))


def test_every_origin_has_its_history_before_and_its_truth_after_it() -> None:
    time_s, rate = swing(4000)
    found = origins(time_s, rate)
    assert len(found) == 6 and found[0].at_s == 1200.0 and found[-1].at_s == 3700.0
    averages = rate.reshape(-1, 2).mean(axis=1)
    for each in found:
        place = round(each.at_s / 10)
        assert each.history == pytest.approx(averages[place - 120 : place]) and each.truth == pytest.approx(averages[place : place + 30])
        assert each.new[-1].at_s < each.at_s and each.late == 0
    learnt = Series().with_seen([each for origin in found for each in origin.new], 4000.0)
    assert learnt.even() == pytest.approx(averages[:370]), "no sample is repeated or left out"


def test_rare_samples_are_late_and_no_history_knows_later_ones() -> None:
    time_s = np.arange(0.0, 4000.0, 60.0)
    for each in origins(time_s, time_s):
        assert each.late == round(each.at_s / 10) - 6 * int((each.at_s - 10) // 60) - 1
        assert max(each.history) < each.at_s <= each.came[0] + 60.0
        assert each.known.sum() == len(each.came) == 5 and len(each.truth) == 30, "steps between two samples are not known"


def test_a_trace_too_short_or_broken_has_no_origins() -> None:
    assert origins(np.zeros(0), np.zeros(0)) == [] and origins(*swing(1400)) == []
    (early_s, before), (late_s, after) = swing(2000), swing(1000)
    assert origins(np.concatenate([early_s, late_s + 10_000.0]), np.concatenate([before, after])) == []


def test_steps_without_samples_are_not_scored() -> None:
    made = Forecast(start_s=0.0, step_s=10.0, mean=(5.0, 90.0, 6.0), levels=(0.1, 0.9), paths=((4.0, 80.0, 6.5), (6.0, 95.0, 8.0)))
    found, between = (
        Trial(results=((made, Origin(at_s=0.0, new=(), history=(5.0,), truth=(5.0, middle, 7.0))),), seconds_per_forecast=0.0).evaluation()
        for middle in (None, 6.0)
    )
    assert (found.wape, found.coverage_80) == (pytest.approx(1 / 12), 1.0)
    assert between.coverage_80 == pytest.approx(2 / 3), "an interpolated truth would count"


@pytest.mark.long
def test_on_a_swing_with_noise_it_beats_each_model_alone() -> None:
    model, results, alone = LoadForecast(history_s=1200.0, horizon_s=300.0), [], {"autoarima": 0.0, "autoets": 0.0, "naive": 0.0}
    for origin in origins(*swing(6000), 8):
        model, forecast = forecast_at(model, origin)
        results.append((forecast, origin))
        for name, path in baselines_at(origin).items():
            alone[name] += float(np.abs(np.array(path) - origin.came).sum())
    found = Trial(results=tuple(results), seconds_per_forecast=0.0).evaluation()
    load = sum(origin.came.sum() for _, origin in results)
    assert found.wape is not None and found.wape < 0.9 * min(alone.values()) / load
    assert 0.6 < found.coverage_80 < 0.95 and abs(sum(found.models.values()) - 1.0) < 1e-6


def test_a_simple_forecaster_that_fails_is_the_last_value_but_lack_of_memory_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    origin, fails = origins(*swing(4000))[0], Mock(side_effect=ValueError)
    monkeypatch.setattr("statsforecast.models.AutoETS.forecast", fails)
    assert baselines_at(origin)["autoets"] == baselines_at(origin)["naive"]
    fails.side_effect = MemoryError
    with pytest.raises(MemoryError):
        baselines_at(origin)
