"""The values of the core as compact JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError

from penstock.core.domain.command import Command
from penstock.core.domain.events.event import Event, event_classes
from penstock.core.domain.instruction import Instruction, Outcome
from penstock.core.domain.knobs import KNOBS
from penstock.core.domain.reading import Reading
from penstock.core.domain.reasons import REASONS
from penstock.core.execute.reconcile import RUNNING
from penstock.core.knowledge.fitting import FitAsked, FitDone
from penstock.core.knowledge.knowledge import Knowledge
from penstock.core.knowledge.terms import Terms
from penstock.core.policies.registry import POLICIES, parameters_of
from penstock.core.redaction import Redactor

Value = TypeVar("Value")


_adapters: dict[type[Any], TypeAdapter[Any]] = {}
_shapes: dict[type[Any], tuple[tuple[str, bool], ...]] = {}


class DecodeError(ValueError):
    """A stored value that this version of Penstock cannot read."""


def encode(value: object, redactor: Redactor = Redactor(), *, without: Collection[str] = ()) -> str:
    """A value as JSON: keys in the order of declaration, those in `without` left out, exact floats, no secret in any text.

    A number is written as it is declared, a float with its point, so that what was read back is written in the same bytes.

    >>> from penstock.core.domain.configuration import Configuration
    >>> encode(Configuration(executors=3))
    '{"executors":3,"queries":{}}'
    >>> encode(Outcome(number=7, done=True, took_s=2), without=("down_s", "delayed_rows", "reason"))
    '{"number":7,"done":true,"took_s":2.0}'
    """
    return json.dumps(_plain(value, redactor.text, without=without), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_knowledge(knowledge: Knowledge, redactor: Redactor = Redactor(), *, without: Collection[str] = ()) -> str:
    """Knowledge as JSON, without what is under way: an instruction dies with the controller that gave it."""
    return encode(knowledge, redactor, without=("pending", *without))


def decode(kind: type[Value], text: str) -> Value:
    """The value of a known class that `encode` wrote."""
    try:
        return _adapter(kind).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise DecodeError(f"it holds a {kind.__name__} that this Penstock cannot read, {where}: {first['msg']}") from None


def decode_event(kind: str, text: str) -> Event:
    return decode(_named(kind, event_classes()), text)


def decode_command(kind: str, text: str) -> Command:
    return decode(_named(kind, {each.__name__: each for each in Command.__subclasses__()}), text)


def _named(kind: str, known: Mapping[str, type[Value]]) -> type[Value]:
    if kind not in known:
        raise DecodeError(f"it holds a {kind}, which this Penstock does not know")
    return known[kind]


def _adapter(kind: type[Value]) -> TypeAdapter[Value]:
    """Building one takes milliseconds, so each is built once."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def _plain(value: Any, redact: Callable[[str], str], floats: bool = False, without: Collection[str] = ()) -> Any:
    """The value in what JSON knows; a float it does not know becomes its name, which reads back as the float.

    With `floats` every number within is declared as one; fields of the value itself may be left out.
    """
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case None | bool() | int():
            return float(value) if floats and type(value) is int else value
        case str():
            return value if value in closed_words() else redact(value.encode("utf-8", "replace").decode())
        case tuple() | list():
            return [_plain(each, redact, floats) for each in value]
        case _ if hasattr(value, "__dataclass_fields__"):
            return {name: _plain(getattr(value, name), redact, inner) for name, inner in _shape(type(value)) if name not in without}
        case Mapping():
            return {_plain(key, redact): _plain(each, redact, floats) for key, each in value.items()}
    raise TypeError(f"the history cannot hold a {type(value).__name__}")


def _shape(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """The fields of a class, each with whether all the numbers in it are declared as floats."""
    if kind not in _shapes:
        hints = get_type_hints(kind)
        kinds = {each.name: set(_innermost(hints[each.name])) for each in fields(kind)}
        _shapes[kind] = tuple((name, float in inner and int not in inner) for name, inner in kinds.items())
    return _shapes[kind]


def _innermost(hint: Any) -> Iterator[Any]:
    """The types that a type is made of; what a class holds is its own matter."""
    parts = get_args(hint)
    if not parts:
        yield hint
    for part in parts:
        yield from _innermost(part)


@cache
def closed_words() -> frozenset[str]:
    """Every literal of what a history holds, the reason codes, the policies with their parameters, the knobs, and the names of commands."""
    spoken = Command.__subclasses__()
    held = (Reading, Knowledge, Terms, Instruction, Outcome, FitAsked, FitDone, *spoken, *event_classes().values())
    named = {each.__name__ for each in spoken} | {*KNOBS, RUNNING}
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
