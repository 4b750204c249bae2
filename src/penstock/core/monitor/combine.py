"""One number of a job from those of its queries, where some may be unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def worst(values: Iterable[T | None], badness: Callable[[T], float]) -> T | None:
    """The worst of what is known."""
    known = [value for value in values if value is not None]
    return max(known, key=badness) if known else None
