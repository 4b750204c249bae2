"""Commands of operators: knobs that they set and hold, answers to proposals, pauses of the policy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.domain.command import Approve, Command, Pause, Reject, Release, Resume, SetKnob
from penstock.core.domain.configuration import refuse_change, refuse_together
from penstock.core.domain.decision import Comparison, Decision
from penstock.core.domain.events.autopilot_events import Decided, PolicyPaused, PolicyResumed
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering_events import CommandRefused, CommandTaken, HoldEnded
from penstock.core.domain.knobs import KNOBS, Knob, address_of
from penstock.core.errors import UserMistake
from penstock.core.knowledge.knowledge import Author, Hold, Knowledge, Missing
from penstock.core.knowledge.steering import Paused, Proposal
from penstock.core.knowledge.terms import Terms
from penstock.core.plan.effect import with_trial
from penstock.core.plan.owner import allowed_now, owner_allows
from penstock.core.plan.proposals import adopt, without_proposal

ITSELF = "penstock"
"""Who ends a pause whose time is over, and who pauses a policy that is rolled back."""


def hear(knowledge: Knowledge, commands: Sequence[Command], at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Take in commands, after ending the holds, proposals and pauses that have expired."""
    knowledge, events = run_out(knowledge, at_s)
    for command in commands:
        match command:
            case SetKnob():
                knowledge, said = take_value(knowledge, command, at_s, terms)
            case Release():
                said = [HoldEnded(at_s=at_s, knob=each.knob, value=each.value, how="released", who=command.who) for each in knowledge.holds]
                knowledge = replace(knowledge, holds=())
            case Approve() | Reject():
                knowledge, said = answer(knowledge, command, at_s, terms)
            case Pause():
                until_s = None if command.hold_s is None else at_s + command.hold_s
                knowledge, said = pause(knowledge, Paused(who=command.who, since_s=at_s, until_s=until_s, reason=command.reason))
            case Resume():
                knowledge, said = resume(knowledge, command.who, at_s)
            case _:
                raise TypeError(f"there is no command {type(command).__name__}")
        events += said
    return knowledge, events


def run_out(knowledge: Knowledge, at_s: float) -> tuple[Knowledge, list[Event]]:
    """End the holds, the proposal and the pause whose time is over, and a proposal to change values that have changed since."""
    over = [hold for hold in knowledge.holds if hold.until_s <= at_s]
    events: list[Event] = [HoldEnded(at_s=at_s, knob=hold.knob, value=hold.value, how="expired") for hold in over]
    if over:
        knowledge = replace(knowledge, holds=tuple(hold for hold in knowledge.holds if hold not in over))
    proposal, paused = knowledge.proposals.open, knowledge.trust.paused
    if proposal is not None:
        overtaken = any(knowledge.desired.of(move.address) != move.before for move in proposal.change.moves)
        if overtaken or proposal.expires_s <= at_s:
            proposals, ended = without_proposal(knowledge.proposals, at_s, "withdrawn" if overtaken else "expired")
            knowledge, events = replace(knowledge, proposals=proposals), [*events, *ended]
    if paused is not None and paused.until_s is not None and paused.until_s <= at_s:
        knowledge, resumed = resume(knowledge, ITSELF, at_s)
        events += resumed
    return knowledge, events


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The value that an operator wants a knob to have; `query` None is for a knob of the job."""

    knob: Knob
    value: Any
    query: str | None = None

    @property
    def address(self) -> str:
        return address_of(self.knob.name, self.query)

    @property
    def words(self) -> str:
        return self.knob.show(self.value)


def take_value(knowledge: Knowledge, command: SetKnob, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Desire and hold the value that an operator wants, or refuse it with the reason."""
    events: list[Event] = []
    try:
        wishes = list(wishes_of(command, knowledge))
    except UserMistake as mistake:
        return knowledge, [CommandRefused(at_s=at_s, who=command.who, knob=command.knob, value=command.value, reason=str(mistake))]
    for wish in wishes:
        refusal = refuse(knowledge, wish, terms)
        if refusal:
            events.append(CommandRefused(at_s=at_s, who=command.who, knob=wish.knob.name, value=wish.words, reason=refusal))
            continue
        until_s = at_s + (terms.config.hold_s if command.hold_s is None else command.hold_s)
        held = Hold(knob=wish.address, value=wish.words, who=command.who, until_s=until_s)
        knowledge = knowledge.wanting(knowledge.desired.having(wish.address, wish.value))
        # Who asks for executors asks for them anew, also for as many as were desired: those that would not leave are let go again.
        missing = Missing() if wish.knob.name == "executors" else knowledge.missing
        knowledge = replace(knowledge, holds=(*(each for each in knowledge.holds if each.knob != held.knob), held), missing=missing)
        events.append(CommandTaken(at_s=at_s, who=command.who, knob=held.knob, value=held.value, held_until_s=until_s))
    return knowledge, events


def wishes_of(command: SetKnob, knowledge: Knowledge) -> Iterator[Wish]:
    """Yield the wish of a command for each query; a command that names no query is for all."""
    if command.knob not in KNOBS:
        raise UserMistake(f"there is no knob {command.knob!r}; there are {', '.join(KNOBS)}")
    knob = KNOBS[command.knob]
    value = knob.parse(command.value)
    if knob.scope == "job":
        yield Wish(knob=knob, value=value)
        return
    for query in [command.query] if command.query else list(knowledge.desired.queries) or [""]:
        yield Wish(knob=knob, query=query, value=value)


