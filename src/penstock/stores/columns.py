"""Frozen values as flat columns, derived from their declarations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from penstock.core.domain.trigger import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A name, the type of its cells (float, int, bool or str; any cell may be None), and how to get a cell from a value."""

    name: str
    type: type
    cell: Callable[[Any], Any]


def columns_of(kind: type, prefix: str = "") -> tuple[Column, ...]:
    """The columns of a dataclass: nested values by joined names, mappings as JSON; tuples are tables of their own and left out.

    >>> from penstock.core.domain.reading import Quantiles
    >>> [column.name for column in columns_of(Quantiles, "latency_")]
    ['latency_p50_s', 'latency_p95_s', 'latency_p99_s']
    """
    hints = get_type_hints(kind)
    return tuple(column for each in fields(kind) for column in _columns_of_field(each.name, _known(hints[each.name]), prefix))


def iso_utc(at_s: float) -> str:
    """A moment for people and other programs.

    >>> iso_utc(1_700_000_000.25)
    '2023-11-14T22:13:20.250Z'
    """
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _columns_of_field(name: str, kind: Any, prefix: str) -> tuple[Column, ...]:
    if kind is Trigger:
        return (Column(name=prefix + name, type=str, cell=lambda value: str(getattr(value, name))),)
    if is_dataclass(kind) and isinstance(kind, type):
        return tuple(replace(each, cell=_within(name, each.cell)) for each in columns_of(kind, f"{prefix}{name}_"))
    if get_origin(kind) is tuple:
        return ()
    if get_origin(kind) in (dict, Mapping):
        return (Column(name=prefix + name, type=str, cell=lambda value: json.dumps(getattr(value, name))),)
    return (Column(name=prefix + name, type=kind, cell=lambda value: getattr(value, name)),)


def _within(name: str, cell: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A cell of a part of the value; None where the part is unknown."""
    return lambda value: None if (part := getattr(value, name)) is None else cell(part)


def _known(hint: Any) -> Any:
    """The type of a value that may be unknown, once it is known."""
    kinds = [each for each in get_args(hint) if each is not NoneType]
    return kinds[0] if NoneType in get_args(hint) else hint
