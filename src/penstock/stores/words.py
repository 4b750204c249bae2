"""Words of our own vocabulary: they are never a secret, and a value without them could not be read back, or would mean something else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from penstock.core.domain.command import Command
from penstock.core.domain.events.event import event_classes
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.reading import Reading
from penstock.core.domain.reasons import REASONS
from penstock.core.execute.reconcile import KNOBS, STEERABLE
from penstock.core.fitting import FitAsked, FitDone
from penstock.core.knowledge import Knowledge
from penstock.core.policies.registry import POLICIES, parameters_of
from penstock.core.terms import Terms


@cache
def closed_words() -> frozenset[str]:
    """Every literal of what a history holds, the reason codes, the policies with their parameters, the knobs, and the names of commands and instructions."""
    spoken = (*Command.__subclasses__(), *Instruction.__subclasses__())
    held = (Reading, Knowledge, Terms, Outcome, FitAsked, FitDone, *spoken, *event_classes().values())
    named = {each.__name__ for each in spoken} | {"executors", *KNOBS, *STEERABLE}
    parameters = {parameter for policy in POLICIES for parameter in parameters_of(policy)}
    return frozenset({*literals_of(*held), *REASONS, *POLICIES, *parameters, *named})


def literals_of(*kinds: Any) -> frozenset[str]:
    """The words of all literals in the declarations of these classes, and of the classes that those hold.

    >>> from penstock.core.domain.trigger import Trigger
    >>> sorted(literals_of(Trigger))
    ['available_now', 'processing_time', 'real_time']
    """
    seen: set[Any] = set()
    return frozenset(word for kind in kinds for word in _literals(kind, seen))


def _literals(hint: Any, seen: set[Any]) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from (word for word in get_args(hint) if isinstance(word, str))
    elif is_dataclass(hint) and hint not in seen:
        seen.add(hint)
        hints = get_type_hints(hint)
        for each in fields(hint):
            yield from _literals(hints[each.name], seen)
    else:
        for part in get_args(hint):
            yield from _literals(part, seen)
