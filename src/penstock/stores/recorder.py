"""Which Penstock recorded a history: stored with each keyframe, apart from what a replay compares."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from penstock.version import VERSION

_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """A version of Penstock, and a digest of its decision core, which changes between releases too; None if there are no sources to read.

    >>> str(Recorder(version="0.1.0", core="5f2a90c1b7de"))
    '0.1.0, core 5f2a90c1b7de'
    """

    version: str
    core: str | None = None

    def __str__(self) -> str:
        return self.version if self.core is None else f"{self.version}, core {self.core}"


@cache
def this_penstock() -> Recorder:
    """Return the running version; the sources are read once, which takes some milliseconds."""
    return Recorder(version=VERSION, core=digest(files("penstock.core")))


def digest(package: Traversable) -> str | None:
    """Return a digest of the paths and the bytes of a package's sources; None if there are none."""
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
