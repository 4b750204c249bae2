import time
from collections.abc import Callable

import pytest

from penstock.ports import Clock
from penstock.runtime.fakes import EPOCH_S, FakeClock
from penstock.runtime.steady_clock import SteadyClock
from penstock.simulator.plant import SimulatedClock

CLOCKS = [pytest.param(FakeClock, id="fake"), pytest.param(SteadyClock, id="steady"), pytest.param(lambda: SimulatedClock(EPOCH_S), id="simulated")]


@pytest.fixture(params=CLOCKS)
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Callable[[], Clock] = request.param
    return made()


def test_it_counts_seconds_since_1970_and_never_goes_back(clock: Clock) -> None:
    moments = [clock.now_s() for _ in range(100)]
    assert moments == sorted(moments) and 1_600_000_000 < moments[0] < 4_000_000_000


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_a_wait_lasts_at_least_as_long_as_asked(clock: Clock, seconds: float) -> None:
    before_s = clock.now_s()
    clock.wait(seconds)
    assert clock.now_s() - before_s >= seconds * 0.99


def test_the_steady_clock_agrees_with_the_systems_and_does_not_follow_when_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = SteadyClock()
    assert steady.now_s() == pytest.approx(time.time(), abs=1.0)
    before_s = steady.now_s()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= steady.now_s() - before_s < 5
