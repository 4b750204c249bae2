"""Read a TOML file as a tree of tables."""

import tomllib
from pathlib import Path
from typing import Any

from penstock.core.errors import UserMistake

_DEEPEST = 30


def read_document(path: Path) -> dict[str, Any]:
    """Return the file's content, with only the syntax checked."""
    text = _text(path)
    try:
        tree = tomllib.loads(text)
        if _depth(tree) > _DEEPEST:
            raise RecursionError
    except ValueError as error:
        raise UserMistake(f"{path}: not valid TOML: {_syntax_words(str(error), text)}") from None
    except RecursionError:
        raise UserMistake(f"{path}: tables and lists are nested too deeply, {_DEEPEST} levels are allowed") from None
    return tree


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserMistake(f'{path}: there is no such file; "penstock init" writes one to start from') from None
    except IsADirectoryError:
        raise UserMistake(f"{path}: this is a folder; give the job file in it, such as {path / 'job.toml'}") from None
    except (OSError, ValueError) as error:
        raise UserMistake(f"{path}: cannot be read ({getattr(error, 'strerror', None) or 'not a path'})") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UserMistake(f"{path}: line {line} is not UTF-8 text; save the file as UTF-8") from None


def _syntax_words(message: str, text: str) -> str:
    """Return the parser's message, with line and column also for the end of the file.

    >>> _syntax_words("Invalid value (at end of document)", "a = 1\\nb = ")
    'Invalid value (at line 2, column 5, the end of the file)'
    """
    lines = text.split("\n")
    end = f"at line {len(lines)}, column {len(lines[-1]) + 1}, the end of the file"
    return message.replace("at end of document", end).replace("Cannot overwrite a value", "a key is there twice")


def _depth(tree: object) -> int:
    """Return how deeply tables and lists are nested, without recursion.

    >>> _depth({"a": {"b": [1]}})
    3
    """
    depth, level = 0, [tree]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        depth += 1
        level = [child for each in level for child in (each.values() if isinstance(each, dict) else each)]
    return depth
