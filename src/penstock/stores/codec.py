"""The values of the core as compact JSON, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

from penstock.core.domain import autopilot_event  # noqa: F401  # its classes are events that a history holds
from penstock.core.domain.event import Event, event_classes
from penstock.core.domain.instruction import Instruction
from penstock.core.domain.trigger import Kind
from penstock.core.knowledge import Knowledge
from penstock.core.redaction import Redactor
from penstock.stores.faults import DecodeError

Value = TypeVar("Value")

_CLOSED_WORDS = frozenset(get_args(Kind))
"""Words of our own vocabulary: they are never a secret, and a value without them could not be read back."""

_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def encode(value: object, redactor: Redactor = Redactor()) -> str:
    """A value as JSON: keys in the order of declaration, exact floats, no secret in any text.

    >>> from penstock.core.domain.instruction import ScaleExecutors
    >>> encode(ScaleExecutors(number=7, executors=3))
    '{"number":7,"executors":3}'
    """
    return json.dumps(_plain(value, redactor.text), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_knowledge(knowledge: Knowledge, redactor: Redactor = Redactor()) -> str:
    """Knowledge as JSON, without what is under way: an instruction dies with the controller that gave it."""
    return encode(replace(knowledge, pending=()), redactor)


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


def decode_instruction(kind: str, text: str) -> Instruction:
    return decode(_named(kind, {each.__name__: each for each in Instruction.__subclasses__()}), text)


def _named(kind: str, known: Mapping[str, type[Value]]) -> type[Value]:
    if kind not in known:
        raise DecodeError(f"it holds a {kind}, which this Penstock does not know")
    return known[kind]


def _adapter(kind: type[Value]) -> TypeAdapter[Value]:
    """Building one takes milliseconds, so each is built once."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def _plain(value: Any, redact: Callable[[str], str]) -> Any:
    """The value in what JSON knows; a float it does not know becomes its name, which reads back as the float."""
    match value:
        case None | bool() | int():
            return value
        case str():
            return value if value in _CLOSED_WORDS else redact(value.encode("utf-8", "replace").decode())
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {_plain(key, redact): _plain(each, redact) for key, each in value.items()}
        case tuple() | list():
            return [_plain(each, redact) for each in value]
        case _ if is_dataclass(value):
            return {each.name: _plain(getattr(value, each.name), redact) for each in fields(value)}
    raise TypeError(f"the history cannot hold a {type(value).__name__}")
