"""The state of the autopilot for `status` and for the metrics."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.domain.events.autopilot_events import Decided, Graded, PolicyPaused
from penstock.core.domain.events.event import Event
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.steering import Proposal
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.proposals import announced
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
        decided, proposal, paused = self._decided, knowledge.proposals.open, knowledge.trust.paused
        return {
            "mode": terms.autopilot.mode,
            "policy": terms.autopilot.policy,
            "last": None if decided is None else last_decision(decided),
            "proposal": None if proposal is None else open_proposal(proposal),
            "paused": paused and {"who": paused.who, "until_s": paused.until_s, "reason": paused.reason},
            "infeasible": list(knowledge.trust.infeasible),
        }

    def state(self, knowledge: Knowledge, terms: Terms) -> AutopilotState:
        return AutopilotState(
            mode=terms.autopilot.mode,
            target_executors=knowledge.steered(terms.autopilot.mode).executors,
            paused=knowledge.trust.paused is not None,
            proposal_open=knowledge.proposals.open is not None,
            errors={kind: sum(errors) / len(errors) for kind, errors in self._errors.items()},
        )


def still_standing(knowledge: Knowledge) -> list[Event]:
    """Return the pause and the proposal that an earlier run left, as events."""
    paused, proposal, last = knowledge.trust.paused, knowledge.proposals.open, knowledge.schedule.last
    said: list[Event] = []
    if paused is not None:
        policy = "" if last is None else last.policy
        said.append(PolicyPaused(at_s=paused.since_s, policy=policy, who=paused.who, until_s=paused.until_s, reason=paused.reason))
    if proposal is not None:
        said.append(announced(proposal))
    return said


def open_proposal(proposal: Proposal) -> dict[str, Any]:
    return {
        "number": proposal.number,
        "executors": proposal.configuration.executors,
        "change": proposal.change.words(),
        "expires_s": proposal.expires_s,
        "policy": proposal.policy,
    }


def last_decision(decided: Decided) -> dict[str, Any]:
    decision = decided.decision
    return {
        "id": decided.id,
        "at_s": decided.at_s,
        "executors": decision.executors,
        "current": decision.current.executors,
        "direction": decision.direction,
        "words": decided.words(),
        "effect": decided.effect,
    }
