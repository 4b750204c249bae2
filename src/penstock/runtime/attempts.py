"""Work that may fail without harm to what goes on around it."""

from __future__ import annotations

from collections.abc import Callable, Hashable


class Attempts:
    """Does such work, and tells of its failure once, until the same work succeeds again."""

    def __init__(self) -> None:
        self._failing: set[Hashable] = set()

    def attempt(self, what: Hashable, work: Callable[[], object], tell: Callable[[Exception], object]) -> None:
        """Do the work that is known as `what`; `tell` is given the first error of a row of failures."""
        try:
            work()
            self._failing.discard(what)
        except Exception as error:
            if what not in self._failing:
                self._failing.add(what)
                tell(error)
