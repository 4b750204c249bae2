"""The base of all events, and every kind by its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event with its time; `trouble` marks one that needs attention."""

    trouble: ClassVar[bool] = False
    at_s: float

    def words(self) -> str:
        """Return the event as a sentence for people; nothing ever parses it."""
        raise TypeError(f"{type(self).__name__} has no words")


def event_classes() -> dict[str, type[Event]]:
    """Return the class of each event by its name; base classes, which have no `words`, are left out."""
    return {cls.__name__: cls for cls in _derived(Event) if "words" in vars(cls)}


def _derived(base: type[Event]) -> Iterator[type[Event]]:
    for cls in base.__subclasses__():
        yield cls
        yield from _derived(cls)
