import threading

import pytest

from penstock.core.domain.command import Release
from penstock.core.domain.events.query_events import QueryEnded
from penstock.core.domain.events.run_events import NothingToDo
from penstock.core.domain.instruction import Outcome
from penstock.core.errors import Refused
from penstock.core.knowledge.fitting import FitDone
from penstock.runtime.inbox import MOST_FAILED, Inbox

RELEASE = Release(at_s=0.0, who="ann")
FIT = FitDone(number=1, took_s=0.0)


def outcome(number: int) -> Outcome:
    return Outcome(number=number, done=True, took_s=1.0)


def test_a_command_is_heard_once_and_answered() -> None:
    inbox = Inbox()
    answer = inbox.submit(RELEASE)
    waiting = inbox.look()
    assert [command for command, _ in waiting.commands] == [RELEASE] and inbox.look().commands == ()
    waiting.answer([NothingToDo(at_s=1.0)])
    assert answer.result(0) == [NothingToDo(at_s=1.0)]


def test_what_came_during_a_turn_waits_for_the_next() -> None:
    inbox = Inbox()
    inbox.report(outcome(1))
    waiting = inbox.look()
    inbox.report(outcome(2))
    inbox.take_fit(FIT)
    inbox.taken_in(waiting)
    assert (inbox.look().outcomes, inbox.look().fits) == ((outcome(2),), (FIT,))


def test_what_a_failed_turn_left_is_no_reason_to_hurry_and_what_comes_after_it_is() -> None:
    inbox = Inbox()
    inbox.report(outcome(1))
    inbox.left(inbox.look())
    assert not inbox._has_news()
    inbox.report(outcome(2))
    assert inbox._has_news() and inbox.look().outcomes == (outcome(1), outcome(2))


def test_a_fit_is_no_reason_to_hurry() -> None:
    inbox = Inbox()
    inbox.take_fit(FIT)
    assert not inbox._has_news()


def test_fits_are_dropped_after_ten_failed_turns_in_a_row_and_outcomes_are_not() -> None:
    inbox = Inbox()
    inbox.take_fit(FIT)
    inbox.report(outcome(1))
    for _ in range(MOST_FAILED - 1):
        inbox.left(inbox.look())
    assert inbox.look().fits == (FIT,)
    inbox.left(inbox.look())
    assert (inbox.look().fits, inbox.look().outcomes) == ((), (outcome(1),))


def test_a_turn_that_went_well_forgives_those_that_failed() -> None:
    inbox = Inbox()
    for _ in range(MOST_FAILED - 1):
        inbox.left(inbox.look())
    inbox.taken_in(inbox.look())
    inbox.take_fit(FIT)
    inbox.left(inbox.look())
    assert inbox.look().fits == (FIT,)


def test_who_waits_is_woken_by_what_is_noted_and_by_the_end() -> None:
    inbox = Inbox()
    goes_on: list[bool] = []
    waiter = threading.Thread(target=lambda: goes_on.append(inbox.wait(60.0)))
    waiter.start()
    inbox.note([QueryEnded(at_s=1.0, query="q", reason="")])
    waiter.join(10)
    assert goes_on == [True] and len(inbox.noted()) == 1 and inbox.noted() == []
    inbox.close()
    assert not inbox.wait(60.0)
    with pytest.raises(Refused, match="the job is ending"):
        inbox.submit(RELEASE).result(0)
