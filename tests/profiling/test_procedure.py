from collections.abc import Iterable
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.domain.configuration import Configuration
from penstock.core.domain.profile import ProfileSeen
from penstock.core.domain.reading import Quantiles, Reading
from penstock.core.models.latency.knee import knees
from penstock.ports import Clock, Faults
from penstock.profiling.procedure import Profiled, ProfilePlan, profile
from penstock.runtime.fakes import FakeClock, blank_reading

EACH_ROWS_PER_S = 100.0
BASE_S = 0.2


class FakeCopy:
    """A line of rows before executors that work off 100 rows/s each; nothing strikes it."""

    def __init__(self, executors: int, clock: Clock, running: set[int], said: list[str], *, tells_lag: bool, tells_latency: bool, times: float) -> None:
        self._executors, self._clock, self._running, self._said, self._times = executors, clock, running, said, times
        self._tells_lag, self._tells_latency = tells_lag, tells_latency
        self._rate_rows_per_s, self._lag_rows, self._at_s = 0.0, 0.0, clock.now_s()

    def read(self) -> Reading:
        self._said.append(f"read {self._executors}")
        now_s, capacity = self._clock.now_s(), EACH_ROWS_PER_S * self._executors
        self._lag_rows = max(0.0, self._lag_rows + (self._rate_rows_per_s - capacity) * (now_s - self._at_s))
        self._at_s = now_s
        waits_s = BASE_S + 0.1 * self._rate_rows_per_s / capacity + self._lag_rows / capacity
        return blank_reading(
            now_s,
            arrival_rows_per_s=self._times * self._rate_rows_per_s if self._times else None,
            excess_lag_rows=self._lag_rows if self._tells_lag else None,
            latency=Quantiles(p50_s=waits_s, p95_s=2.0 * waits_s, p99_s=3.0 * waits_s) if self._tells_latency else None,
        )

    def set_rate(self, rows_per_s: float) -> None:
        self._said.append(f"rate {rows_per_s:g}")
        self._rate_rows_per_s = rows_per_s

    def stop(self) -> None:
        self._said.append(f"stop {self._executors}")
        self._running.remove(self._executors)

    @property
    def faults(self) -> Faults:
        raise NotImplementedError


class FakeTestbed:
    """Copies, and what was asked of them in its order; each counts a row `times`, or does not know what arrives where that is 0."""

    def __init__(self, clock: FakeClock, *, tells_lag: bool = True, tells_latency: bool = True, times: float = 0.0) -> None:
        self._clock, self._known = clock, {"tells_lag": tells_lag, "tells_latency": tells_latency, "times": times}
        self.said: list[str] = []
        self.running: set[int] = set()

    def launch(self, configuration: Configuration) -> FakeCopy:
        executors = configuration.executors
        self.said.append(f"launch {executors}")
        self.running.add(executors)
        return FakeCopy(executors, self._clock, self.running, self.said, **self._known)


def plan(executor_counts: Iterable[int] = (1, 2, 4), first: float = 80.0, step: float = 80.0, most_rates: int = 30) -> ProfilePlan:
    return ProfilePlan(executor_counts=tuple(executor_counts), first_rate=first, step_rate=step, most_rates=most_rates)


def run(asked: ProfilePlan, **known: float) -> tuple[Profiled, FakeTestbed]:
    clock = FakeClock()
    testbed = FakeTestbed(clock, **known)
    return profile(testbed, clock, asked), testbed


def verdicts(rows: Iterable[ProfileSeen], executors: int) -> list[tuple[float, bool | None]]:
    return [(row.rate_rows_per_s, row.valid) for row in rows if row.executors == executors]


def test_the_order_is_rate_by_rate_and_at_each_all_living_copies_are_read_in_turn() -> None:
    _, testbed = run(plan())
    steps = [said for said, _ in groupby(testbed.said)]
    assert steps[:7] == ["launch 1", "launch 2", "launch 4", "rate 80", "read 1", "read 2", "read 4"]
    asked = [said for said in steps if not said.startswith("read")]
    assert asked[3:] == ["rate 80", "rate 160", "stop 1", "rate 240", "stop 2", "rate 320", "rate 400", "rate 480", "stop 4"]
    assert "read 1" not in steps[steps.index("stop 1") :]


