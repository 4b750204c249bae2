import pytest
from changes import scaled_to
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.events.autopilot_events import Graded
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.prediction import PredictionKind
from penstock.core.report.grades import grades


def graded(kind: PredictionKind, about: str, predicted: float, actual: float, spread: float = 5.0) -> Graded:
    low, high = predicted - spread, predicted + spread
    return Graded(at_s=100.0, kind=kind, about=about, made_s=0.0, predicted=predicted, low=low, high=high, actual=actual, configuration=scaled_to(2))


def test_without_predictions_there_are_no_grades() -> None:
    assert grades([]) == () == grades([NothingToDo(at_s=1.0)])


def test_forecasts_are_graded_by_their_lead_and_recoveries_by_what_they_recovered_from() -> None:
    found = grades([
        graded("recovery", "rescale_up", 60, 50), graded("forecast", "900 s", 100, 100), graded("forecast", "60 s", 100, 80),
        graded("forecast", "60 s", 100, 125), graded("recovery", "query_restart", 60, 80), graded("capacity", "", 100, 100),
    ])  # fmt: skip
    counts = {"capacity ": 1, "forecast 60 s": 2, "forecast 900 s": 1, "recovery query_restart": 1, "recovery rescale_up": 1}
    assert [(f"{each.kind} {each.about}", each.count) for each in found] == [*counts.items()]
    minute = found[1]
    assert (minute.error, minute.bias, minute.within) == pytest.approx(((0.25 + 0.2) / 2, (0.25 - 0.2) / 2, 0.0))


@given(st.lists(st.tuples(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(0, 1e6)), min_size=1))
def test_the_bias_is_never_larger_than_the_error_and_shares_are_shares(seen: list[tuple[float, float, float]]) -> None:
    (grade,) = grades([graded("capacity", "", *each) for each in seen])
    assert grade.count == len(seen) and 0 <= grade.within <= 1
    assert abs(grade.bias) <= grade.error * (1 + 1e-9)


def test_a_forecast_of_what_did_not_come_is_wrong_altogether() -> None:
    """At a rate of zero there is nothing to be relative to; a grade of 0 % would praise it."""
    (wrong,) = grades([graded("forecast", "60 s", predicted=5000.0, actual=0.0)])
    (right,) = grades([graded("forecast", "60 s", predicted=0.0, actual=0.0)])
    assert (wrong.error, wrong.bias, right.error) == (1.0, 1.0, 0.0)
