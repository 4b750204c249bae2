"""Expand the shorthands of a job file, and check its tree against its tables."""

from collections.abc import Mapping
from difflib import get_close_matches
from itertools import takewhile
from typing import Any, get_args

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from penstock.runtime.jobfile.kinds import NAME, Kind
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.tables import JobTable, Table
from penstock.runtime.secrets import Keys

SHORTHANDS = ("query", "source", "sink")


def checked(tree: dict[str, Any], mistakes: Mistakes) -> JobTable:
    """Return the tables without what is wrong in them; unknown keys are reported first, as they often explain what is missing."""
    while True:
        try:
            return JobTable.model_validate(tree)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
        for each in sorted(found, key=lambda each: each["type"] != "extra_forbidden"):
            if not mistakes.is_known(_place(each)):
                _explain(each, tree, mistakes)
        for each in found:
            tree = without(tree, _place(each)[:-1] if each["type"] == "missing" else _place(each))


def without(tree: dict[str, Any], keys: Keys) -> dict[str, Any]:
    """Return the tree without what the keys lead to; a list is dropped as a whole.

    >>> without({"a": {"b": 1, "c": [2, 3]}, "d": 4}, ("a", "c", 0))
    {'a': {'b': 1}, 'd': 4}
    """
    first, *below = takewhile(lambda key: not isinstance(key, int), keys)
    inner = tree.get(str(first))
    if below and isinstance(inner, dict):
        return {**tree, str(first): without(inner, tuple(below))}
    return {key: each for key, each in tree.items() if key != first}


def _place(error: ErrorDetails) -> Keys:
    return error["loc"][:-1] if error["loc"][-1] == "[key]" else error["loc"]


def _explain(error: ErrorDetails, tree: dict[str, Any], mistakes: Mistakes) -> None:
    keys = error["loc"]
    if error["type"] == "extra_forbidden":
        known = [_key(name, field) for name, field in _table_at(keys[:-1]).model_fields.items()]
        mistakes.unknown(keys, known if len(keys) > 1 else [*known, *SHORTHANDS])
    elif error["type"] == "missing":
        mistakes.add(keys, _missing_words(keys, tree))
    elif keys[-1] == "[key]":
        mistakes.add(keys[:-1], f"{NAME.allowed} is allowed")
    elif error["type"] == "not_allowed":
        mistakes.found(keys, error["ctx"]["allowed"])
    elif error["type"] == "tuple_type":
        mistakes.found(keys, f"a list of tables ([[{mistakes.where(keys)}]])")
    else:
        mistakes.found(keys, "a table")


def _missing_words(keys: Keys, tree: dict[str, Any]) -> str:
    table = _table_at(keys[:-1])
    fields = {_key(name, field): field for name, field in table.model_fields.items()}
    needed = next((each.allowed for each in fields[str(keys[-1])].metadata if isinstance(each, Kind)), "a table")
    beside: Any = tree
    for key in keys[:-1]:
        beside = beside[key]
    close = get_close_matches(str(keys[-1]), [each for each in beside if each not in fields], n=1, cutoff=0.7)
    return f"missing, {needed} is needed" + (f'; is "{close[0]}" meant to be it?' if close else "")


def _key(name: str, field: FieldInfo) -> str:
    return field.alias or name


def _table_at(keys: Keys) -> type[Table]:
    at: Any = JobTable
    for key in keys:
        named: Mapping[str, Any] = getattr(at, "model_fields", {})
        at = named[str(key)].annotation if named else get_args(at)[0 if isinstance(key, int) else 1]
    return at  # type: ignore[no-any-return]


def written_out(tree: dict[str, Any], job_name: str, mistakes: Mistakes) -> dict[str, Any]:
    """Return the tree with `[query]` as `[queries.<job name>]`, `[source]` as `[sources.source]` and `[sink]` as the only query's sink.

    >>> written_out({"query": {"function": "f"}, "sink": {"format": "noop"}}, "a", Mistakes("job.toml", {}))
    {'queries': {'a': {'function': 'f', 'sink': {'format': 'noop'}}}}
    """
    full = {key: value for key, value in tree.items() if key not in SHORTHANDS}
    if "query" in tree:
        _move(tree, full, "query", ("queries", job_name), mistakes)
    if "source" in tree:
        _move(tree, full, "source", ("sources", "source"), mistakes)
    if "sink" in tree:
        _move_sink(tree["sink"], full, mistakes)
    return full


def _move(tree: dict[str, Any], full: dict[str, Any], short: str, to: tuple[str, str], mistakes: Mistakes) -> None:
    tables, name = full.get(to[0], {}), to[1]
    if not isinstance(tables, dict):
        return
    if name in tables:
        mistakes.add((short,), f"[{mistakes.where(to)}] is the same table; keep one of the two")
        return
    mistakes.written[to] = (short,)
    full[to[0]] = {name: tree[short], **tables}


def _move_sink(sink: object, full: dict[str, Any], mistakes: Mistakes) -> None:
    queries = full.get("queries", {})
    if not isinstance(queries, dict) or not all(isinstance(each, dict) for each in queries.values()):
        return
    if len(queries) != 1:
        mistakes.add(("sink",), f"[sink] is for a job of one query, here are {len(queries)}; write [queries.NAME.sink]")
        return
    [(name, query)] = queries.items()
    if "sink" in query:
        mistakes.add(("sink",), f"[{mistakes.where(('queries', name, 'sink'))}] is the same table; keep one of the two")
        return
    mistakes.written[("queries", name, "sink")] = ("sink",)
    full["queries"] = {name: {**query, "sink": sink}}
