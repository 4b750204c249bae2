"""Which Penstock this is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from penstock.stores.recorder import Recorder
from penstock.version import VERSION

_DIGITS = 12


@cache
def this_penstock() -> Recorder:
    """Its version, and a digest of its decision core; the sources are read once, which takes some milliseconds."""
    return Recorder(version=VERSION, core=digest(files("penstock.core")))


def digest(package: Traversable) -> str | None:
    """What tells the sources of a package from any others, by their places in it and their bytes; None if there is no source."""
    sources = list(_sources(package, ""))
    if not sources:
        return None
    found = sha256()
    for place, text in sources:
        found.update(f"{place} {len(text)}\n".encode() + text)
    return found.hexdigest()[:_DIGITS]


def _sources(folder: Traversable, within: str) -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        place = f"{within}/{each.name}"
        if each.is_dir():
            yield from _sources(each, place)
        elif each.name.endswith(".py"):
            yield place, each.read_bytes()