def refuse(knowledge: Knowledge, wish: Wish, terms: Terms) -> str | None:
    """Return why a wish cannot be taken, or None."""
    limits, query, desired, seen = terms.limits, wish.query, knowledge.desired, knowledge.last
    if wish.knob.scope == "job":
        if seen is not None and seen.unable.get(wish.knob.name):
            return seen.unable[wish.knob.name]
        if wish.knob.name == "executors" and not limits.min_executors <= wish.value <= limits.max_executors:
            return f"the job's limits allow {limits.min_executors} to {limits.max_executors} executors"
        if wish.knob.name == "executors" and seen is not None and wish.value < seen.least_executors:
            return f"tasks in Real-Time Mode need the slots of {seen.least_executors} executors"
        return wish.knob.refuse(wish.value)
    if query is None or query not in desired.queries:
        return f"there is no query {query!r}; there are: {', '.join(desired.queries) or 'none'}"
    misfit = wish.knob.refuse(wish.value) or refuse_together(desired.having(wish.address, wish.value).queries[query])
    running = next((each for each in seen.queries if each.name == query), None) if seen else None
    return misfit or (running.unable.get(wish.knob.name) if running else None)


def answer(knowledge: Knowledge, command: Approve | Reject, at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Adopt an approved configuration and watch its effect as in active; one that is rejected is not proposed again for a while."""
    refusal = refuse_answer(knowledge, command, at_s, terms)
    proposal = knowledge.proposals.open
    if refusal or proposal is None:
        which = "of the open proposal" if command.proposal is None else f"of proposal {command.proposal}"
        what = "approval" if isinstance(command, Approve) else "rejection"
        return knowledge, [CommandRefused(at_s=at_s, who=command.who, knob=what, value=which, reason=refusal)]
    if isinstance(command, Reject):
        proposals, ended = without_proposal(knowledge.proposals, at_s, "rejected", command.who)
        quiet = replace(proposal, expires_s=at_s + terms.autopilot.scaled(terms.autopilot.ask_quiet_s))
        earlier = tuple(each for each in proposals.rejected if each.expires_s > at_s)
        return replace(knowledge, proposals=replace(proposals, rejected=(*earlier, quiet))), ended
    proposals, ended = without_proposal(knowledge.proposals, at_s, "approved", command.who)
    last, mode, wanted = knowledge.schedule.last, knowledge.schedule.mode, proposal.on(knowledge.desired)
    if last is not None:
        ended.append(Decided(at_s=at_s, id=proposal.decision_id, mode=mode, policy=proposal.policy, decision=last, effect="approved"))
    if proposal.guarded and knowledge.last is not None:
        effects = with_trial(knowledge.effects, knowledge.last, knowledge.desired, wanted, proposal.decision_id, at_s)
        knowledge = replace(knowledge, effects=effects)
    author = Author(decision_id=proposal.decision_id, policy=proposal.policy)
    return adopt(replace(knowledge, proposals=proposals), wanted, author, at_s), ended


def refuse_answer(knowledge: Knowledge, command: Approve | Reject, at_s: float, terms: Terms) -> str:
    """Return why an answer cannot be taken; empty if it can."""
    proposal = knowledge.proposals.open
    if terms.autopilot.mode != "ask":
        return f"the mode is {terms.autopilot.mode}; proposals are made in ask"
    open_now = "no proposal is open" if proposal is None else f"the open proposal is {proposal.number}"
    if command.proposal is not None and (proposal is None or command.proposal != proposal.number):
        was = 1 <= command.proposal < knowledge.proposals.next_number
        return f"{'it was answered, replaced or has expired' if was else 'there was none of that number'}; {open_now}"
    if proposal is None:
        return open_now
    if isinstance(command, Reject):
        return ""
    return refuse_approval(knowledge, proposal, at_s, terms)


def refuse_approval(knowledge: Knowledge, proposal: Proposal, at_s: float, terms: Terms) -> str:
    """Return why a proposal cannot be adopted now: a held knob, values that exclude each other by now, the owner's limits; empty if it can."""
    wanted = Decision(policy=proposal.policy, configuration=proposal.on(knowledge.desired), current=knowledge.desired, why=Comparison(code="between_decisions"))
    held = [move.address for move in wanted.change.moves if knowledge.is_held(move.address)]
    if held:
        return f"an operator holds {', '.join(held)}; penstock release ends the hold"
    if misfit := refuse_change(wanted.change, wanted.configuration):
        return misfit
    final = owner_allows(wanted, allowed_now(terms, knowledge.last, at_s))
    if final.configuration == wanted.configuration:
        return ""
    return f"[autopilot] does not allow it any more: {'; '.join(each.words() for each in final.guards)}"


def pause(knowledge: Knowledge, paused: Paused) -> tuple[Knowledge, list[Event]]:
    """Return knowledge in which the policy decides nothing."""
    said = PolicyPaused(at_s=paused.since_s, who=paused.who, until_s=paused.until_s, reason=paused.reason)
    return replace(knowledge, trust=replace(knowledge.trust, paused=paused)), [said]


def resume(knowledge: Knowledge, who: str, at_s: float) -> tuple[Knowledge, list[Event]]:
    """Return knowledge in which the policy decides at once, from the load measured from now on; its failures before the pause are cleared."""
    if knowledge.trust.paused is None:
        return knowledge, [CommandRefused(at_s=at_s, who=who, knob="resumption", value="of the policy", reason="it is not paused")]
    schedule = knowledge.schedule.afresh(at_s, knowledge.steered(knowledge.schedule.mode))
    trust = replace(knowledge.trust, paused=None, failed_in_a_row=0)
    return replace(knowledge, schedule=schedule, trust=trust), [PolicyResumed(at_s=at_s, who=who)]
