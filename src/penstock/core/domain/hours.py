"""Hours of the week."""

from dataclasses import dataclass

DAY_S = 86400.0
THURSDAY = 3
"""1970 began on one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """A weekly span in UTC: days 0 (Monday) to 6, seconds of the day; one whose end is not after its beginning runs past midnight.

    >>> night = Hours(days=(3,), from_s=22 * 3600.0, until_s=6 * 3600.0)
    >>> night.hold(23 * 3600.0), night.hold(29 * 3600.0), night.hold(31 * 3600.0)
    (True, True, False)
    """

    days: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    from_s: float = 0.0
    until_s: float = DAY_S

    def hold(self, at_s: float) -> bool:
        """Return whether this moment is within them."""
        number, second = divmod(at_s, DAY_S)
        today = int(number + THURSDAY) % 7
        if self.from_s < self.until_s:
            return today in self.days and self.from_s <= second < self.until_s
        return (today in self.days and second >= self.from_s) or ((today - 1) % 7 in self.days and second < self.until_s)
