"""The values of the core as compact JSON, and back."""

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
    """Return a value as JSON: keys in the order of declaration except those in `without`, exact floats, secrets masked.

    A number declared as float is written with a point, so that a value that was read back is encoded to the same bytes.

    >>> from penstock.core.domain.configuration import Configuration
    >>> encode(Configuration(executors=3))
    '{"executors":3,"queries":{}}'
    >>> encode(Outcome(number=7, done=True, took_s=2), without=("down_s", "delayed_rows", "reason", "failed"))
    '{"number":7,"done":true,"took_s":2.0}'
    """
    return json.dumps(_plain(value, redactor.text, without=without), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_knowledge(knowledge: Knowledge, redactor: Redactor = Redactor(), *, without: Collection[str] = ()) -> str:
    """Return knowledge as JSON, without pending instructions: they end with their controller."""
    return encode(knowledge, redactor, without=("pending", *without))


def decode(kind: type[Value], text: str) -> Value:
    """Return the value of a class from what `encode` wrote."""
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
    """Return the adapter of a class, built once as that takes milliseconds."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def _plain(value: Any, redact: Callable[[str], str], floats: bool = False, without: Collection[str] = ()) -> Any:
    """Return the value in JSON's types; NaN and infinity become texts that are read back as floats.

    `floats` says that every number in the value is declared as float; `without` names fields of the value itself to leave out.
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
    """Return the fields of a class, each with whether all its numbers are declared as floats."""
    if kind not in _shapes:
        hints = get_type_hints(kind)
        kinds = {each.name: set(_innermost(hints[each.name])) for each in fields(kind)}
        _shapes[kind] = tuple((name, float in inner and int not in inner) for name, inner in kinds.items())
    return _shapes[kind]


def _innermost(hint: Any) -> Iterator[Any]:
    """Yield the types that a type hint is made of, without the fields of classes."""
    parts = get_args(hint)
    if not parts:
        yield hint
    for part in parts:
        yield from _innermost(part)


@cache
def closed_words() -> frozenset[str]:
    """Return every literal of what a history holds, the reason codes, the policies with their parameters, the knobs, and the names of commands."""
    spoken = Command.__subclasses__()
    held = (Reading, Knowledge, Terms, Instruction, Outcome, FitAsked, FitDone, *spoken, *event_classes().values())
    named = {each.__name__ for each in spoken} | {*KNOBS, RUNNING}
    parameters = {parameter for policy in POLICIES for parameter in parameters_of(policy)}
    return frozenset({*literals_of(*held), *REASONS, *POLICIES, *parameters, *named})


def literals_of(*kinds: Any) -> frozenset[str]:
    """Return the words of all literals in the fields of these classes and of the classes nested in them.

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
