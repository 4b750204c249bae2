"""Checking the tree of a job file against its tables."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from penstock.runtime.jobfile.kinds import NAME, Kind
from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.jobfile.shorthand import SHORTHANDS
from penstock.runtime.jobfile.tables import JobTable, Table
from penstock.runtime.secrets import Keys


def checked(tree: dict[str, Any], mistakes: Mistakes) -> JobTable | None:
    """The tables, or None where one is wrong; unknown keys come first, as they often explain what else is missing."""
    try:
        return JobTable.model_validate(tree)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
    for each in sorted(found, key=lambda each: each["type"] != "extra_forbidden"):
        _explain(each, tree, mistakes)
    return None


def _explain(error: ErrorDetails, tree: dict[str, Any], mistakes: Mistakes) -> None:
    keys = error["loc"]
    if error["type"] == "extra_forbidden":
        known = list(_table_at(keys[:-1]).model_fields)
        mistakes.unknown(keys, known if len(keys) > 1 else [*known, *SHORTHANDS])
    elif error["type"] == "missing":
        mistakes.add(keys, _missing_words(keys, tree))
    elif keys[-1] == "[key]":
        mistakes.add(keys[:-1], f"{NAME.allowed} is allowed")
    elif error["type"] == "not_allowed":
        mistakes.found(keys, error["ctx"]["allowed"])
    else:
        mistakes.found(keys, "a table")


def _missing_words(keys: Keys, tree: dict[str, Any]) -> str:
    table, field = _table_at(keys[:-1]), str(keys[-1])
    needed = next((each.allowed for each in table.model_fields[field].metadata if isinstance(each, Kind)), "a table")
    beside: Any = tree
    for key in keys[:-1]:
        beside = beside[key]
    close = get_close_matches(field, [each for each in beside if each not in table.model_fields], n=1, cutoff=0.7)
    return f"missing, {needed} is needed" + (f'; is "{close[0]}" meant to be it?' if close else "")


def _table_at(keys: Keys) -> type[Table]:
    """The table that the keys lead to."""
    at: Any = JobTable
    for key in keys:
        named_tables = get_args(at)
        at = named_tables[1] if named_tables else at.model_fields[str(key)].annotation
    return at  # type: ignore[no-any-return]
