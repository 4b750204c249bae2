"""What differs between two job files: of `[autopilot]` key by key, of the rest which tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from penstock.core.domain.autopilot import Autopilot
from penstock.core.domain.units import duration_words
from penstock.runtime.jobfile.autopilot import TABLE
from penstock.runtime.jobfile.mistakes import value_text
from penstock.runtime.jobfile.tables import AUTOPILOT_KEYS, AutopilotTable

Change = tuple[str, str, str]
Declared = Mapping[str, Any]
NOTHING = "none"


def autopilot_changes(before: Autopilot, now: Autopilot, declared_before: Declared, declared_now: Declared) -> tuple[Change, ...]:
    """Key, value before and value now of all that differs, as the files write it: what a secret resolves to is in none of them."""
    written, rewritten = (_table(each) for each in (declared_before, declared_now))
    found: list[Change] = []
    for field in fields(Autopilot):
        if getattr(before, field.name) == getattr(now, field.name):
            continue
        key = AUTOPILOT_KEYS[field.name]
        if key in ("parameters", "calendar"):
            found += _inside(key, _named(written.get(key)), _named(rewritten.get(key)))
        else:
            found.append((key, _words(written, key), _words(rewritten, key)))
    return tuple(found)


def profile_change(declared_before: Declared, declared_now: Declared) -> Change:
    return ("profile", _words(_table(declared_before), "profile"), _words(_table(declared_now), "profile"))


def other_tables(declared_before: Declared, declared_now: Declared) -> tuple[str, ...]:
    """What differs at the top of the files besides `[autopilot]`.

    >>> other_tables({"name": "a", "limits": {"max_executors": 4}}, {"name": "a", "limits": {"max_executors": 5}, "spark": {}})
    ('limits', 'spark')
    """
    keys = dict.fromkeys([*declared_before, *declared_now])
    return tuple(key for key in keys if key != TABLE and declared_before.get(key) != declared_now.get(key))


def _table(declared: Declared) -> Mapping[str, Any]:
    table: Mapping[str, Any] = declared.get(TABLE, {})
    return table


def _words(table: Mapping[str, Any], key: str) -> str:
    """A value as it is written, texts without quotes; where it is not, the default.

    >>> _words({}, "ask_expiry"), _words({"hours": ["sat-sun"]}, "hours"), _words({}, "mode"), _words({}, "quota_executors")
    ('10m', '["sat-sun"]', 'observe', 'none')
    """
    if key in table:
        return _text(table[key])
    default = AutopilotTable.model_fields[key].default
    if isinstance(default, float):
        return f"{default:g}" if key == "time_scale" else duration_words(default)
    return NOTHING if default in (None, ()) else _text(default)


def _text(value: object) -> str:
    return value if isinstance(value, str) else value_text(value)


def _named(table: object) -> dict[str, str]:
    """The parts of a table or, by their names, of a list of tables, as texts."""
    if isinstance(table, list):
        return {_text(each["name"]): value_text({key: value for key, value in each.items() if key != "name"}) for each in table}
    return {key: _text(value) for key, value in table.items()} if isinstance(table, Mapping) else {}


def _inside(key: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[Change]:
    """One change a name.

    >>> _inside("parameters", {"grace_s": "120"}, {"grace_s": "60", "horizon_s": "10m"})
    [('parameters.grace_s', '120', '60'), ('parameters.horizon_s', 'none', '10m')]
    """
    names = dict.fromkeys([*before, *now])
    return [(f"{key}.{name}", before.get(name, NOTHING), now.get(name, NOTHING)) for name in names if before.get(name) != now.get(name)]
