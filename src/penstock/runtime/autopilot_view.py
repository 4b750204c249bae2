"""The state of the autopilot for `status` and for the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.domain.events.autopilot import Decided, Graded, PolicyPaused, Proposed
from penstock.core.domain.events.event import Event
from penstock.core.knowledge import Knowledge
from penstock.core.terms import Terms
from penstock.telemetry.exposition import AutopilotState

LATEST = 50
"""Predictions of each kind whose errors are averaged."""


class AutopilotView:
    """Keeps what only events hold: the last decision, and the errors of predictions."""

    def __init__(self) -> None:
        self._decided: Decided | None = None
        self._errors: Mapping[str, tuple[float, ...]] = {}

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Decided):
                self._decided = event
            elif isinstance(event, Graded):
                self._errors = {**self._errors, event.kind: (*self._errors.get(event.kind, ()), event.error)[-LATEST:]}

    def status(self, knowledge: Knowledge, terms: Terms) -> dict[str, Any]:
        """Return the autopilot's part of `status`."""
        steering, decided = knowledge.steering, self._decided
        proposal, paused = steering.proposal, steering.paused
        return {
            "mode": terms.autopilot.mode,
            "policy": terms.autopilot.policy,
            "last": None if decided is None else last_decision(decided),
            "proposal": proposal and {"number": proposal.number, "executors": proposal.executors, "expires_s": proposal.expires_s, "policy": proposal.policy},
            "paused": paused and {"who": paused.who, "until_s": paused.until_s, "reason": paused.reason},
            "infeasible": list(steering.infeasible),
        }

    def state(self, knowledge: Knowledge, terms: Terms) -> AutopilotState:
        """Return the state that the metrics show."""
        steering = knowledge.steering
        return AutopilotState(
            mode=terms.autopilot.mode,
            target_executors=knowledge.steered_executors(terms.autopilot.mode),
            paused=steering.paused is not None,
            proposal_open=steering.proposal is not None,
            errors={kind: sum(errors) / len(errors) for kind, errors in self._errors.items()},
        )


def still_standing(knowledge: Knowledge) -> list[Event]:
    """Return the open pause and proposal of an earlier run as the events that announced them."""
    paused, proposal, last = knowledge.steering.paused, knowledge.steering.proposal, knowledge.steering.last
    events: list[Event] = []
    if paused is not None:
        policy = "" if last is None else last.policy
        events.append(PolicyPaused(at_s=paused.since_s, policy=policy, who=paused.who, until_s=paused.until_s, reason=paused.reason))
    if proposal is not None:
        events.append(
            Proposed(
                at_s=proposal.at_s,
                proposal=proposal.number,
                executors=proposal.executors,
                before=knowledge.desired.executors,
                policy=proposal.policy,
                expires_s=proposal.expires_s,
            )
        )
    return events


def last_decision(decided: Decided) -> dict[str, Any]:
    decision = decided.decision
    return {
        "at_s": decided.at_s,
        "executors": decision.executors,
        "current": decision.current,
        "direction": decision.direction,
        "words": decided.words(),
        "effect": decided.effect,
    }
