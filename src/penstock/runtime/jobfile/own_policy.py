"""A policy of the owner's own, `policy = "file.py:Class"`: load it, make it with its parameters, and check its interface."""

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

from penstock.core import settings
from penstock.core.domain.autopilot import Autopilot
from penstock.core.errors import UserMistake
from penstock.core.knowledge.policy import Need, Policy
from penstock.core.policies.registry import in_time, nearest
from penstock.references import load_module

WHERE = "autopilot.policy"
PARAMETERS = "autopilot.parameters"
PARTS = ("name", "period_s", "needs", "faithful", "decide")
NEEDS = get_args(Need)


def is_own(policy: str) -> bool:
    """Return whether this names a class, not one of Penstock's policies."""
    return ":" in policy


def own_policy(autopilot: Autopilot, folder: str | Path = ".") -> Policy | None:
    """Return the owner's policy with its parameters and time scale; None if the policy is one of Penstock's. Relative files start from `folder`."""
    if not is_own(autopilot.policy):
        return None
    policy: Policy = _made(_found(autopilot.policy, Path(folder)), autopilot)
    mistakes = [f"{WHERE}: {autopilot.policy}: {line}" for line in _lacks(policy)]
    if mistakes:
        raise UserMistake(*mistakes)
    if is_dataclass(policy):
        policy = in_time(policy, autopilot.time_scale)
    return policy


def import_words(error: BaseException) -> str:
    """Return why the user's module could not be imported, with file and line, which a syntax error already has."""
    words = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return words
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{words} ({last.filename}, line {last.lineno})"


def _found(reference: str, folder: Path) -> type[Any]:
    file, _, name = reference.rpartition(":")
    try:
        module = load_module(file, folder, WHERE)
    except UserMistake:
        raise
    except (Exception, SystemExit) as error:
        raise UserMistake(f"{WHERE}: {file} cannot be imported: {import_words(error)}") from None
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        there = [name for name, each in vars(module).items() if isinstance(each, type) and each.__module__ == module.__name__]
        raise UserMistake(f"{WHERE}: {file} has no class {name!r}; {nearest(name, there) if there else 'there is none'}")
    return found


def _made(kind: type[Any], autopilot: Autopilot) -> Any:
    declared = {each.name: each for each in fields(kind) if _settable(each)} if is_dataclass(kind) else {}
    given: dict[str, float | bool] = {}
    mistakes: list[str] = []
    for name, value in autopilot.parameters.items():
        try:
            given[name] = _value(kind, declared, name, value)
        except UserMistake as mistake:
            mistakes.append(str(mistake))
    if mistakes:
        raise UserMistake(*mistakes)
    try:
        return kind(**given)
    except Exception as error:
        raise UserMistake(f"{WHERE}: {autopilot.policy} cannot be made: {type(error).__name__}: {error}") from None


def _settable(field: Field[Any]) -> bool:
    """Return whether a field is a parameter: a number, true or false, or without a default."""
    return (
        field.init
        and field.name not in ("name", "needs", "faithful")
        and (isinstance(field.default, (bool, int, float)) or (field.default is MISSING and field.default_factory is MISSING))
    )


def _value(kind: type[Any], declared: Mapping[str, Field[Any]], name: str, value: float | bool) -> float | bool:
    if name not in declared:
        known = nearest(name, declared) if declared else "a parameter is a number, or true or false, among the fields of a dataclass, and it has none"
        raise UserMistake(f"{PARAMETERS}.{name}: the policy {kind.__name__} has no such parameter; {known}")
    if "meaning" in declared[name].metadata:
        settings.check(kind, PARAMETERS, name, value)
    default = declared[name].default
    if default is not MISSING and isinstance(default, bool) != isinstance(value, bool):
        raise UserMistake(f"{PARAMETERS}.{name}: found {value!r}, {'true or false' if isinstance(default, bool) else 'a number'} is allowed")
    if isinstance(default, bool) or not isinstance(default, int):
        return value
    if value != int(value):
        raise UserMistake(f"{PARAMETERS}.{name}: found {value:g}, a whole number is allowed")
    return int(value)


def _lacks(policy: Any) -> Iterator[str]:
    """Yield a line for each part of a policy that is missing or wrong."""
    missing = [each for each in PARTS if not hasattr(policy, each)]
    if missing:
        yield f"it lacks {', '.join(missing)}; a policy has name, period_s, needs, faithful and decide(seen)"
        return
    if not isinstance(policy.name, str) or not policy.name.strip() or ":" in policy.name:
        yield f'its name is {policy.name!r}, a text without ":" is needed'
    if isinstance(policy.period_s, bool) or not isinstance(policy.period_s, (int, float)) or not policy.period_s > 0:
        yield f"its period_s is {policy.period_s!r}, a number of seconds above 0 is needed"
    if not isinstance(policy.needs, (set, frozenset)) or not policy.needs <= set(NEEDS):
        yield f"its needs are {policy.needs!r}, a set of {', '.join(NEEDS)} is needed"
    if not isinstance(policy.faithful, bool):
        yield f"its faithful is {policy.faithful!r}, True or False is needed"
    if not callable(policy.decide):
        yield "its decide is no function"
