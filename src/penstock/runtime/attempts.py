"""Work whose failure is reported once, until it succeeds again."""

from collections.abc import Callable, Hashable


class Attempts:
    """Runs work by name, and reports the first of a row of failures."""

    def __init__(self) -> None:
        self._failing: set[Hashable] = set()

    def attempt(self, what: Hashable, work: Callable[[], object], report: Callable[[Exception], object]) -> None:
        """Do the work named `what`; call `report` with the error if the last attempt did not fail too."""
        try:
            work()
            self._failing.discard(what)
        except Exception as error:
            if what not in self._failing:
                self._failing.add(what)
                report(error)
