"""Options for Spark as flat names and texts, and the paths and code references among them."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.runtime.jobfile.mistakes import Mistakes
from penstock.runtime.secrets import Keys

_OF_FILES = frozenset({"path", "csv", "parquet"})


def flat_options(tree: Mapping[str, Any], keys: Keys, mistakes: Mistakes, seen: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the options of a table, added to those `seen`; `kafka.group.id = "a"` may be written with or without quotes.

    >>> flat_options({"a": {"b": 5}, "c.d": True}, (), Mistakes("job.toml", {}))
    {'a.b': '5', 'c.d': 'true'}
    """
    options = dict(seen or {})
    lower = {each.lower() for each in options}
    for path, value in _leaves(tree, ()):
        name = ".".join(path)
        if not isinstance(value, (str, int, float)):
            mistakes.found((*keys, *path), "a text, a number, true or false")
        elif name.lower() in lower:
            mistakes.add((*keys, *path), f'the option "{name}" is there twice (Spark takes capital and small letters for the same)')
        lower.add(name.lower())
        options[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return options


def _leaves(tree: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def files_from(folder: Path, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options with their paths made absolute.

    >>> files_from(Path("/jobs"), {"path": "out", "csv": "s3a://b/rates.csv", "topic": "out"})
    {'path': '/jobs/out', 'csv': 's3a://b/rates.csv', 'topic': 'out'}
    """
    return {name: absolute(folder, value) if name.lower() in _OF_FILES else value for name, value in options.items()}


def absolute(folder: Path, path: str) -> str:
    """Return an absolute path or URI; relative ones start from `folder`.

    >>> absolute(Path("/jobs"), "../data"), absolute(Path("/jobs"), "hdfs://nn/data"), absolute(Path("/jobs"), "file:/data")
    ('/data', 'hdfs://nn/data', 'file:/data')
    """
    is_uri = re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", path)
    return path if is_uri or not path else os.path.normpath(folder / path)


def code(folder: Path, text: str, keys: Keys, mistakes: Mistakes) -> str:
    """Return a reference `file.py:name` with its file made absolute; a reference to a module is returned as it is."""
    file, _, name = text.rpartition(":")
    if not file.endswith(".py"):
        return text
    path = folder / file
    if not os.path.isfile(path):
        which = f"file {path}" if mistakes.declared(keys) == text else "such file"
        mistakes.add(keys, f"found {mistakes.shown(keys)}, but there is no {which}")
    return f"{absolute(folder, file)}:{name}"
