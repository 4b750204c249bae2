import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.core.monitor.facts import BatchFact
from penstock.core.monitor.window import Samples, Window, rate_per_s, sampled, window_of

ROWS_PER_S = 100.0
WANTED_S = 15.0


def steady(until_s: float, *, interval_s: float, batch_s: float, first_s: float = 0.0) -> list[BatchFact]:
    """The batches a steady query has committed by then: each takes in what arrived in one interval, the first a backlog."""
    number = math.floor((until_s - batch_s - first_s) / interval_s + 1e-9) + 1
    return [batch(first_s + each * interval_s, batch_s, 12_345.0 if each == 0 else ROWS_PER_S * interval_s) for each in range(number)]


def batch(started_s: float, batch_s: float, rows: float) -> BatchFact:
    return BatchFact(batch_id=0, started_s=started_s, committed_s=started_s + batch_s, committed_wall_s=started_s + batch_s, rows=rows)


def throughput(window: Window | None) -> float:
    assert window is not None
    return window.rows / window.length_s


def test_before_the_first_commit_there_is_no_window() -> None:
    assert window_of([], None, 10.0, 5.0, WANTED_S) is None


def test_the_only_batch_is_a_window_of_its_own() -> None:
    only = batch(10.0, 2.0, 300.0)
    assert window_of([only], None, 12.5, 5.0, WANTED_S) == Window(start_s=10.0, end_s=12.0, batches=(only,))


@given(interval_s=st.floats(0.2, 60.0), busy=st.floats(0.01, 1.0), first_s=st.floats(0.0, 100.0), reading_s=st.floats(0.3, 30.0), readings=st.integers(1, 40))
def test_the_throughput_of_steady_batches_is_exact_at_every_phase(interval_s: float, busy: float, first_s: float, reading_s: float, readings: int) -> None:
    at_s = reading_s * readings
    batches = steady(at_s, interval_s=interval_s, batch_s=busy * interval_s, first_s=first_s)
    assume(len(batches) > 1)
    assert throughput(window_of(batches, None, at_s, interval_s, WANTED_S)) == pytest.approx(ROWS_PER_S, rel=1e-6)


@given(interval_s=st.floats(0.2, 60.0), at_s=st.floats(0.0, 300.0))
def test_a_window_ends_at_the_last_commit_begins_at_one_and_is_as_long_as_wanted_but_no_longer_than_needed(interval_s: float, at_s: float) -> None:
    batches = steady(at_s, interval_s=interval_s, batch_s=interval_s / 2)
    assume(len(batches) > 1)
    window = window_of(batches, None, at_s, interval_s, WANTED_S)
    assert window is not None
    commits = [each.committed_s for each in batches]
    assert window.end_s == commits[-1] and window.start_s in commits
    if commits[-1] - commits[0] >= WANTED_S:
        assert WANTED_S <= window.length_s < WANTED_S + interval_s * (1 + 1e-9)
    assert [each.committed_s for each in window.batches] == [each for each in commits if window.start_s < each <= window.end_s]


def test_the_throughput_of_a_stalled_query_falls_to_nothing() -> None:
    batches = steady(100.0, interval_s=5.0, batch_s=2.0)
    seen = [throughput(window_of(batches, None, 100.0 + later_s, 5.0, WANTED_S)) for later_s in range(60)]
    assert seen[0] == pytest.approx(ROWS_PER_S)
    assert max(seen) == seen[0]
    assert set(seen[30:]) == {0.0}


def test_a_batch_that_is_late_but_not_overdue_does_not_dent_the_throughput() -> None:
    batches = steady(100.0, interval_s=5.0, batch_s=2.0)
    last_s = batches[-1].committed_s
    assert throughput(window_of(batches, None, last_s + 10.9, 5.0, WANTED_S)) == pytest.approx(ROWS_PER_S)
    assert throughput(window_of(batches, None, last_s + 11.1, 5.0, WANTED_S)) < ROWS_PER_S * 0.7


def test_an_idle_query_has_no_throughput_over_a_window_that_does_not_grow_for_ever() -> None:
    batches = steady(100.0, interval_s=5.0, batch_s=2.0)
    for idle_s in (130.0, 1000.0, 100_000.0):
        window = window_of(batches, idle_s, idle_s + 3.0, 5.0, WANTED_S)
        assert window is not None and window.end_s == idle_s and window.batches == ()
        assert window.rows == 0.0 and WANTED_S <= window.length_s <= 2 * WANTED_S + 5.0


def test_a_query_that_woke_up_is_measured_again_from_its_commits() -> None:
    batches = [batch(0.0, 1.0, 500.0), batch(1000.0, 1.0, 500.0), batch(1005.0, 1.0, 500.0), batch(1010.0, 1.0, 500.0), batch(1015.0, 1.0, 500.0)]
    assert throughput(window_of(batches, 995.0, 1017.0, 5.0, WANTED_S)) == pytest.approx(ROWS_PER_S)


LEAST_S = 2.5


@given(rate=st.floats(0.0, 1e5), gaps_s=st.lists(st.floats(0.001, 20.0), min_size=1, max_size=30))
def test_a_counter_of_whole_rows_has_its_rate_within_a_row_or_two_however_often_it_is_read(rate: float, gaps_s: list[float]) -> None:
    samples: Samples = ()
    at_s = began_s = 50.0
    for gap_s in (0.0, *gaps_s):
        at_s += gap_s
        samples = sampled(samples, at_s, math.floor(rate * at_s), LEAST_S)
    assert rate_per_s(samples, LEAST_S) == pytest.approx(rate, abs=1.001 / min(LEAST_S, at_s - began_s), rel=1e-9)


@given(st.lists(st.floats(0.001, 20.0), max_size=100))
def test_only_samples_that_are_still_needed_are_kept(gaps_s: list[float]) -> None:
    samples: Samples = ()
    at_s = 0.0
    for gap_s in gaps_s:
        at_s += gap_s
        samples = sampled(samples, at_s, at_s, LEAST_S)
    assert sum(at_s - sample[0] >= LEAST_S for sample in samples) <= 1


def test_one_sample_is_no_rate_and_neither_are_two_of_the_same_moment() -> None:
    once = sampled((), 1.0, 10.0, LEAST_S)
    assert rate_per_s(once, LEAST_S) is None
    assert rate_per_s(sampled(once, 1.0, 11.0, LEAST_S), LEAST_S) is None


def test_an_unknown_counter_has_no_rate_and_begins_anew() -> None:
    assert sampled(sampled(sampled((), 0.0, 0.0, LEAST_S), 5.0, 50.0, LEAST_S), 10.0, None, LEAST_S) == ()


def test_a_counter_that_went_back_stands_still() -> None:
    assert rate_per_s(((0.0, 100.0), (5.0, 0.0)), LEAST_S) == 0.0
