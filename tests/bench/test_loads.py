import pytest

from penstock.bench.loads import CURVES, SIX_HOURS_S, load_of
from penstock.core.errors import UserMistake


@pytest.mark.parametrize("name", CURVES)
def test_a_load_lasts_six_hours_reaches_its_peak_once_and_never_falls_below_zero(name: str) -> None:
    load = load_of(name, 50_000.0, seed=3)
    assert load.lasts_s == SIX_HOURS_S and max(load.rate_rows_per_s) == pytest.approx(50_000.0) and min(load.rate_rows_per_s) >= 0.0


@pytest.mark.parametrize("name", CURVES)
def test_a_seed_gives_one_load_and_another_seed_another(name: str) -> None:
    assert load_of(name, 1000.0, seed=1) == load_of(name, 1000.0, seed=1) != load_of(name, 1000.0, seed=2)


def test_a_load_can_be_shorter_and_keeps_its_shape() -> None:
    short, whole = load_of("two_sines", 1000.0, lasts_s=7200.0), load_of("two_sines", 1000.0)
    assert short.lasts_s == 7200.0 and short.rate(3600.0) == pytest.approx(whole.rate(10_800.0), rel=0.01)


def test_an_unknown_load_is_one_line_with_those_there_are() -> None:
    with pytest.raises(UserMistake, match=r'load: found "sine", two_sines, noisy_sine, clicks, two_spikes, vehicles are known'):
        load_of("sine", 1000.0)
