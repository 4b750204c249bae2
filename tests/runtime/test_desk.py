from typing import Any

import pytest
from asking_job import AskingJob
from planned import terms

from penstock.core.domain.command import Approve, Pause, Reject, Resume
from penstock.core.domain.events.autopilot_events import Decided, PolicyPaused, PolicyResumed, ProposalEnded
from penstock.core.errors import Refused
from penstock.runtime.desk import command_of


@pytest.fixture
def job() -> AskingJob:
    """A job that has proposed five executors."""
    made = AskingJob()
    made.plant.rate = 500.0
    made.wait()
    assert made.controller.knowledge.proposals.open is not None
    return made


def test_the_words_of_an_operator_become_commands_with_his_name() -> None:
    assert command_of("approve", {"proposal": 7}, "ann", 5.0) == Approve(at_s=5.0, who="ann", proposal=7)
    assert command_of("reject", {"proposal": None}, "ann", 5.0) == Reject(at_s=5.0, who="ann")
    assert command_of("pause", {"hold_s": 60, "reason": "release"}, "ann", 5.0) == Pause(at_s=5.0, who="ann", hold_s=60.0, reason="release")
    assert command_of("pause", {}, "ann", 5.0) == Pause(at_s=5.0, who="ann")
    assert command_of("resume", {}, "ann", 5.0) == Resume(at_s=5.0, who="ann")


def test_who_approved_is_in_the_event_and_the_instruction_in_the_answer(job: AskingJob) -> None:
    answer = job.say("approve", proposal=1)
    assert answer["said"][0] == "proposal 1 of thumb was approved by ann" and answer["said"][1].startswith("executors: 3 -> 5")
    assert len(answer["numbers"]) == 1 and job.plant.executors == 5
    (ended,) = [event for event in job.memory.events if isinstance(event, ProposalEnded)]
    assert (ended.how, ended.who) == ("approved", "ann")


def test_a_rejection_changes_nothing_but_the_proposal(job: AskingJob) -> None:
    assert job.say("reject") == {"said": ["proposal 1 of thumb was rejected by ann"], "numbers": []}
    job.wait()
    assert job.plant.executors == 3 and job.controller.knowledge.proposals.open is None


@pytest.mark.parametrize(
    ("asked", "reason"),
    [({"proposal": 9}, "approval of proposal 9; refused: there was none of that number; the open proposal is 1"), ({"proposal": "x"}, "invalid literal")],
)
def test_what_cannot_be_approved_is_refused_with_the_reason(job: AskingJob, asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        job.say("approve", **asked)


def test_a_refusal_is_not_lost_among_what_else_the_turn_says(job: AskingJob) -> None:
    job.clock.wait(601.0)
    with pytest.raises(Refused, match="ann asked for approval of proposal 1; refused: it was answered, replaced or has expired; no proposal is open"):
        job.say("approve", proposal=1)
    said = [event for event in job.memory.events if isinstance(event, (ProposalEnded, Decided))]
    assert isinstance(said[-2], ProposalEnded) and isinstance(said[-1], Decided), "the same turn let it expire, and proposed anew"


def test_a_pause_says_until_when_and_a_resume_ends_it(job: AskingJob) -> None:
    answer = job.say("pause", hold_s=3600.0, reason="release day")
    assert answer == {"said": ["ann paused the policy thumb for 1h: release day"], "numbers": [], "paused_until_s": job.clock.now_s() + 3600.0}
    assert job.say("pause") == {"said": ["ann paused the policy thumb until it is resumed"], "numbers": [], "paused_until_s": None}
    assert job.say("resume", who="bob") == {"said": ["bob resumed the policy thumb"], "numbers": []}
    with pytest.raises(Refused, match="bob asked for resumption of the policy; refused: it is not paused"):
        job.say("resume", who="bob")
    assert [event.who for event in job.memory.events if isinstance(event, (PolicyPaused, PolicyResumed))] == ["ann", "ann", "bob"]


def test_an_answer_leaves_out_what_other_operators_said_in_the_same_turn(job: AskingJob) -> None:
    job.controller._inbox.submit(Pause(at_s=job.clock.now_s(), who="bob"))
    assert job.say("reject")["said"] == ["proposal 1 of thumb was rejected by ann"]


def test_an_answer_leaves_out_what_the_policy_did_in_the_same_turn() -> None:
    job = AskingJob(terms("active"))
    job.plant.rate = 500.0
    assert job.say("release") == {"said": [], "numbers": []}
    assert job.plant.executors == 5, "the turn that heard it also scaled"


def test_a_secret_in_a_reason_does_not_come_back(job: AskingJob) -> None:
    assert job.say("pause", reason="login with hunter2")["said"] == ["ann paused the policy thumb until it is resumed: login with ***"]
