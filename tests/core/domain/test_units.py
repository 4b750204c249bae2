import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.domain.units import count_words, duration_words, parse_duration_s, parse_rate_rows_per_s
from penstock.core.errors import UserMistake


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5s", 5.0), (" 5 s ", 5.0), ("500ms", 0.5), ("2m", 120.0), ("2min", 120.0), ("1h30m", 5400.0), ("1d 2h", 93_600.0), ("1.5s", 1.5), ("7", 7.0), (2, 2.0)],
)  # fmt: skip
def test_a_duration_is_understood(text: str | float, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "five", "-5s", "5 5s", "1h30", "5sec", "5,5s", "1e3s", -1, float("nan"), float("inf"), True, None, "99999999999d", "5s!"]
)
def test_what_is_no_duration_is_refused_with_what_was_found(text: str) -> None:
    with pytest.raises(UserMistake, match="is allowed") as refused:
        parse_duration_s(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(("text", "rate"), [("20000/s", 2e4), ("20k/s", 2e4), ("1.5M", 1.5e6), ("20_000 / s", 2e4), (500, 500.0), ("0", 0.0), (0.5, 0.5)])
def test_a_rate_is_understood(text: str | float, rate: float) -> None:
    assert parse_rate_rows_per_s(text) == rate


@pytest.mark.parametrize("text", ["", "fast", "-5/s", "5/m", "5kk", True, None, "5 rows/s", float("nan")])
def test_what_is_no_rate_is_refused_with_what_was_found(text: str) -> None:
    with pytest.raises(UserMistake, match="a rate such as") as refused:
        parse_rate_rows_per_s(text)
    assert repr(text) in str(refused.value)


@given(st.floats(0.0005, 1e7))
def test_words_for_a_duration_read_back_nearly_the_same(seconds: float) -> None:
    assert parse_duration_s(duration_words(seconds)) == pytest.approx(seconds, rel=0.01, abs=0.0005)


@given(st.integers(0, 10**8))
def test_words_for_whole_seconds_from_a_minute_on_are_exact(seconds: int) -> None:
    if seconds >= 60:
        assert parse_duration_s(duration_words(seconds)) == seconds


@given(st.floats(0, 1e9, exclude_max=True))
def test_words_for_a_count_are_near_it_and_short(rows: float) -> None:
    words = count_words(rows)
    assert len(words) <= 5
    if "G" not in words:
        assert parse_rate_rows_per_s(words) == pytest.approx(rows, rel=0.01, abs=0.5)
