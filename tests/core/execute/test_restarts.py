from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.config import Config
from penstock.core.execute.restarts import Failure, GiveUp, Restart, after_failure

CONFIG = Config(restart_backoff_s=1.0, restart_backoff_max_s=10.0, restart_budget=6, restart_window_s=600.0, restart_same_error=3)
FAILURES = st.lists(st.builds(Failure, at_s=st.floats(0, 5000), cause=st.sampled_from(["a", "b"]), committed=st.booleans()), min_size=1, max_size=20)


def failures(times: int, *, every_s: float = 1.0, committed: bool = True, cause: str = "boom") -> list[Failure]:
    return [Failure(at_s=each * every_s, cause=cause, committed=committed) for each in range(times)]


def test_the_first_restart_comes_at_once_then_waits_double_up_to_the_longest() -> None:
    answers = [after_failure(failures(times), CONFIG) for times in range(1, 7)]
    assert answers == [Restart(wait_s=wait_s, attempt=attempt) for attempt, wait_s in enumerate((0.0, 1.0, 2.0, 4.0, 8.0, 10.0), start=1)]


def test_one_failure_more_than_the_budget_and_the_query_is_given_up() -> None:
    assert after_failure(failures(7), CONFIG) == GiveUp(reason="its budget of 6 restarts in 600 s is spent")
    assert isinstance(after_failure(failures(1), Config(restart_budget=0)), GiveUp)


def test_failures_longer_ago_than_the_window_are_forgotten() -> None:
    assert after_failure(failures(50, every_s=601.0), CONFIG) == Restart(wait_s=0.0, attempt=1)
    assert after_failure(failures(50, every_s=599.0), CONFIG) == Restart(wait_s=1.0, attempt=2)


def test_the_same_error_without_a_commit_is_given_up_before_the_budget_is_spent() -> None:
    assert isinstance(after_failure(failures(2, committed=False), CONFIG), Restart)
    assert after_failure(failures(3, committed=False), CONFIG) == GiveUp(reason="it failed 3 times in a row with the same error and without a commit")
    assert isinstance(after_failure(failures(3, every_s=5000.0, committed=False), CONFIG), GiveUp), "however slowly it fails"


def test_another_error_or_a_commit_between_is_hope() -> None:
    stuck = failures(2, committed=False)
    for between in (failures(1, committed=False, cause="other"), failures(1, committed=True)):
        assert isinstance(after_failure([*stuck, *between, *stuck], CONFIG), Restart)


@given(FAILURES)
@settings(deadline=None)
def test_an_answer_is_within_the_settings_and_depends_on_nothing_else(past: list[Failure]) -> None:
    past.sort(key=lambda failure: failure.at_s)
    answer = after_failure(past, CONFIG)
    assert answer == after_failure(list(past), CONFIG)
    if isinstance(answer, Restart):
        assert 0 <= answer.wait_s <= CONFIG.restart_backoff_max_s
        assert 1 <= answer.attempt <= CONFIG.restart_budget