def test_a_copy_that_does_not_keep_up_is_stopped_and_has_no_later_row() -> None:
    found, testbed = run(plan())
    assert verdicts(found.rows, 1) == [(80.0, True), (160.0, False)]
    assert verdicts(found.rows, 2) == [(80.0, True), (160.0, True), (240.0, False)]
    assert verdicts(found.rows, 4)[-2:] == [(400.0, True), (480.0, False)]
    assert testbed.running == set()


@settings(max_examples=25, deadline=None)
@given(executor_counts=st.sets(st.integers(1, 24), min_size=1, max_size=5), step=st.floats(20.0, 700.0))
def test_the_knee_of_every_copy_is_the_first_rate_at_which_more_than_a_second_of_rows_waits_in_the_end(executor_counts: set[int], step: float) -> None:
    asked = plan(sorted(executor_counts), step, step, most_rates=200)
    found, _ = run(asked)
    rates = list(asked.rates())
    for knee in knees([(row.executors, row.rate_rows_per_s, bool(row.valid)) for row in found.rows]):
        carried = EACH_ROWS_PER_S * knee.executors
        assert knee.first_unstable_rows_per_s == min(rate for rate in rates if (rate - carried) * 420.0 > rate)


def test_what_settles_is_not_measured() -> None:
    found, testbed = run(plan(executor_counts=(4,), most_rates=1))
    assert testbed.said.count("read 4") == 20 + 8 and verdicts(found.rows, 4) == [(80.0, True)]
    assert found.rows[0].latency_s == pytest.approx(0.44)


def test_a_copy_is_paid_for_from_its_launch_to_its_stop() -> None:
    found, _ = run(plan())
    assert found.executor_s == pytest.approx(420.0 * (1 * 2 + 2 * 3 + 4 * 6))


def test_copies_that_keep_up_with_all_rates_are_stopped_after_the_last() -> None:
    found, testbed = run(plan(most_rates=2))
    assert verdicts(found.rows, 4) == [(80.0, True), (160.0, True)] and testbed.running == set()
    assert found.executor_s == pytest.approx(840.0 * (1 + 2 + 4))


@pytest.mark.parametrize("executor_counts", [pytest.param((1, 2, 3, 4, 8), marks=pytest.mark.slow), (2, 4), (3,)])
def test_without_a_known_lag_latencies_are_compared_with_each_other_and_then_with_their_own(executor_counts: tuple[int, ...]) -> None:
    found, _ = run(plan(executor_counts, 50.0, 50.0), tells_lag=False)
    for executors in executor_counts:
        assert verdicts(found.rows, executors)[-1] == (EACH_ROWS_PER_S * executors + 50.0, False)
        assert all(valid for _, valid in verdicts(found.rows, executors)[:-1])


def test_a_copy_without_a_latency_is_stopped_by_its_lag_and_leaves_no_rows() -> None:
    found, testbed = run(plan(), tells_latency=False)
    assert found.rows == () and "rate 480" in testbed.said and "rate 560" not in testbed.said


def test_whatever_happens_no_copy_is_left_running() -> None:
    clock = FakeClock()
    testbed = FakeTestbed(clock)

    def wait_and_break(seconds: float) -> None:
        FakeClock.wait(clock, seconds)
        raise ConnectionError("the cluster is gone")

    clock.wait = wait_and_break  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        profile(testbed, clock, plan())
    assert testbed.running == set()
    assert [said for said in testbed.said if said.startswith("stop")] == ["stop 1", "stop 2", "stop 4"]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"executor_counts": ()}, "at least one"),
        ({"executor_counts": (0, 1)}, "from 1 on"),
        ({"executor_counts": (2, 2)}, "each once"),
        ({"step_rate": 0.0}, "step_rate of 0.0: it must be a number above 0"),
        ({"measure_s": float("inf")}, "measure_s of inf"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(wrong: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        ProfilePlan(**{"executor_counts": (1,), "first_rate": 1.0, "step_rate": 1.0, **wrong})  # type: ignore[arg-type]


def test_a_job_that_counts_a_row_more_than_once_is_profiled_by_the_rows_that_it_counts() -> None:
    for times, rates in ((2.0, {200.0, 400.0}), (1.001, {100.0, 200.0})):
        found, _ = run(plan((2, 4), 100.0, 100.0, most_rates=2), times=times)
        assert {row.rate_rows_per_s for row in found.rows} == rates
