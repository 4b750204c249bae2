"""The mistakes in one job file, as lines that show what the file says and never the value of a secret."""

import json
import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from penstock.core.errors import UserMistake
from penstock.runtime.secrets import Keys

_LONGEST_SHOWN = 80
_FAMILY = {"query": "queries", "sink": "queries", "source": "sources"}
_DEPTH = {"queries": 3, "sources": 3, "autopilot": 2}
"""The number of keys after which parts of these tables are independent of each other; any other table is one part."""
_LEADS_TO = {"sources": "sources", "kafka": "bootstrap"}
"""A mistake in these tables may cause one at this key of another table."""


class Mistakes:
    """Collects the mistakes of a file while it is checked.

    Keys are those of the file with its shorthands expanded; `written` maps their beginnings to the keys in the file. An empty `file` stands for a script.
    """

    def __init__(self, file: str, declared: Mapping[str, Any]) -> None:
        self.written: dict[Keys, Keys] = {}
        self._file = file
        self._declared = declared
        self._found: list[tuple[Keys, str]] = []
        self._settled: tuple[Keys, ...] = ()

    def add(self, keys: Keys, line: str) -> None:
        self.repeat(keys, f"{self.where(keys)}: {line}")

    def repeat(self, keys: Keys, line: str) -> None:
        """Add a line that already says where in the file it belongs."""
        place = self._in_file(keys)
        if not any(_follows(place, earlier) for earlier in self._settled):
            self._found.append((place, f"{self._file}: {line}".removeprefix(": ")))

    def found(self, keys: Keys, allowed: str) -> None:
        self.add(keys, f"found {self.shown(keys)}, {allowed} is allowed")

    def unknown(self, keys: Keys, known: Collection[str]) -> None:
        close = get_close_matches(str(keys[-1]), known, n=1, cutoff=0.7)
        self.add(keys, f'unknown key, did you mean "{close[0]}"?' if close else f"unknown key, allowed are {', '.join(known)}")

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for _, line in self._found)

    def is_known(self, keys: Keys) -> bool:
        return self._in_file(keys) in {place for place, _ in self._found}

    def within(self, table: str) -> bool:
        """Return whether a mistake anywhere in a table was found."""
        return any(place[0] == table for place, _ in self._found)

    def settle(self) -> None:
        """From here on ignore mistakes that may only follow from those found so far."""
        self._settled = tuple(place for place, _ in self._found)

    def stop(self) -> None:
        """Raise the first mistake, if there is one, with the number of others."""
        if self._found:
            more = f" (and {len(self._found) - 1} more)" if len(self._found) > 1 else ""
            raise UserMistake(f"{self._found[0][1]}{more}")

    def where(self, keys: Keys) -> str:
        return ".".join(_key_text(each) for each in self._in_file(keys))

    def shown(self, keys: Keys, default: object = None) -> str:
        """Return the value as the file has it, secrets unresolved."""
        value = self.declared(keys)
        return value_text(default if value is None else value)

    def declared(self, keys: Keys) -> Any:
        value: Any = self._declared
        for key in self._in_file(keys):
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value

    def _in_file(self, keys: Keys) -> Keys:
        for length in range(len(keys), 0, -1):
            if keys[:length] in self.written:
                return self.written[keys[:length]] + keys[length:]
        return keys


def _follows(place: Keys, earlier: Keys) -> bool:
    """Return whether a mistake may be only a consequence of an earlier one.

    >>> _follows(("queries", "a", "sources"), ("sources", "clicks", "format")), _follows(("autopilot", "policy"), ("autopilot", "mode"))
    (True, False)
    """
    table, cause = (_FAMILY.get(str(each[0]), str(each[0])) for each in (place, earlier))
    if table != cause:
        return place[-1] == _LEADS_TO.get(cause)
    length = min(len(place), len(earlier), _DEPTH.get(table, 1))
    return place[1:length] == earlier[1:length]


def _key_text(key: str | int) -> str:
    """Return a key as TOML writes it.

    >>> _key_text("limits"), _key_text("spark.executor.memory")
    ('limits', '"spark.executor.memory"')
    """
    return str(key) if isinstance(key, int) or re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def value_text(value: object) -> str:
    """Return a value as TOML writes it, shortened if it is long.

    >>> value_text({"real_time": "soon"}), value_text([1, True])
    ('{ real_time = "soon" }', '[1, true]')
    """
    if isinstance(value, dict):
        text = f"{{ {', '.join(f'{_key_text(key)} = {value_text(each)}' for key, each in value.items())} }}" if value else "an empty table"
        return text if len(text) <= _LONGEST_SHOWN else "a table"
    if isinstance(value, list):
        text = f"[{', '.join(value_text(each) for each in value)}]" if value else "an empty list"
        return text if len(text) <= _LONGEST_SHOWN else "a list"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
