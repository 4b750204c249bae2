"""What names no policy yet names the one in force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from penstock.core.plan.named import in_force, named
from planned import Thumb, knowing, terms, wants

from penstock.core.domain.autopilot import Mode
from penstock.core.domain.events.autopilot import PromiseKept, ProposalEnded
from penstock.core.domain.events.run import NothingToDo
from penstock.core.domain.prediction import Prediction
from penstock.core.knowledge.policy import Policy
from penstock.core.knowledge.steering import Steering

MADE = Prediction(kind="forecast", made_s=0.0, value=1.0, low=0.5, high=2.0, executors=4, due_s=60.0)


@pytest.mark.parametrize(
    ("mode", "decided", "policy", "name"),
    [
        ("active", "auto:ds2", None, "auto:ds2"),
        ("shadow", None, None, "auto"),
        ("active", "hpa", None, "auto"),
        ("active", None, Thumb(), "thumb"),
        ("active", "auto:ds2", Thumb(), "thumb"),
        ("observe", "auto:ds2", None, ""),
    ],
)
def test_who_decides_is_who_decided_last_unless_another_one_is_asked_by_now(mode: Mode, decided: str | None, policy: Policy | None, name: str) -> None:
    last = None if decided is None else replace(wants(3), policy=decided)
    assert in_force(replace(knowing(), steering=Steering(mode=mode, last=last)), terms(mode), policy) == name


def test_events_and_predictions_that_name_a_policy_keep_it() -> None:
    kept, ended, rest = PromiseKept(at_s=1.0, promise="p"), ProposalEnded(at_s=1.0, policy="auto:ds2", proposal=1, how="expired"), NothingToDo(at_s=1.0)
    theirs = replace(MADE, policy="auto:ds2")
    after, events = named(knowing(predictions=(MADE, theirs)), [kept, ended, rest], "auto:hpa")
    assert events == [replace(kept, policy="auto:hpa"), ended, rest]
    assert after.steering.predictions == (replace(MADE, policy="auto:hpa"), theirs)
    assert named(after, events, "hpa") == (after, events)
