import pytest

from penstock.core.domain.profile import ProfileSeen
from penstock.core.knowledge.fitting import FitAsked, fitted
from penstock.core.models.forecast.combined import LoadForecast
from penstock.core.models.forecast.series import LoadSeen
from penstock.core.models.latency.latency_by_executors import LatencyByExecutors

EACH = 1000.0
PROFILE = LatencyByExecutors().learn(
    [
        ProfileSeen(executors=executors, rate_rows_per_s=rate, latency_s=0.5 / (1 - min(0.95, rate / (EACH * executors))), valid=rate < EACH * executors)
        for executors in (1, 2, 4)
        for rate in (500.0, 1000.0, 1500.0, 2000.0, 3000.0, 4000.0, 5000.0)
    ]
)


@pytest.mark.slow
def test_a_profile_becomes_a_table_and_a_capacity_over_executors() -> None:
    done = fitted(FitAsked(number=3, profile=PROFILE, executor_counts=(1, 2, 3, 4), most_rows_per_s=5000.0))
    assert (done.number, done.took_s, done.fits, done.error) == (3, 0.0, None, "")
    assert done.table is not None and done.t_max is not None and done.table.rows == len(PROFILE.observations)
    for executors in (1, 2, 4):
        assert done.table.at(executors, 0.6 * EACH * executors).valid and not done.table.at(executors, 1.3 * EACH * executors).valid
    assert [each.mean for each in done.t_max.seen] == [1000.0, 2000.0, 4000.0]


@pytest.mark.slow
def test_a_table_says_what_its_profile_says() -> None:
    done = fitted(FitAsked(number=1, profile=PROFILE, executor_counts=(2, 4), most_rows_per_s=5000.0))
    assert done.table is not None
    for executors, rate in ((2, 1000.0), (4, 3000.0)):
        expected = PROFILE.predict(executors, rate)
        assert done.table.at(executors, rate).latency_s == pytest.approx(expected.latency.value, rel=0.05)  # type: ignore[union-attr]


def test_a_profile_that_says_too_little_is_an_error_with_its_reason() -> None:
    done = fitted(FitAsked(number=1, profile=LatencyByExecutors(), executor_counts=(1,), most_rows_per_s=1.0))
    assert done.table is None and "profiled at 0" in done.error


@pytest.mark.slow
def test_a_load_is_fitted_where_it_was_asked() -> None:
    load = LoadForecast(history_s=600.0, horizon_s=150.0).learn([LoadSeen(at_s=10.0 * n, rate_rows_per_s=100.0 + n % 7) for n in range(40)])
    done = fitted(FitAsked(number=1, load=load))
    assert done.fits and done.table is None and not done.error
