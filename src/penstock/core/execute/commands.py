"""What operators say: checked against the terms, then desired and held."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.core.domain.command import Approve, Command, Pause, Reject, Release, Resume, SetExecutors, SetPartitions, SetRateLimit, SetTrigger
from penstock.core.domain.events.event import Event
from penstock.core.domain.events.steering import CommandRefused, CommandTaken, HoldEnded
from penstock.core.domain.trigger import SHORTEST_REAL_TIME_S
from penstock.core.domain.units import count_words, duration_words
from penstock.core.execute.holds import hold
from penstock.core.knowledge import Desired, Hold, Knowledge, with_executors
from penstock.core.terms import Terms

TO_THE_POLICY = (Approve, Reject, Pause, Resume)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """The value that an operator wants a knob to have, as it is and in words; `query` None is for a knob of the whole job."""

    knob: str
    value: Any
    words: str
    query: str | None = None

    @property
    def name(self) -> str:
        """The knob with its query."""
        return f"{self.knob}:{self.query}" if self.query else self.knob


def take_commands(knowledge: Knowledge, commands: Sequence[Command], at_s: float, terms: Terms) -> tuple[Knowledge, list[Event]]:
    """Desire and hold what operators ask of the job; what they say to the policy is not for here."""
    events: list[Event] = []
    for command in commands:
        if isinstance(command, TO_THE_POLICY):
            continue
        if isinstance(command, Release):
            events += [HoldEnded(at_s=at_s, knob=each.knob, value=each.value, expired=False, who=command.who) for each in knowledge.holds]
            knowledge = replace(knowledge, holds=())
            continue
        for wish in wishes(command, knowledge):
            refusal = refuse(knowledge, wish, terms)
            if refusal:
                events.append(CommandRefused(at_s=at_s, who=command.who, knob=wish.knob, value=wish.words, reason=refusal))
                continue
            until_s = at_s + (terms.config.hold_s if command.hold_s is None else command.hold_s)
            knowledge = hold(desire(knowledge, wish), Hold(knob=wish.name, value=wish.words, who=command.who, until_s=until_s))
            events.append(CommandTaken(at_s=at_s, who=command.who, knob=wish.name, value=wish.words, held_until_s=until_s))
    return knowledge, events


def wishes(command: Command, knowledge: Knowledge) -> Iterator[Wish]:
    """Each single wish of a command: one that names no query is for all."""
    if isinstance(command, SetExecutors):
        yield Wish(knob="executors", value=command.executors, words=str(command.executors))
        return
    assert isinstance(command, (SetTrigger, SetRateLimit, SetPartitions))
    for query in [command.query] if command.query else list(knowledge.desired.triggers) or [""]:
        if isinstance(command, SetTrigger):
            yield Wish(knob="trigger", query=query, value=command.trigger, words=str(command.trigger))
        elif isinstance(command, SetRateLimit):
            words = "none" if command.rows_per_s is None else f"{count_words(command.rows_per_s)}/s"
            yield Wish(knob="rate-limit", query=query, value=command.rows_per_s, words=words)
        else:
            yield Wish(knob="partitions", query=query, value=command.partitions, words=str(command.partitions))


def refuse(knowledge: Knowledge, wish: Wish, terms: Terms) -> str | None:
    """Why a wish cannot be taken, or None."""
    limits, query = terms.limits, wish.query
    if wish.knob == "executors":
        if knowledge.last is not None and knowledge.last.unable.get(wish.knob):
            return knowledge.last.unable[wish.knob]
        within = limits.min_executors <= wish.value <= limits.max_executors
        return None if within else f"the job's limits allow {limits.min_executors} to {limits.max_executors} executors"
    if query is None or query not in knowledge.desired.triggers:
        return f"there is no query {query!r}; there are: {', '.join(knowledge.desired.triggers) or 'none'}"
    out_of_bounds = refuse_value(wish.knob, wish.value) or refuse_limit(knowledge.desired, wish.knob, query, wish.value)
    if out_of_bounds:
        return out_of_bounds
    seen = next((each for each in knowledge.last.queries if each.name == query), None) if knowledge.last else None
    return seen.unable.get(wish.knob) if seen else None


def refuse_value(knob: str, value: Any) -> str | None:
    """What is wrong with a value for any query."""
    if knob == "rate-limit" and value is not None and not 0 < value < math.inf:
        return "a limit above 0 rows/s is allowed"
    if knob == "partitions" and value < 1:
        return "at least 1 partition is allowed"
    if knob == "trigger" and value.kind == "real_time" and value.interval_s < SHORTEST_REAL_TIME_S:
        return f"a batch duration of at least {duration_words(SHORTEST_REAL_TIME_S)} is allowed in Real-Time Mode"
    return None


def refuse_limit(desired: Desired, knob: str, query: str, value: Any) -> str | None:
    """What is wrong with a rate limit where Spark reads rows as they come, whichever of the two is wished for."""
    trigger = value if knob == "trigger" else desired.triggers[query]
    limit = value if knob == "rate-limit" else desired.rate_limits_rows_per_s.get(query)
    if knob in ("trigger", "rate-limit") and trigger.kind == "real_time" and limit is not None:
        return "Spark keeps to no rate limit in Real-Time Mode, it reads rows as they come: choose micro-batches, or no limit (penstock rate-limit none)"
    return None


def desire(knowledge: Knowledge, wish: Wish) -> Knowledge:
    desired, query, value = knowledge.desired, wish.query, wish.value
    if wish.knob == "executors":
        return with_executors(knowledge, value)
    assert query is not None
    if wish.knob == "trigger":
        desired = replace(desired, triggers={**desired.triggers, query: value})
    elif wish.knob == "rate-limit":
        desired = replace(desired, rate_limits_rows_per_s={**desired.rate_limits_rows_per_s, query: value})
    else:
        desired = replace(desired, partitions={**desired.partitions, query: value})
    return replace(knowledge, desired=desired)
