"""The mistakes found in one job file, as lines that show what the file says and never what a secret resolves to."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from penstock.core.errors import UserMistake
from penstock.runtime.secrets import Keys

_LONGEST_SHOWN = 80


class Mistakes:
    """A list that grows while the file is checked, and at the end is one `UserMistake` if it is not empty.

    Keys are those of the file with its shorthands written out; `written` leads from their beginnings to what the file has.
    """

    def __init__(self, file: str, declared: Mapping[str, Any]) -> None:
        self.written: dict[Keys, Keys] = {}
        self._file = file
        self._declared = declared
        self._lines: list[str] = []

    def add(self, keys: Keys, line: str) -> None:
        self._lines.append(f"{self.where(keys)}: {line}")

    def found(self, keys: Keys, allowed: str) -> None:
        self.add(keys, f"found {self.shown(keys)}, {allowed} is allowed")

    def unknown(self, keys: Keys, known: Collection[str]) -> None:
        close = get_close_matches(str(keys[-1]), known, n=1, cutoff=0.7)
        self.add(keys, f'unknown key, did you mean "{close[0]}"?' if close else f"unknown key, allowed are {', '.join(known)}")

    def stop(self) -> None:
        """Raise the first mistake, if there is one, and say how many more there are."""
        if self._lines:
            more = f" (and {len(self._lines) - 1} more)" if len(self._lines) > 1 else ""
            raise UserMistake(f"{self._file}: {self._lines[0]}{more}")

    def where(self, keys: Keys) -> str:
        return ".".join(_key_text(each) for each in self._in_file(keys))

    def shown(self, keys: Keys, default: object = None) -> str:
        """The value as the file has it, secrets unresolved."""
        value = self.declared(keys)
        return _value_text(default if value is None else value)

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


def _key_text(key: str | int) -> str:
    """A key as TOML writes it.

    >>> _key_text("limits"), _key_text("spark.executor.memory")
    ('limits', '"spark.executor.memory"')
    """
    return str(key) if isinstance(key, int) or re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)


def _value_text(value: object) -> str:
    """A value as TOML writes it, if that is short.

    >>> _value_text({"real_time": "soon"}), _value_text([1, True])
    ('{ real_time = "soon" }', '[1, true]')
    """
    if isinstance(value, dict):
        text = f"{{ {', '.join(f'{_key_text(key)} = {_value_text(each)}' for key, each in value.items())} }}" if value else "an empty table"
        return text if len(text) <= _LONGEST_SHOWN else "a table"
    if isinstance(value, list):
        text = f"[{', '.join(_value_text(each) for each in value)}]" if value else "an empty list"
        return text if len(text) <= _LONGEST_SHOWN else "a list"
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
