"""Starts that were measured already, one JSON line each: a measurement that was cut off goes on from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from penstock.runtime.recorder import digest
from penstock.selftest.overhead.cost import Start
from penstock.stores.codec import decode, encode
from penstock.stores.faults import DecodeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A start, with the sources of the Penstock that measured it and its number of pairs: what other code or another plan measured does not count."""

    sources: str | None
    pairs: int
    start: Start


class Kept:
    """The starts of this very code and this number of pairs, in a file if there is one."""

    def __init__(self, file: Path | None, pairs: int) -> None:
        self._file, self._pairs = file, pairs
        self._sources = digest(files("penstock"))

    def starts(self) -> Sequence[Start]:
        if self._file is None or not self._file.exists():
            return ()
        lines = [line_of(text) for text in self._file.read_text().splitlines()]
        return [line.start for line in lines if line is not None and (line.sources, line.pairs) == (self._sources, self._pairs)]

    def add(self, start: Start) -> None:
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a") as file:
            file.write(encode(Line(sources=self._sources, pairs=self._pairs, start=start)) + "\n")


def line_of(text: str) -> Line | None:
    """None for one that was torn, or has another form."""
    try:
        return decode(Line, text)
    except DecodeError:
        return None
