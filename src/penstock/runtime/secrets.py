"""Resolve `${env:NAME}` and `${file:path}` in a job file, and collect the values so that they can be masked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.core.errors import UserMistake

_MARK = re.compile(r"\$\$\{|\$\{(?:(?P<kind>env|file):(?P<name>[^{}]+)\})?")
_LARGEST_FILE_BYTES = 1_048_576
_SHORTEST_LINE = 8

Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A tree with its secrets resolved; `problems` are those that could not be, each with the keys that lead to it."""

    value: Any
    secrets: frozenset[str]
    problems: tuple[tuple[Keys, str], ...]


def resolve(tree: object, *, folder: Path, environ: Mapping[str, str]) -> Resolved:
    """Resolve the secrets in every text of a tree of tables and lists; relative paths start from `folder`, `$${` is a plain `${`.

    >>> found = resolve({"login": "user=${env:U};cost=$${5}"}, folder=Path(), environ={"U": "ann"})
    >>> found.value, sorted(found.secrets)
    ({'login': 'user=ann;cost=${5}'}, ['ann', 'user=ann;cost=${5}'])
    """
    resolver = _Resolver(folder=folder, environ=environ)
    value = resolver.tree(tree, ())
    return Resolved(value=value, secrets=frozenset(resolver.secrets), problems=tuple(resolver.problems))


@dataclass(slots=True, kw_only=True)
class _Resolver:
    folder: Path
    environ: Mapping[str, str]
    secrets: set[str] = field(default_factory=set)
    problems: list[tuple[Keys, str]] = field(default_factory=list)

    def tree(self, value: object, keys: Keys) -> object:
        if isinstance(value, dict):
            return {key: self.tree(each, (*keys, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self.tree(each, (*keys, index)) for index, each in enumerate(value)]
        return self.text(value, keys) if isinstance(value, str) else value

    def text(self, text: str, keys: Keys) -> str:
        parts: list[str] = []

        def replaced(mark: re.Match[str]) -> str:
            if mark[0] == "$${":
                return "${"
            try:
                parts.append(self.secret(mark["kind"], mark["name"]))
            except UserMistake as mistake:
                self.problems.append((keys, str(mistake)))
                return ""
            return parts[-1]

        whole = _MARK.sub(replaced, text)
        if parts:
            self.remember(*parts, whole)
        return whole

    def secret(self, kind: str | None, name: str) -> str:
        if kind == "env":
            if name not in self.environ:
                raise UserMistake(f"the environment variable {name} is not set")
            return self.environ[name]
        if kind == "file":
            return _content(self.folder / name)
        raise UserMistake('a "${" is followed by something else than env:NAME} or file:path}; write "$${" where a plain "${" is meant')

    def remember(self, *values: str) -> None:
        """Keep the values to mask, and each long line of a value with several lines, as logs are masked line by line."""
        for value in values:
            lines = value.splitlines()
            self.secrets.update([value] if value else [])
            self.secrets.update(line.strip() for line in lines if len(lines) > 1 and len(line.strip()) >= _SHORTEST_LINE)


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UserMistake(f"the file {path} cannot be read ({getattr(error, 'strerror', None) or 'not a path'})") from None
    if len(content) > _LARGEST_FILE_BYTES:
        raise UserMistake(f"the file {path} is larger than 1 MiB, too large for a secret")
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UserMistake(f"the file {path} is not UTF-8 text") from None
    return text.removesuffix("\n").removesuffix("\r")
